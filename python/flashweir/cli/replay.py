"""`flashweir replay`: a trace on a real drive, or a simulated one."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from flashweir import api, replaying
from flashweir._native import ConfigError
from flashweir.arguments import typed
from flashweir.assumptions import print_of
from flashweir.cli.common import Json, console, show, watched, write_json
from flashweir.cli.derived import takes
from flashweir.cli.health import print_health
from flashweir.cli.outputs import Force, check_output, check_outputs
from flashweir.notices import say
from flashweir.options.option import Row, options_of
from flashweir.results.section import Section


@takes(replaying.replay)
def replay(
    trace: Annotated[str | None, typer.Argument(metavar="TRACE", help="A trace file, generator, or fio:FILE.")] = None,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET", help="A block device, a file, sim:PRESET[,KEY=VALUE...], or py:FILE.py:CLASS."
        ),
    ] = None,
    speed: Annotated[
        float | None,
        typer.Option("--speed", metavar="F", help="Inverse of --scale: 2 is twice as fast."),
        Row("the trace's times divided by F; with `original`"),
    ] = None,
    recover: Annotated[
        Path | None,
        typer.Option("--recover", metavar="F.parquet", help="Recover the log of a killed replay."),
        Row("finishes the log of a replay that was killed"),
    ] = None,
    json_to: Json = None,
    force: Force = False,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
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
    log = typed("-o", "--log")
    check_outputs({"--json": json_to, log: options.get("log")}, [trace, target], force=force, kinds={log: "log"},
                  files=[log])  # fmt: skip
    for name in ("timing", "engine", "precondition"):
        _check_choice(name, options.get(name))
    scale = _scale(options.pop("scale", None), speed)

    def run(progress: api.Progress | None) -> Section:
        return replaying.replay(trace, target, scale=scale, progress=progress, **options)

    done = watched(run)
    print_of([(Path(trace).name, done.get("trace_report"))])
    for warning in done.get("warnings", []):
        say(f"warning: {warning}")
    if json_to is not None:
        write_json(done.to_dict(), json_to)
    elif "dry_run" in options:
        show(done, None)
    else:
        _print(done)
        print_health(done["health"], console())


def _check_choice(name: str, value: str | None) -> None:
    choices = options_of(replaying.replay)[name].option.choices
    if value is not None and value not in choices:
        raise ConfigError(f"--{name} {value}: expected one of {', '.join(choices)}")


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
