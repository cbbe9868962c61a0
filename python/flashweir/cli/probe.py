"""`flashweir probe`: a drive in, its device file out."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from flashweir import api, probing
from flashweir.cli.common import Json, console, watched, write_json, write_text
from flashweir.cli.derived import takes
from flashweir.cli.health import print_health
from flashweir.cli.outputs import Force, check_outputs
from flashweir.options.target import DEVICE_FILE
from flashweir.plain import plain
from flashweir.results.section import Section

_SURE = 0.5


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={plain(one)}" for name, one in value.items() if one is not None)
    return "unknown" if value is None else plain(value)


@takes(probing.probe)
def probe(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", help="A block device, a file, sim:PRESET[,KEY=VALUE...], or py:FILE.py:CLASS."
        ),
    ],
    output: Annotated[Path, DEVICE_FILE],
    json_to: Json = None,
    force: Force = False,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Find the geometry and times of a drive, and write a device file for simulate. Overwrites the whole drive."""
    check_outputs({"--output": output, "--json": json_to}, [target], force=force, kinds={"--output": "device"})

    def run(progress: api.Progress | None) -> Section:
        return probing.probe(target, progress=progress, **options)

    # A drive is not written all over for an answer that can't be kept.
    if not output.exists() and str(output) != "-":
        write_text("", str(output))
        output.unlink()
    found = watched(run).to_dict()
    try:
        write_text(found["device_file"], str(output))
    except OSError:
        sys.stdout.write(found["device_file"])
        raise
    if json_to is not None:
        write_json(found, json_to)
        return
    out = console()
    if found["not_flash"]:
        text = f"no flash: {found['not_flash']}; the rest says little."
        out.print(text, highlight=False, markup=False, soft_wrap=True)
    from rich.table import Table

    table = Table("key", "value", "sure", "how", box=None, pad_edge=False)
    for answer in found["answers"]:
        value = answer["value"]
        shown = _shown(value)
        table.add_row(answer["key"], shown, f"{answer['sure']:.1f}", answer["how"])
    out.print(table, highlight=False, markup=False)
    guesses = [answer["key"] for answer in found["answers"] if answer["sure"] < _SURE]
    if guesses:
        out.print(f"not sure of  {', '.join(guesses)}", highlight=False, markup=False, soft_wrap=True)
    print_health(found["health"], out)
    written = f"{found['requests']:,} requests, {found['written_bytes'] / 1e6:,.0f} MB written"
    out.print(f"{written}; the device is in {output}", highlight=False, markup=False, soft_wrap=True)
