"""`flashweir fit`: measurements in, the drive that comes closest out."""

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from flashweir import fitting
from flashweir.cli.common import Json, Stopped, console, write_json
from flashweir.cli.derived import takes
from flashweir.cli.outputs import Force, check_outputs
from flashweir.options.option import Row
from flashweir.options.pages import Html
from flashweir.progress import bar_on_terminal


@takes(fitting.fit)
def fit(
    measurements: Annotated[
        Path,
        typer.Argument(metavar="MEASUREMENTS.toml", help="Measurements of a drive."),
        Row("[measurements](../guide/fit.md#measurements), in one of two forms"),
    ],
    html: Annotated[
        Html,
        Row("a page with the measured and the predicted curve of each metric over load, every value, and the keys"),
    ] = None,
    json_to: Annotated[Json, Row("`format`, `drive`, `points`, `medians`, `keys`, `runs`, `seed`")] = None,
    force: Force = False,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Fit a model to what a drive measures, and predict other measurements."""
    output = options.get("output")
    inputs = [str(path) for path in (measurements, options.get("check"), options.get("base")) if path is not None]
    check_outputs({"-o": output, "--html": html, "--json": json_to}, inputs, force=force, kinds={"-o": "device"})
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
            found = fitting.fit(measurements, progress=tell, **options)
    except KeyboardInterrupt as interrupt:
        kept = "nothing is kept without -o" if output is None else f"{output}.runs.jsonl keeps them: the same goes on"
        raise Stopped(f"evaluations were made; {kept}") from interrupt
    if html is not None:
        found.write_html(html)
    if json_to is not None:
        write_json(found.to_dict(), json_to)
    else:
        show(found, console())
