"""`flashweir replay`: a trace on a real drive, or a simulated one."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from flashweir import api, replaying
from flashweir._native import ConfigError
from flashweir.assumptions import print_of
from flashweir.cli.common import Columns, Format, Json, SkipBad, console, show, watched, write_json
from flashweir.cli.health import Health, HealthAfter, HealthBefore, print_health
from flashweir.cli.outputs import Force, check_output, check_outputs
from flashweir.notices import say
from flashweir.result import Section

Timing = Literal["original", "asap", "closed"]
Engine = Literal["io_uring", "sync"]
Method = Literal["none", "snia", "random"]


def replay(
    trace: Annotated[str | None, typer.Argument(metavar="TRACE", help="A trace file, generator, or fio:FILE.")] = None,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET", help="A block device, a file, sim:PRESET[,KEY=VALUE...], or py:FILE.py:CLASS."
        ),
    ] = None,
    timing: Annotated[
        str | None,
        typer.Option("--timing", metavar="original|asap|closed", help="Submission times: original, asap or closed."),
    ] = None,
    scale: Annotated[
        float | None,
        typer.Option("--scale", metavar="F", help="Factor on the times of the trace: 0.5 is twice as fast."),
    ] = None,
    speed: Annotated[
        float | None, typer.Option("--speed", metavar="F", help="Inverse of --scale: 2 is twice as fast.")
    ] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", metavar="N", min=1, help="Maximum number of outstanding requests.")
    ] = None,
    engine: Annotated[
        str, typer.Option("--engine", metavar="io_uring|sync", help="I/O interface for real drives.")
    ] = "io_uring",
    buffered: Annotated[bool, typer.Option("--buffered", help="Use the page cache.")] = False,
    only: Annotated[
        str | None, typer.Option("--only", metavar="OPS", help="Only these operations, such as read,write.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="Only the first N requests.")] = None,
    wrap: Annotated[bool, typer.Option("--wrap", help="Fold addresses beyond the target into it.")] = False,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, max=2**64 - 1, help="Seed of the written data.")
    ] = 1,
    erase: Annotated[
        str | None,
        typer.Option("--erase", metavar="TARGET", help="Name of the target again: permission to destroy its data."),
    ] = None,
    size: Annotated[str | None, typer.Option("--size", metavar="BYTES", help="Size of a file to be made.")] = None,
    precondition: Annotated[
        str, typer.Option("--precondition", metavar="none|snia|random", help="State before the replay.")
    ] = "none",
    until_steady: Annotated[
        bool, typer.Option("--until-steady", help="Repeat the preconditioning in rounds until the rate is steady.")
    ] = False,
    log: Annotated[
        Path | None, typer.Option("--log", "-o", metavar="F.parquet", help="Write a log of every request.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan, and do nothing.")] = False,
    recover: Annotated[
        Path | None, typer.Option("--recover", metavar="F.parquet", help="Recover the log of a killed replay.")
    ] = None,
    json_to: Json = None,
    force: Force = False,
    format: Format = None,
    columns: Columns = None,
    skip_bad: SkipBad = 0,
    health_before: HealthBefore = None,
    health_after: HealthAfter = None,
) -> None:
    """Replay a trace to a real drive or a simulated one, with every request timed."""
    if recover is not None:
        if trace is not None:
            raise ConfigError("--recover F.parquet: expected no TRACE with it, nothing is replayed")
        check_output("--json", json_to, force=force)
        show(replaying.recover_log(recover), json_to)
        return
    if trace is None or target is None:
        raise ConfigError("expected TRACE and TARGET, such as trace.csv /dev/sdx, or trace.csv sim:tlc")
    check_outputs({"--json": json_to, "--log": log}, [trace, target], force=force, files=["--log"])
    for option, value, choices in (
        ("--timing", timing, get_args(Timing)),
        ("--engine", engine, get_args(Engine)),
        ("--precondition", precondition, get_args(Method)),
    ):
        if value is not None and value not in choices:
            raise ConfigError(f"{option} {value}: expected one of {', '.join(choices)}")

    watch = Health(target, health_before, health_after)

    def run(progress: api.Progress | None) -> Section:
        return replaying.replay(
            trace,
            target,
            timing=timing,  # type: ignore[arg-type]  # checked above
            scale=_scale(scale, speed),
            depth=depth,
            engine=engine,  # type: ignore[arg-type]  # checked above
            buffered=buffered,
            only=only,
            limit=limit,
            wrap=wrap,
            seed=seed,
            erase=erase,
            size=size,
            precondition=precondition,  # type: ignore[arg-type]  # checked above
            until_steady=until_steady,
            log=log,
            dry_run=dry_run,
            format=format,
            columns=columns,
            skip_bad=skip_bad,
            progress=progress,
        )

    done = watched(run)
    health = None if dry_run else watch.end()
    print_of([(Path(trace).name, done.get("trace_report"))])
    for warning in done.get("warnings", []):
        say(f"warning: {warning}")
    if json_to is not None:
        write_json(done.to_dict() | ({} if dry_run else {"health": health}), json_to)
    elif dry_run:
        show(done, None)
    else:
        _print(done)
        print_health(health, console())


def _scale(scale: float | None, speed: float | None) -> float:
    if speed is None:
        if scale is not None and not 0 <= scale < math.inf:
            raise ConfigError(f"--scale {scale}: expected a factor on the trace's times that is not negative")
        return 1.0 if scale is None else scale
    if scale is not None:
        raise ConfigError("--scale and --speed are the same: expected one of them")
    if not speed > 0:
        raise ConfigError(f"--speed {speed}: expected a factor above 0")
    return 1.0 / speed


def _print(done: Mapping[str, Any]) -> None:
    from flashweir.summary import print_latencies

    out = console()
    moved = f"{done['iops']:,.0f} requests and {done['mb_per_s']:,.1f} MB a second"
    out.print(f"{done['requests']:,} requests in {done['elapsed_s']:.3f} s: {moved}", highlight=False, markup=False)
    latencies = {op: row for op, row in done["latency_us"].items() if row}
    if latencies:
        print_latencies(latencies, out)
    for label, text in _lines(done):
        out.print(f"{label:<14}  {text}", highlight=False, markup=False, soft_wrap=True)


def _lines(done: Mapping[str, Any]) -> list[tuple[str, str]]:
    lines = []
    if late := done["lateness_us"]:
        lines.append(("lateness", f"mean {late['mean']:,.1f} us, p99 {late['p99']:,.1f} us, max {late['max']:,.1f} us"))
    if done["planned_s"] is not None:
        lines.append(("the trace", f"lasts {done['planned_s']:.3f} s"))
    lines.append(("outstanding", f"at most {done['max_outstanding']} requests"))
    if before := done["preconditioned"]:
        text = f"{before['method']}: {before['bytes'] / 1e6:,.0f} MB in {before['seconds']:.1f} s"
        if before["steady"] is not None:
            reached = "steady" if before["steady"] else "not steady"
            text += f", {reached} after {len(before['rounds'])} rounds at {before['steady_mb_per_s']:,.1f} MB/s"
        lines.append(("preconditioned", text))
    if done["log"]:
        lines.append(("log", done["log"]))
    return lines
