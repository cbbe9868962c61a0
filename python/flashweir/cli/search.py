"""`flashweir search`: designs of a grid that are best for several goals under constraints."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from flashweir import searching
from flashweir._native import FlashweirError
from flashweir.assumptions import of_workloads, print_of
from flashweir.cli.common import Json, console, watched_sweep, write_json
from flashweir.cli.derived import takes
from flashweir.cli.outputs import Force, check_folder, check_outputs
from flashweir.options.option import Row
from flashweir.options.pages import Html


@takes(searching.search)
def search(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="A sweep with goals, constraints and prices.")],
    html: Annotated[
        Html,
        Row("a page: front, trade-offs between goals, dominated hypervolume over designs, all designs"),
    ] = None,
    json_to: Json = None,
    force: Force = False,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Find drives that are best for several goals under constraints."""
    check_outputs({"--html": html, "--json": json_to}, [str(spec)], force=force)
    # Sums in one order on any machine; matrices of a search are small.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    directory = options.pop("directory", None)
    check_folder("-o", directory)
    found = watched_sweep(
        directory, lambda progress: searching.search(spec, directory, force=force, progress=progress, **options)
    )
    print_of(of_workloads({"workloads": found.workloads}))
    if html is not None:
        found.write_html(html)
    if json_to is not None:
        write_json(found.to_dict(), json_to)
    else:
        from flashweir.searching.showing import show

        show(found, console())
    if not found.best:
        raise FlashweirError(f"{spec}: {found.why_none}")
