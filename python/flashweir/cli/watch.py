"""`flashweir watch`: a recorded run in a browser."""

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from flashweir import _native, api
from flashweir._native import ConfigError
from flashweir.assumptions import of_workloads, print_of
from flashweir.cli.common import Device, Settings, pair, watched
from flashweir.cli.derived import takes
from flashweir.options import serve
from flashweir.options import watch as option
from flashweir.options.option import Row
from flashweir.tenants import file_of

# Seconds between two looks for Ctrl-C.
_LOOK_S = 0.2
_ADDRESS = "127.0.0.1:0"
_TIMELINE = ".pftrace"


@takes()
def watch(
    run: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A timeline (.pftrace), or a workload as of `simulate`, which is simulated first."
        ),
        Row("a timeline (`.pftrace`), or a [workload](workloads.md) as of `simulate`, which is simulated first"),
    ],
    device: Device = None,
    settings: Settings = None,
    speed: option.Speed = None,
    dashboard: Annotated[
        serve.Dashboard, Row("address of the page (`127.0.0.1:0`); port 0 is any free one", "Address of the page.")
    ] = None,
    exposed: Annotated[serve.Exposed, Row("allows an address that other machines reach")] = False,
) -> None:
    """Show a recorded run in a browser, until Ctrl-C."""
    from flashweir.dashboard.server import Dashboard
    from flashweir.dashboard.sources import Recording

    if speed is not None and not 0 < speed < float("inf"):
        raise ConfigError(f"--speed {speed}: expected a number above 0: simulated time over wall time")
    is_timeline = run.lower().endswith(_TIMELINE)
    if is_timeline and (device is not None or settings):
        raise ConfigError(f"{run}: a timeline is of a run that has ended; expected no --device and no --set with it")
    page = Dashboard(dashboard or _ADDRESS, exposed=exposed)
    try:
        with tempfile.TemporaryDirectory(prefix="flashweir-") as scratch:
            samples = Path(scratch) / "samples.jsonl"
            if is_timeline:
                _native.timeline_samples(run, str(samples))
            else:
                _simulate(run, device, settings or [], samples)
            source = Recording(Path(file_of(run)).name, samples, speed)
        page.start(source)
        print(page.url, flush=True)
        _wait()
    finally:
        page.close()


def _simulate(workload: str, device: str | None, settings: list[str], samples: Path) -> None:
    """Runs a workload, and writes samples of the drive."""
    overrides: dict[str, Any] = dict(pair(text, "--set", "KEY=VALUE") for text in settings)
    result = watched(lambda progress: api.simulate(workload, device, samples=samples, progress=progress, set=overrides))
    print_of(of_workloads(result))


def _wait() -> None:
    """Until SIGINT or SIGTERM."""
    import signal
    import threading

    ended = threading.Event()
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(kind, lambda *_: ended.set()) for kind in kinds]
    try:
        while not ended.wait(_LOOK_S):
            pass
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
