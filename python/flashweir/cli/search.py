"""`flashweir search`: designs of a grid that are best for several goals under constraints."""

import os
from pathlib import Path
from typing import Annotated

import typer

from flashweir._native import ConfigError, FlashweirError
from flashweir.cli.common import Json, console, watched_sweep, write_json
from flashweir.cli.outputs import Force, check_outputs
from flashweir.quantity import number_of


def search(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="A sweep with goals, constraints and prices.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Keep runs, front and device files here.")
    ] = None,
    budget: Annotated[
        str, typer.Option("--budget", metavar="N|TIME", help="Designs to run, or a time such as 10min.")
    ] = "100",
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, max=2**63 - 1, help="Seed of the search.")] = 1,
    batch: Annotated[
        int, typer.Option("--batch", metavar="N", min=1, max=4096, help="Designs that run at a time.")
    ] = 4,
    on: Annotated[
        str, typer.Option("--on", metavar="WHERE", help="local, a Dask scheduler's tcp://HOST:PORT, or slurm[:JOBS]")
    ] = "local",
    resume: Annotated[bool, typer.Option("--resume", help="Continue with the runs in DIR.")] = False,
    threads: Annotated[
        int | None,
        typer.Option("--threads", metavar="N", min=1, max=4096, help="Number of parallel local runs; default: cores."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory", metavar="SIZE", help="Memory of all local runs together; default: 80% of the free memory."
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page with figures.")] = None,
    json_to: Json = None,
    force: Force = False,
) -> None:
    """Find drives that are best for several goals under constraints."""
    check_outputs({"--html": html, "--json": json_to}, [str(spec)], force=force)
    memory_bytes = None if memory is None else number_of(memory)
    if memory is not None and (memory_bytes is None or memory_bytes < 1):
        raise ConfigError(f"--memory {memory}: expected a size such as 8GiB")
    # Sums in one order on any machine; matrices of a search are small.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from flashweir import searching

    found = watched_sweep(
        output,
        lambda progress: searching.search(
            spec,
            output,
            budget=budget,
            seed=seed,
            batch=batch,
            on=on,
            resume=resume,
            force=force,
            threads=threads,
            memory_bytes=None if memory_bytes is None else int(memory_bytes),
            progress=progress,
        ),
    )
    if html is not None:
        found.write_html(html)
    if json_to is not None:
        write_json(found.to_dict(), json_to)
    else:
        from flashweir.searching.showing import show

        show(found, console())
    if not found.best:
        raise FlashweirError(f"{spec}: {found.why_none}")
