"""Runs on this machine: threads of this process, since the engine releases the GIL, within a limit of memory."""

import json
import os
import queue
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from flashweir import _native
from flashweir._native import FlashweirError
from flashweir.fio.resolving import in_words
from flashweir.sweeps.backend import Outcome
from flashweir.sweeps.points import Content, Planned, file_state, resolved

# Of the memory that is free when a sweep starts.
MEMORY_SHARE = 0.8
# Runs waiting for each thread, so that none stands idle while results are being written.
AHEAD = 8


class Budget:
    """A limit on the memory of the runs in progress. A run that alone needs more still runs, alone."""

    def __init__(self, limit_bytes: int, shared_bytes: Callable[[], int] = lambda: 0) -> None:
        """Starts with nothing taken; `shared_bytes` says what all runs hold together, such as traces."""
        self.limit_bytes = limit_bytes
        self._shared_bytes = shared_bytes
        self._taken_bytes = 0
        self._changed = threading.Condition()

    def acquire(self, need_bytes: int, stop: threading.Event) -> bool:
        """Waits until there is room; False if `stop` was set meanwhile."""
        with self._changed:
            while self._taken_bytes and self._taken_bytes + need_bytes + self._shared_bytes() > self.limit_bytes:
                if stop.is_set():
                    return False
                self._changed.wait(0.1)
            self._taken_bytes += need_bytes
            return not stop.is_set()

    def release(self, need_bytes: int) -> None:
        """Gives back what `acquire` took."""
        with self._changed:
            self._taken_bytes -= need_bytes
            self._changed.notify_all()


class LocalBackend:
    """Threads of this process."""

    def __init__(
        self, threads: int | None = None, memory_bytes: int | None = None, *, keeps_traces: bool = False
    ) -> None:
        """Starts `threads` (one a core that this process may use), within `memory_bytes` (80% of what is free).

        With `keeps_traces`, traces stay in memory when no run waits for them.
        """
        self.threads = threads or len(os.sched_getaffinity(0))
        self._traces = _native.Traces()
        limit = memory_bytes or int(free_memory_bytes() * MEMORY_SHARE)
        self.budget = Budget(limit, self._traces.memory_bytes)
        self._todo: queue.SimpleQueue[Planned | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._under_way = 0
        self._keeps_traces = keeps_traces
        self._uses: Counter[str] = Counter()
        self._workers = [threading.Thread(target=self._work, daemon=True) for _ in range(self.threads)]
        for worker in self._workers:
            worker.start()

    @property
    def room(self) -> int:
        """Number of further runs that the threads can take."""
        return self.threads * AHEAD - self._under_way

    def submit(self, runs: Sequence[Planned]) -> None:
        """Queues runs."""
        for planned in runs:
            self._uses.update(planned.traces)
            self._under_way += 1
            self._todo.put(planned)

    def collect(self, timeout_s: float) -> list[Outcome]:
        """Runs that ended."""
        found: list[Outcome] = []
        try:
            found.append(self._done.get(timeout=timeout_s))
            while True:
                found.append(self._done.get_nowait())
        except queue.Empty:
            pass
        self._under_way -= len(found)
        for outcome in found:
            self._uses.subtract(outcome.planned.traces)
        if self._keeps_traces:
            return found
        # The grid has workloads outermost: a trace that nobody waits for will hardly be wanted again.
        for path in [path for path, uses in self._uses.items() if uses == 0]:
            del self._uses[path]
            self._traces.forget(path)
        return found

    def close(self) -> None:
        """Stops the threads; a run in progress ends within a tenth of a second."""
        self._stop.set()
        for _ in self._workers:
            self._todo.put(None)
        for worker in self._workers:
            worker.join()

    def _work(self) -> None:
        while (planned := self._todo.get()) is not None and not self._stop.is_set():
            need = int(planned.plan["memory_bytes"])
            if not self.budget.acquire(need, self._stop):
                return
            try:
                outcome = simulate(planned, self._traces, self._stop)
            finally:
                self.budget.release(need)
            if not self._stop.is_set():
                self._done.put(outcome)


def simulate(planned: Planned, traces: _native.Traces, stop: threading.Event) -> Outcome:
    """Runs one; every failure becomes an outcome, and so does a trace that is no longer the one that was planned."""
    text, error = attempt(resolved(planned), traces, stop)
    for path, content in planned.contents.items():
        if error is None and not _is_still(path, content):
            return Outcome(planned, None, f"{path}: changed while the sweep ran: --resume runs it again")
    return Outcome(planned, text, error)


def _is_still(path: str, content: Content) -> bool:
    try:
        return file_state(path) == content.state
    except FlashweirError:
        return False


def attempt(spec: Mapping[str, Any], traces: _native.Traces, stop: threading.Event) -> tuple[str | None, str | None]:
    """Runs one: its result as JSON text, or why there is none."""
    try:
        return in_words(_native.simulate(json.dumps(spec), lambda _: not stop.is_set(), traces)), None
    except FlashweirError as error:
        return None, str(error)
    except Exception as error:  # noqa: BLE001 - one run's failure is not the sweep's
        return None, f"internal error, please report it: {type(error).__name__}: {error}"


def free_memory_bytes() -> int:
    """Memory that this process may still take: what the machine has free, or its control group allows."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        fields = dict(line.split(":", 1) for line in meminfo.read_text(encoding="ascii").splitlines())
        free = int(fields["MemAvailable"].split()[0]) * 1024
    limit, used = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
    if limit.exists() and used.exists() and (text := limit.read_text(encoding="ascii").strip()) != "max":
        free = min(free, int(text) - int(used.read_text(encoding="ascii")))
    return max(free, 0)
