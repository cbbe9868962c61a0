"""`flashweir bundle` and `flashweir check-bundle`: results in an archive that others can check."""

import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flashweir import bundles
from flashweir._native import ConfigError, FlashweirError
from flashweir.cli.common import Json, Stopped, console, write_json
from flashweir.cli.derived import takes
from flashweir.cli.outputs import Force, check_output, check_outputs
from flashweir.notices import say
from flashweir.options.option import Row
from flashweir.whole import STANDARD

if TYPE_CHECKING:
    from flashweir.sweeps import State

_EXPECTED = "expected the folder of a sweep, or a result that simulate --json FILE wrote"
# Differences that are printed; the JSON has a hundred.
_SHOWN = 10


@takes(bundles.bundle)
def bundle(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR|RUN.json...", help="The folder of a sweep or comparison, or results of simulate --json."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE.tar.zst", help="The archive; default NAME.tar.zst."),
        Row("the archive; `NAME.tar.zst` in the current folder if not given"),
    ] = None,
    force: Force = False,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Pack a result, sweep or report as an archive that others can check."""
    for name in sources:
        if name == STANDARD:
            raise ConfigError(f"{name}: standard input is no source of a bundle: {_EXPECTED}")
        if not Path(name).exists():
            raise ConfigError(f"{name}: there is no such file or folder; {_EXPECTED}")
    base, report = options.get("base"), options.get("report")
    if base is not None and not base.is_dir():
        raise ConfigError(f"--base {base}: expected a folder")
    target = output or Path(f"{Path(sources[0]).absolute().name.removesuffix('.json')}.tar.zst")
    inputs = [*sources, *([] if report is None else [str(report)])]
    check_outputs({"-o": target}, inputs, force=force, kinds={"-o": "bundle"})
    try:
        found, sha256, size = _packed(sources[0] if len(sources) == 1 else sources, target, options)
    except KeyboardInterrupt as interrupt:
        raise Stopped("nothing was written") from interrupt
    for text in (
        f"{target}: {_held(found)}, {len(found['files']):,} files, {size:,} bytes",
        f"sha256 {sha256}",
    ):
        console().print(text, soft_wrap=True, markup=False, highlight=False)
    if left := [one for one in found["traces"] if not one["included"]]:
        names = ", ".join(one["name"] for one in left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")  # noqa: PLR2004
        say(f"note: without the content of {names}: who checks it gives them with check-bundle --traces DIR")


@takes(bundles.check_bundle)
def check_bundle(
    path: Annotated[Path, typer.Argument(metavar="FILE.tar.zst", help="Archive that flashweir bundle wrote.")],
    json_to: Annotated[Json, Row("the [outcome](bundle.md#the-check) as JSON")] = None,
    force: Force = False,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Check a bundle: hashes of its files, then every run again, whose result has to be equal."""
    check_output("--json", json_to, force=force)
    from flashweir.sweeps.terminal import progress_on

    last: list[State] = []

    def tell(state: "State") -> bool:
        last[:] = [state]
        return shown.update(state)

    try:
        with progress_on(sys.stderr) as shown:
            found = bundles.check_bundle(path, progress=tell, **options)
    except KeyboardInterrupt as interrupt:
        done = f"{last[0].done:,} of {last[0].total:,}" if last else "no"
        raise Stopped(f"{done} runs were made again") from interrupt
    if json_to is not None:
        write_json(found.to_dict(), json_to)
    else:
        _print(found)
    _fail(path, found)


def _packed(source: str | list[str], target: Path, options: dict[str, Any]) -> tuple[Mapping[str, Any], str, int]:
    """Writes the archive; its manifest, hash and size. Standard output gets it when it is complete."""
    from flashweir.bundles.contents import digest

    if str(target) != STANDARD:
        return bundles.bundle(source, target, **options), *digest(target)
    with tempfile.TemporaryDirectory(prefix="flashweir-bundle-") as scratch:
        file = Path(scratch) / "bundle.tar.zst"
        found = bundles.bundle(source, file, **options)
        with file.open("rb") as packed:
            shutil.copyfileobj(packed, sys.stdout.buffer)
        return found, *digest(file)


def _held(manifest: Mapping[str, Any]) -> str:
    if manifest["kind"] == "sweep":
        held = "a sweep"
    else:
        count = len(manifest["runs"])
        held = "a result" if count == 1 else f"{count} results"
    return f"{held} with its report" if manifest["report"] else held


def _print(found: Mapping[str, Any]) -> None:
    out = console()

    def line(text: str) -> None:
        out.print(text, soft_wrap=True, markup=False, highlight=False)

    for one in found["versions"]:
        line(f"{one['name']}: {one['packed'] or 'none'} in the bundle, {one['here'] or 'none'} here")
    if found["missing"]:
        for one in found["missing"]:
            line(f"missing trace {one['name']}: sha256 {one['sha256']}, {one['bytes']:,} bytes")
        return
    for one in found["differences"][:_SHOWN]:
        run = f"run {one['run']}: " if found["runs"] > 1 else ""
        line(f"{run}{one['field']}: {_value(one, 'packed')} in the bundle, {_value(one, 'here')} here")
    if (more := len(found["differences"]) - _SHOWN) > 0:
        line(f"and {more} more fields; --json has them")
    if found["report"] is not None:
        line(f"report: {found['report']}")
    if found["equal"]:
        runs = "1 run made again, with the same result"
        several = f"{found['runs']:,} runs made again, with the same results"
        line(f"equal: {runs if found['runs'] == 1 else several}")


def _value(difference: Mapping[str, Any], side: str) -> str:
    import json

    text = json.dumps(difference[side], ensure_ascii=False) if side in difference else "absent"
    return text if len(text) <= 80 else f"{text[:80]}..."  # noqa: PLR2004 - the width of a line


def _fail(path: Path, found: Mapping[str, Any]) -> None:
    """Ends with the exit code of what was found; without a message, `main` prints none.

    Raises:
        FlashweirError: results differ, or traces are missing.
    """
    if found["equal"]:
        return
    if found["missing"]:
        names = ", ".join(f"{one['name']} (sha256 {one['sha256']})" for one in found["missing"])
        from flashweir.sweeps.recorded import TracesMissingError

        raise TracesMissingError(f"{path}: not checked: traces are not included: --traces DIR with {names}")
    if not found["differing_runs"]:
        raise FlashweirError(f"{path}: results are equal, and the report is not theirs")
    raise FlashweirError(f"{path}: {found['differing_runs']:,} of {found['runs']:,} runs gave another result")
