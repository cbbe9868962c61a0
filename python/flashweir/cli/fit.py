"""`flashweir fit`: measurements in, the drive that comes closest out."""

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from flashweir.cli.common import Json, Stopped, console, write_json
from flashweir.cli.outputs import Force, check_outputs
from flashweir.progress import bar_on_terminal


def fit(
    measurements: Annotated[Path, typer.Argument(metavar="MEASUREMENTS.toml", help="What a drive measured.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DRIVE.toml", help="Write the drive as a device file.")
    ] = None,
    check: Annotated[
        Path | None, typer.Option("--check", metavar="OTHER.toml", help="Predict these measurements instead.")
    ] = None,
    base: Annotated[
        str | None, typer.Option("--base", metavar="PRESET|FILE", help="Drive below the keys that are searched.")
    ] = None,
    leave_out: Annotated[
        bool, typer.Option("--leave-out", help="Fit without every second rate, and predict these.")
    ] = False,
    budget: Annotated[
        str, typer.Option("--budget", metavar="N|TIME", help="Evaluations, or a time such as 10min; 0: predict --base.")
    ] = "100",
    drive: Annotated[
        str | None, typer.Option("--drive", metavar="NAME", help="Drive to take, of a file that has several.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, max=2**63, help="Seed of everything random.")] = 1,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page with figures.")] = None,
    json_to: Json = None,
    force: Force = False,
) -> None:
    """Fit a model to what a drive measures, and predict other measurements."""
    inputs = [str(path) for path in (measurements, check, base) if path is not None]
    check_outputs({"-o": output, "--html": html, "--json": json_to}, inputs, force=force, kinds={"-o": "device"})
    from flashweir import fitting
    from flashweir.fitting.outcome import show

    bar = bar_on_terminal()
    began = time.monotonic()

    def tell(done: int, total: int | None, error: float) -> None:
        if bar is not None:
            fraction = None if total is None else min(1.0, done / total)
            bar.update({"phase": "drives", "done": done, "fraction": fraction, "elapsed_s": time.monotonic() - began,
                        "note": f"lowest error {error:.3f}"})  # fmt: skip

    try:
        with bar or nullcontext():
            found = fitting.fit(measurements, output=output, check=check, base=base, drive=drive, leave_out=leave_out,
                                budget=budget, seed=seed, progress=tell)  # fmt: skip
    except KeyboardInterrupt as interrupt:
        kept = "nothing is kept without -o" if output is None else f"{output}.runs.jsonl keeps them: the same goes on"
        raise Stopped(f"evaluations were made; {kept}") from interrupt
    if html is not None:
        found.write_html(html)
    if json_to is not None:
        write_json(found.to_dict(), json_to)
    else:
        show(found, console())
