"""`flashweir lifetime`: time and bytes until a drive is worn out."""

from pathlib import Path
from typing import Annotated

import typer

from flashweir import api
from flashweir._native import ConfigError, FlashweirError
from flashweir.cli.common import (
    Columns,
    Device,
    Format,
    Json,
    Settings,
    SkipBad,
    console,
    note_import,
    pair,
    watched,
    write_json,
)
from flashweir.cli.outputs import Force, check_outputs
from flashweir.result import Section
from flashweir.tenants import file_of


def lifetime(
    workload: Annotated[
        str,
        typer.Argument(
            metavar="WORKLOAD", help="A trace file, generator such as random, mix:FILE or fio:FILE; repeated."
        ),
    ],
    device: Device = None,
    settings: Settings = None,
    years: Annotated[float, typer.Option("--years", metavar="Y", help="Horizon, and the years of DWPD.")] = 5.0,
    temperature: Annotated[
        float, typer.Option("--temperature", metavar="C", help="Temperature of the flash, in degrees Celsius.")
    ] = 30.0,
    cycles: Annotated[
        float | None,
        typer.Option("--cycles", metavar="N", help="Rated program/erase cycles; default: typical of the cell."),
    ] = None,
    cell: Annotated[
        str | None, typer.Option("--cell", metavar="slc|mlc|tlc|qlc", help="Kind of cell; default: the drive's.")
    ] = None,
    block_cycles: Annotated[
        float | None,
        typer.Option(
            "--block-cycles", metavar="N", help="Cycles at which a block is retired; default: 1.25 x --cycles."
        ),
    ] = None,
    retention: Annotated[
        float, typer.Option("--retention", metavar="DAYS", help="Age of the data that is read, in days.")
    ] = 30.0,
    ecc: Annotated[
        str | None, typer.Option("--ecc", metavar="BITS/SIZE", help="Bits corrected in a codeword, such as 120/1KiB.")
    ] = None,
    per_day: Annotated[
        str | None,
        typer.Option("--per-day", metavar="SIZE", help="Bytes that the host writes a day; default: the workload's."),
    ] = None,
    price: Annotated[
        float | None, typer.Option("--price", metavar="P", help="Price of the drive: adds the cost of a TB written.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", min=0, max=2**64 - 1, help="One seed, instead of --seeds.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", metavar="N", min=1, max=10_000, help="Seeds 1 to N; default 3.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Simulate until the rated cycles, without fast-forward.")
    ] = False,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a report with curves.")] = None,
    json_to: Json = None,
    force: Force = False,
    format: Format = None,
    columns: Columns = None,
    skip_bad: SkipBad = 0,
    wrap: Annotated[bool, typer.Option("--wrap", help="Fold addresses beyond the capacity into it.")] = False,
) -> None:
    """Estimate the time and the bytes written until a drive is worn out."""
    from flashweir.endurance.api import SEEDS
    from flashweir.endurance.api import lifetime as estimated

    if seed is not None and seeds is not None:
        raise ConfigError("--seed and --seeds exclude each other")
    check_outputs({"--html": html, "--json": json_to}, [device, file_of(workload)], force=force)

    def run(progress: api.Progress | None) -> Section:
        return estimated(
            workload,
            device,
            years=years,
            temperature=temperature,
            cycles=cycles,
            cell=cell,
            block_cycles=block_cycles,
            retention_days=retention,
            ecc=ecc,
            per_day=per_day,
            price=price,
            seeds=[seed] if seed is not None else seeds or SEEDS,
            full=full,
            format=format,
            columns=columns,
            skip_bad=skip_bad,
            wrap=wrap,
            progress=progress,
            set=dict(pair(text, "--set", "KEY=VALUE") for text in settings or []),
        )

    found = watched(run).to_dict()
    note_import(device)
    if html is not None:
        from flashweir.endurance import report

        try:
            report.write(found, html)
        except OSError as error:
            raise FlashweirError(f"{html}: can't be written: {error.strerror or error}") from error
    if json_to is not None:
        write_json(found, json_to)
        return
    from flashweir.endurance.summary import finding, lines

    out = console()
    for text in (*finding(found), "", *(f"{name}: {said}" for name, said in lines(found)), "", *found["assumptions"]):
        out.print(text, highlight=False, markup=False, soft_wrap=True)
