"""`flashweir probe`: a drive in, its device file out."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from flashweir import api, probing
from flashweir.cli.common import Json, console, watched, write_json, write_text
from flashweir.cli.health import Health, HealthAfter, HealthBefore, print_health
from flashweir.cli.outputs import Force, check_outputs
from flashweir.result import Section

_SURE = 0.5


def probe(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", help="A block device, a file, sim:PRESET[,KEY=VALUE...], or py:FILE.py:CLASS."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="F.toml", help="The device file to write.")],
    erase: Annotated[
        str | None,
        typer.Option("--erase", metavar="TARGET", help="Name of the target again: permission to destroy its data."),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, max=2**64 - 1, help="Seed of random addresses.")
    ] = 1,
    json_to: Json = None,
    force: Force = False,
    health_before: HealthBefore = None,
    health_after: HealthAfter = None,
) -> None:
    """Find the geometry and times of a drive, and write a device file for simulate. Overwrites the whole drive."""
    check_outputs({"--output": output, "--json": json_to}, [target], force=force, kinds={"--output": "device"})

    def run(progress: api.Progress | None) -> Section:
        return probing.probe(target, erase=erase, seed=seed, progress=progress)

    # A drive is not written all over for an answer that can't be kept.
    if not output.exists() and str(output) != "-":
        write_text("", str(output))
        output.unlink()
    watch = Health(target, health_before, health_after)
    found = watched(run).to_dict()
    found["health"] = health = watch.end()
    try:
        write_text(found["device_file"], str(output))
    except OSError:
        sys.stdout.write(found["device_file"])
        raise
    if json_to is not None:
        write_json(found, json_to)
        return
    from rich.table import Table

    table = Table("key", "value", "sure", "how", box=None, pad_edge=False)
    for answer in found["answers"]:
        value = answer["value"]
        shown = ", ".join(value) if isinstance(value, list) else str(value)
        table.add_row(answer["key"], shown, f"{answer['sure']:.1f}", answer["how"])
    out = console()
    out.print(table, highlight=False, markup=False)
    guesses = [answer["key"] for answer in found["answers"] if answer["sure"] < _SURE]
    if guesses:
        out.print(f"not sure of  {', '.join(guesses)}", highlight=False, markup=False, soft_wrap=True)
    print_health(health, out)
    written = f"{found['requests']:,} requests, {found['written_bytes'] / 1e6:,.0f} MB written"
    out.print(f"{written}; the device is in {output}", highlight=False, markup=False, soft_wrap=True)
