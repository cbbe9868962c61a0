"""`flashweir sweep`: many runs over a grid."""

from pathlib import Path
from typing import Annotated

import typer

from flashweir._native import ConfigError, FlashweirError
from flashweir.assumptions import of_sweep, print_of
from flashweir.cli.common import Json, console, watched_sweep, write_json
from flashweir.cli.outputs import Force, check_output
from flashweir.quantity import number_of
from flashweir.whole import STANDARD


def sweep(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="Workloads, a drive, axes and seeds.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Directory of the results; default SPEC.sweep")
    ] = None,
    on: Annotated[
        str, typer.Option("--on", metavar="WHERE", help="local, a Dask scheduler's tcp://HOST:PORT, or slurm[:JOBS]")
    ] = "local",
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the sweep in DIR; failed runs are run again.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the runs, estimate time and memory, run none.")
    ] = False,
    reuse: Annotated[
        list[Path] | None, typer.Option("--reuse", metavar="DIR", help="Reuse the runs of another sweep.")
    ] = None,
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
    json_to: Json = None,
    force: Force = False,
) -> None:
    """Run many simulations over a grid."""
    from flashweir import sweeps

    check_output("--json", json_to, force=force)
    memory_bytes = None if memory is None else number_of(memory)
    if memory is not None and (memory_bytes is None or memory_bytes < 1):
        raise ConfigError(f"--memory {memory}: expected a size such as 8GiB")
    if dry_run:
        sweeps.backend_for(on)
        _estimate(spec, threads, reuse or [], json_to)
        return
    if output is None and str(spec) == STANDARD:
        raise ConfigError("SPEC.toml -: expected -o DIR with it, as there is no name to make one of")
    directory = output or Path(f"{spec.stem}.sweep")
    frame = watched_sweep(
        directory,
        lambda progress: sweeps.sweep(
            spec,
            directory,
            on=on,
            resume=resume,
            force=force,
            reuse=reuse or [],
            threads=threads,
            memory_bytes=None if memory_bytes is None else int(memory_bytes),
            progress=progress,
        ),
    )
    print_of(of_sweep(frame))
    if json_to is not None:
        write_json(frame.to_dicts(), json_to)
    else:
        from flashweir.sweeps.terminal import print_frame

        print_frame(frame, console())
    failed = frame["error"].drop_nulls()
    if failed.len():
        raise FlashweirError(f"{directory}: {failed.len():,} of {frame.height:,} runs failed, the first: {failed[0]}")


def _estimate(spec: Path, threads: int | None, reuse: list[Path], json_to: str | None) -> None:
    import os

    from flashweir.sweeps.estimate import estimate
    from flashweir.sweeps.spec import load
    from flashweir.sweeps.store import read_meta
    from flashweir.sweeps.terminal import print_counts, print_estimate

    read = load(spec)
    for other in reuse:
        read_meta(other)
    if json_to is None:
        print_counts(read, console())
    found = estimate(read, threads or len(os.sched_getaffinity(0)), reuse)
    if json_to is not None:
        write_json(found, json_to)
    else:
        print_estimate(found, console())
