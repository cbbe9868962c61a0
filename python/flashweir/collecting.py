"""Collection: the block requests that a running system makes of a drive, as a trace."""

import json
import math
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from flashweir import _native
from flashweir._native import ConfigError, FlashweirError
from flashweir.arguments import check_path, in_python
from flashweir.healthlogs.around import Health
from flashweir.options import target as option
from flashweir.options.option import as_spec, checked, declared
from flashweir.results.section import Section
from flashweir.tenants import AnyPath

Progress = Callable[[dict[str, Any]], bool | None]


@declared
@in_python
def collect(
    device: AnyPath,
    output: AnyPath,
    *,
    duration_s: option.Duration = None,
    command: Sequence[str] = (),
    method: option.CollectMethod = "auto",
    relative: option.Relative = False,
    allow_drops: option.AllowDrops = False,
    buffer_kb: option.BufferKb = None,
    health_before: option.HealthBefore = None,
    health_after: option.HealthAfter = None,
    progress: Progress | None = None,
) -> Section:
    """Collects the requests below the file system of a drive, with their times, until the first of its ends comes.

    Linux, root. The drive is only watched, never opened. Ctrl-C and SIGTERM end the collection in order, and the trace
    is written; a second one leaves what was collected in the files `OUTPUT.blktrace.N`, which `trace_convert` reads.

    Args:
        device: a drive or a partition, such as `/dev/nvme0n1`.
        output: the trace; its suffix says the format (`.parquet` keeps everything).
        command: a program and its arguments; its end is that of the collection.
        progress: gets how far it is, ten times a second: `phase` (`collect` or `write`), `done` (requests), `bytes`,
            `lost`, `fraction` and `elapsed_s`; returns False to end it.

    Returns:
        The summary; docs/guide/collect.md says what stands in it. `health` has the changes in the health logs
        (docs/reference/health.md), None without them.

    Raises:
        DeviceError: the drive can't be collected from.
        ConfigError: what was asked for can't be done here.
        FlashweirError: events were lost: the trace is kept, and its metadata say so.
    """
    options = as_spec(collect, checked(collect, locals()))
    check_path("device", device)
    check_path("output", output)
    watch = Health(device, health_before, health_after)
    summary = collect_all(device, output, watch, command=command, progress=progress, **options)
    refuse_losses(summary, allow_drops)
    return summary


def collect_all(
    device: AnyPath,
    output: AnyPath,
    watch: Health,
    *,
    command: Sequence[str],
    progress: Progress | None,
    **settings: object,
) -> Section:
    """Collects as `collect` does, and leaves it to the caller to look for losses."""
    duration_s = settings.get("duration_s")
    if isinstance(duration_s, float) and not math.isfinite(duration_s):
        raise ConfigError(f"duration {duration_s}: expected seconds above 0")
    spec = {"device": os.fspath(device), "output": os.fspath(output), "command": list(command), **settings}
    with _interruptions() as count:

        def tell(text: str) -> bool:
            state = json.loads(text)
            # Progress may end the collection; what was collected is then written, unless somebody interrupts again.
            wanted = progress is None or progress(state) is not False
            if state["phase"] == "write":
                return count() <= 1
            return wanted and not count()

        summary = json.loads(_native.collect(json.dumps(spec), tell))
    return Section(summary | {"health": watch.end()})


def refuse_losses(summary: Section, allow_drops: bool) -> None:
    """Raises if events were lost and nobody allowed it."""
    lost = summary["lost_events"]
    if lost and not allow_drops:
        raise FlashweirError(
            f"{lost} events were lost, so {summary['output']} is not complete: it is kept, and marked; "
            "collect again with a larger buffer (--buffer-kb), or allow it (--allow-drops)"
        )


@contextmanager
def _interruptions() -> Iterator[Callable[[], int]]:
    """Counts SIGINT and SIGTERM instead of being ended by them; only the main thread can."""
    seen = 0

    def count(_number: int, _frame: FrameType | None) -> None:
        nonlocal seen
        seen += 1

    if threading.current_thread() is not threading.main_thread():
        yield lambda: seen
        return
    before = {number: signal.signal(number, count) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
