"""`flashweir sweep`: many runs over a grid."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from flashweir import sweeps
from flashweir._native import ConfigError, FlashweirError
from flashweir.assumptions import of_sweep, print_of
from flashweir.cli.common import Json, console, watched_sweep, write_json
from flashweir.cli.derived import takes
from flashweir.cli.outputs import Force, check_folder, check_output
from flashweir.options.many import memory_of
from flashweir.options.option import Row
from flashweir.options.target import DryRun
from flashweir.whole import STANDARD


@takes(sweeps.sweep)
def sweep(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="Workloads, a drive, axes and seeds.")],
    dry_run: Annotated[
        DryRun,
        Row(
            "count the runs, and estimate time and memory: some runs of every workload are begun, for less than half a"
            " second each. Of more than 2,000 points so many are drawn at random. Runs that DIR has already count too;"
            " those that `--reuse` finds are counted apart (`reused`) and left out of the time",
            help="Count the runs, estimate time and memory, run none.",
        ),
    ] = False,
    json_to: Annotated[Json, Row("the rows (with `--dry-run`: the estimate) as JSON instead of the summary")] = None,
    force: Force = False,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Run many simulations over a grid."""
    check_output("--json", json_to, force=force)
    if dry_run:
        memory_of(options.get("memory_bytes"))
        sweeps.backend_for(options.get("on", "local"))
        _estimate(spec, options.get("threads"), options.get("reuse", []), json_to)
        return
    check_folder("-o", options.get("directory"))
    if "directory" not in options and str(spec) == STANDARD:
        raise ConfigError("SPEC.toml -: expected -o DIR with it, as there is no name to make one of")
    directory = options.pop("directory", Path(f"{spec.stem}.sweep"))
    frame = watched_sweep(
        directory, lambda progress: sweeps.sweep(spec, directory, force=force, progress=progress, **options)
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


def _estimate(spec: Path, threads: int | None, reuse: Sequence[Path], json_to: str | None) -> None:
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
