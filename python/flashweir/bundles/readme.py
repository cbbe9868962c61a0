"""README.md of a bundle: for whoever unpacks it by hand."""

from collections.abc import Mapping
from typing import Any

_KINDS = {"result": "results of simulations", "sweep": "a sweep (simulations over a grid)"}
_TEXT = """# {name}

This bundle holds {kind}, and what makes them again{but}.
{made}

## Check it

Keep the archive, `FILE.tar.zst`, as it is, and run:

```sh
flashweir check-bundle FILE.tar.zst{option}
```

This checks the hash of every file, runs everything again and compares. Exit code 0: all results are equal; 1: a result
differs; 2: the archive was refused; 3: traces are missing.

By hand, in the unpacked folder:

```sh
{commands}
```

Then compare with the files in `results`, leaving out the fields that end with `wall_s`.

{traces}## Files

| file | sha256 | bytes |
|---|---|---|
{files}
"""
_NOTE = """Fetch a trace that is not included from where it is published; many licences forbid to pass it on.
`--traces DIR` names a folder that holds it, under any name. By hand, put it at its path.

"""
_TRACES = """## Traces

{note}| path | included | requests | sha256 | bytes |
|---|---|---|---|---|
{rows}

"""


def text(manifest: Mapping[str, Any]) -> str:
    """The document of a manifest."""
    versions = manifest["versions"]
    left_out = [trace for trace in manifest["traces"] if not trace["included"]]
    commands = [run["command"] for run in manifest["runs"]] or [manifest["command"]]
    made = (
        f"Made by flashweir {versions['flashweir']} (build {versions['build']}) with Python {versions['python']} on "
        f"{versions['platform']},\n{manifest['created']}."
    )
    return _TEXT.format(
        name=manifest["name"],
        kind=_KINDS[manifest["kind"]],
        but=", but for traces that are not included" if left_out else "",
        made=made,
        option=" --traces DIR" if left_out else "",
        commands="\n".join(commands),
        traces=_traces(manifest["traces"], _NOTE if left_out else ""),
        files="\n".join(f"| {one['path']} | {one['sha256']} | {one['bytes']} |" for one in manifest["files"]),
    )


def _traces(traces: list[Mapping[str, Any]], note: str) -> str:
    rows = [
        f"| {one['path']} | {'yes' if one['included'] else 'no'} | {one['requests'] or ''} | {one['sha256']} | "
        f"{one['bytes']} |"
        for one in traces
    ]
    return _TRACES.format(note=note, rows="\n".join(rows)) if rows else ""
