"""Runs in a worker process of a cluster: a batch at a time, on traces that the process keeps, within its memory.

Everything that comes and goes is text, bytes and plain containers: client and worker need not be of the same Python.
"""

import json
import os
import tempfile
import threading
import time
import weakref
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from flashweir import _native
from flashweir.sweeps.local import MEMORY_SHARE, Budget, attempt, free_memory_bytes
from flashweir.sweeps.points import Planner

if TYPE_CHECKING:
    from distributed import Worker

# A batch that turns out to be longer than its client thought gives back what it has not begun.
LONGEST_S = 4.0
# A trace that so many batches have not asked for is let go.
KEPT_BATCHES = 64


def engine() -> str:
    """Versions that must be equal everywhere for results to be equal."""
    return f"{_native.__version__}+{_native.__build__}"


class Trace(NamedTuple):
    """A trace as the client has it: where, under which name, and what it holds."""

    given: str
    absolute: str
    size: int
    digest: str


class Process:
    """State shared by the batches of one worker process."""

    def __init__(self, worker: "Worker") -> None:
        """Measures what memory there is for runs: the worker's share less what the process takes already."""
        limit = worker.memory_manager.memory_limit
        self.memory_bytes: int = limit or free_memory_bytes()
        self.traces = _native.Traces()
        taken = 0 if limit is None else _resident_bytes()
        self.budget = Budget(max(int(self.memory_bytes * MEMORY_SHARE) - taken, 0), self.traces.memory_bytes)
        self._scratch = worker.local_directory
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._planner = Planner()
        self._lock = threading.Lock()
        self._batches = 0
        self._users: Counter[str] = Counter()
        self._used_by: dict[str, int] = {}
        self._digests: dict[str, str] = {}

    @contextmanager
    def places(self, traces: Sequence[Trace], contents: Mapping[str, bytes]) -> Iterator[dict[str, str | None]]:
        """Where each trace is on this machine, None if nowhere; there they stay while the block runs.

        Raises:
            OSError: a trace's content can't be written.
        """
        with self._lock:
            found = {trace.given: self._place(trace, contents) for trace in traces}
            held = [place for place in found.values() if place is not None]
            self._batches += 1
            self._users.update(held)
            self._used_by.update(dict.fromkeys(held, self._batches))
        try:
            yield found
        finally:
            with self._lock:
                self._users.subtract(held)
                self._forget(older_than=self._batches - KEPT_BATCHES)

    def make_room(self, need_bytes: int) -> None:
        """Lets go of traces that nobody uses now if a run would not fit beside them."""
        with self._lock:
            if need_bytes + self.traces.memory_bytes() > self.budget.limit_bytes:
                self._forget()

    def forget(self) -> None:
        """Lets go of everything that no batch uses now, files too."""
        with self._lock:
            self._forget()
            if self._folder is not None and not +self._users:
                self._folder.cleanup()
                self._folder = None

    def _forget(self, older_than: int | None = None) -> None:
        for place, batch in list(self._used_by.items()):
            if not self._users[place] and (older_than is None or batch < older_than):
                self.traces.forget(place)
                del self._used_by[place], self._users[place]

    def _place(self, trace: Trace, contents: Mapping[str, bytes]) -> str | None:
        # The name is kept: it tells the format, and stands in the result.
        kept = self._folder and Path(self._folder.name) / trace.digest / Path(trace.given).name
        if kept and kept.exists():
            return str(kept)
        if self._is_same(trace):
            return trace.absolute
        if trace.digest not in contents:
            return None
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="flashweir-", dir=self._scratch)
        kept = Path(self._folder.name) / trace.digest / Path(trace.given).name
        kept.parent.mkdir(exist_ok=True)
        part = kept.with_name(f".{kept.name}.part")
        part.write_bytes(contents[trace.digest])
        part.replace(kept)
        return str(kept)

    def _is_same(self, trace: Trace) -> bool:
        """True if the client's path leads to the same content here."""
        try:
            same = Path(trace.absolute).stat().st_size == trace.size
            same = same and self._planner.digest(trace.absolute) == trace.digest
        except (OSError, _native.FlashweirError):
            return False
        if same and self._digests.setdefault(trace.absolute, trace.digest) != trace.digest:
            # The file has changed since it was last read here.
            self.traces.forget(trace.absolute)
            self._digests[trace.absolute] = trace.digest
        return same


class Released(threading.Event):
    """Is set as soon as the scheduler does not want this task any more: cancelled, or its client is gone."""

    def __init__(self) -> None:
        """Watches the task of this thread."""
        super().__init__()
        from distributed import get_worker

        self._worker = get_worker()
        self._key = self._worker.get_current_task()

    def is_set(self) -> bool:
        """True if the worker is to stop."""
        if not super().is_set():
            task = self._worker.state.tasks.get(self._key)
            if task is None or task.state == "cancelled":
                self.set()
        return super().is_set()


# By worker: a process that outlives one, or has several, keeps them apart.
_processes: "weakref.WeakKeyDictionary[Worker, Process]" = weakref.WeakKeyDictionary()
_processes_lock = threading.Lock()


def process(worker: "Worker") -> Process:
    """State shared by the batches on this worker."""
    with _processes_lock:
        if worker not in _processes:
            _processes[worker] = Process(worker)
        return _processes[worker]


def forget(dask_worker: "Worker") -> None:
    """Lets go of the traces of sweeps that have ended."""
    process(dask_worker).forget()


def pack(traces: Sequence[Trace], runs: Sequence[tuple[Mapping[str, Any], int]]) -> bytes:
    """A batch as it is sent: traces, and for each run its spec and the bytes of memory it needs."""
    return zlib.compress(json.dumps([traces, runs], separators=(",", ":")).encode(), 1)


def unpack(outcomes: bytes) -> list[tuple[int, str | None, str | None]]:
    """Unpacks the answer of `run`: for each run its place in the batch, its result as JSON, and its error, if any."""
    return [(index, text, error) for index, text, error in json.loads(zlib.decompress(outcomes))]


def run(wanted: str, batch: bytes, digests: Sequence[str], contents: Sequence[bytes]) -> dict[str, Any]:
    """Runs a batch.

    Args:
        wanted: the client's engine; with another nothing is run.
        batch: what `pack` made.
        digests: of traces that are sent along.
        contents: the same traces.

    Returns:
        `worker` and `engine`, and with the right engine: `missing`, digests without which nothing was run, or
        `outcomes` for `unpack`; `seconds` of each; `undone`, indexes of runs that were not begun; `too_large`, indexes
        of runs that do not fit into the worker, whose limit is `memory_bytes`.
    """
    from distributed import get_worker

    worker = get_worker()
    answer: dict[str, Any] = {"worker": worker.address, "engine": engine()}
    if wanted != answer["engine"]:
        return answer
    here = process(worker)
    answer["memory_bytes"] = here.memory_bytes
    traces, runs = json.loads(zlib.decompress(batch))
    traces = [Trace(*trace) for trace in traces]
    stop = Released()
    try:
        with here.places(traces, dict(zip(digests, contents, strict=True))) as places:
            answer["missing"] = [trace.digest for trace in traces if places[trace.given] is None]
            if not answer["missing"]:
                answer.update(_work(here, runs, places, stop))
    except OSError as error:
        text = f"{error.filename}: {error.strerror} on {worker.address}, which has no other copy of the trace"
        nothing = [(index, None, text) for index in range(len(runs))]
        answer |= {"missing": [], "outcomes": _packed(nothing), "seconds": [], "undone": [], "too_large": []}
    if stop.is_set():
        here.forget()
    return answer


def _work(
    here: Process, runs: Sequence[tuple[dict[str, Any], int]], places: Mapping[str, str | None], stop: Released
) -> dict[str, Any]:
    began = time.monotonic()
    outcomes: list[tuple[int, str | None, str | None]] = []
    seconds: list[float] = []
    too_large: list[int] = []
    undone: list[int] = []
    for index, (spec, need) in enumerate(runs):
        start = time.monotonic()
        if need > here.budget.limit_bytes:
            too_large.append(index)
            continue
        if stop.is_set() or (seconds and start - began > LONGEST_S):
            undone.append(index)
            continue
        here.make_room(need)
        if here.budget.acquire(need, stop):
            try:
                text, error = attempt(_moved(spec, places), here.traces, stop)
            finally:
                here.budget.release(need)
        if stop.is_set():
            undone.append(index)
            continue
        outcomes.append((index, text, error and _as_given(error, places)))
        seconds.append(time.monotonic() - start)
    return {"outcomes": _packed(outcomes), "seconds": seconds, "undone": undone, "too_large": too_large}


def _packed(outcomes: Sequence[tuple[int, str | None, str | None]]) -> bytes:
    return zlib.compress(json.dumps(outcomes, separators=(",", ":")).encode(), 1)


def _moved(spec: dict[str, Any], places: Mapping[str, str | None]) -> dict[str, Any]:
    """The run with its traces where they are on this machine."""
    workloads = [{**one, "spec": places.get(one["spec"]) or one["spec"]} for one in spec["workloads"]]
    return {**spec, "workloads": workloads}


def _as_given(error: str, places: Mapping[str, str | None]) -> str:
    """A message that names traces as the user does."""
    for given, place in places.items():
        error = error.replace(place or given, given)
    return error


def _resident_bytes() -> int:
    """Memory that this process takes now."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
