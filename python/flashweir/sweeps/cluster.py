"""Runs on a Dask cluster: in batches of about a second or longer, each outcome once, whatever happens to workers."""

import asyncio
import concurrent.futures
import hashlib
import operator
import queue
import sys
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from flashweir._native import FlashweirError
from flashweir.sweeps.backend import Backend, Outcome
from flashweir.sweeps.batch import Batch, Future
from flashweir.sweeps.deployment import Deploy, Deployment, Quiet, deployment
from flashweir.sweeps.local import MEMORY_SHARE
from flashweir.sweeps.points import Planned, resolved
from flashweir.sweeps.worker import Trace, engine, forget, pack, unpack

# Target time of a batch, and the time from which a run goes alone, in seconds.
BATCH_S, ALONE_S = 1.5, 1.0
# Runs in a batch while nobody knows yet how long they take, and never more than.
FIRST_RUNS, MAX_RUNS = 4, 1000
# Batches for each thread of the cluster, so that none stands idle; runs held in all.
AHEAD, MAX_HELD = 3, 20_000
# Weight of the latest batch in the estimate of the next.
LATEST = 0.3
# Between two looks at who is there; and for the answers that are not worth waiting for.
LOOK_S, PATIENCE_S = 1.0, 5.0
# Times that the cluster may lose a batch for other reasons than its worker's death.
MAX_LOSSES = 10
# By name: the scheduler need not have flashweir, and a worker without it says so.
_RUN = "flashweir.sweeps.worker.run"


def cluster_backend(on: str) -> Callable[[], Backend]:
    """Runs on a cluster.

    Args:
        on: `tcp://...` or another address of a Dask scheduler, `file:PATH` of a scheduler file, or a batch system of
            dask-jobqueue, such as `slurm` or `slurm:JOBS`.

    Returns:
        What connects, or starts jobs, and makes the backend. It raises FlashweirError if nobody answers.

    Raises:
        ConfigError: `on` is none of these.
    """
    deploy = deployment(on)
    return lambda: ClusterBackend(deploy)


class _Unreadable(FlashweirError):
    """A trace of some runs is not what it was: they fail, the others go on."""


class ClusterBackend:
    """A Dask cluster: called from one thread, like every backend."""

    def __init__(self, deploy: Deploy) -> None:
        """Connects.

        Raises:
            FlashweirError: nobody answers.
        """
        self._quiet = Quiet()
        try:
            self._on: Deployment = deploy()
        except BaseException:
            self._quiet.end()
            raise
        self._client = self._on.client
        self._sweep = uuid.uuid4().hex
        self._number = 0
        self._traces: dict[str, Trace] = {}
        self._contents: dict[str, Future] = {}
        self._todo: deque[Planned] = deque()
        self._again: deque[Batch] = deque()
        self._suspects: deque[Batch] = deque()
        self._batches: dict[str, Batch] = {}
        self._answers: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._outcomes: list[Outcome] = []
        self._seconds: dict[str, float] = {}
        self._threads = 0
        self._looked = float("-inf")
        self._said = False
        self._fault: FlashweirError | None = None
        self.tasks = 0

    @property
    def room(self) -> int:
        """Number of further runs that the cluster can take."""
        held = len(self._todo) + sum(len(batch.runs) for batch in [*self._batches.values(), *self._again])
        held += len(self._suspects)
        latest = list(self._seconds.values())[-1:]
        size = FIRST_RUNS if not latest else max(1, min(MAX_RUNS, int(BATCH_S / max(latest[0], 1e-9))))
        # One batch more than are sent, so that a whole one is always at hand.
        return max(0, min((max(self._threads, 1) * AHEAD + 1) * size, MAX_HELD) - held)

    def submit(self, runs: Sequence[Planned]) -> None:
        """Takes runs, and sends what makes whole batches."""
        for planned in runs:
            try:
                for path in planned.traces:
                    absolute = Path(path).absolute()
                    digest = planned.contents[path].digest
                    self._traces[path] = Trace(path, str(absolute), absolute.stat().st_size, digest)
            except (FlashweirError, OSError) as error:
                self._outcomes.append(Outcome(planned, None, str(error)))
            else:
                self._todo.append(planned)
        self._look()
        self._send(rest=False)

    def collect(self, timeout_s: float) -> list[Outcome]:
        """Runs that ended.

        Raises:
            FlashweirError: the scheduler is lost, the batch system refuses jobs, or a worker has another engine.
        """
        try:
            if self._fault is None:
                self._advance(timeout_s)
        except FlashweirError as error:
            # Results that have arrived by now are yielded first.
            self._fault = error
        found, self._outcomes = self._outcomes, []
        if self._fault is not None and not found:
            raise self._fault
        return found

    def _advance(self, timeout_s: float) -> None:
        self._take_all()
        self._look()
        self._send(rest=True)
        if not self._outcomes:
            self._take_all(timeout_s)
        self._send(rest=False)

    def _take_all(self, timeout_s: float = 0) -> None:
        """Takes the answers that are there; waits for the first of them, but not beyond `timeout_s`."""
        try:
            self._take(*self._answers.get(block=timeout_s > 0, timeout=timeout_s))
            while True:
                self._take(*self._answers.get_nowait())
        except queue.Empty:
            pass

    def close(self) -> None:
        """Takes everything of this sweep off the cluster; runs in progress stop within a second."""
        try:
            if self._client.status == "running":
                futures = [batch.future for batch in self._batches.values() if batch.future is not None]
                self._patiently(self._client.cancel, [*futures, *self._contents.values()])
                if self._traces:
                    self._patiently(self._client.run, forget, on_error="ignore")
            self._batches.clear()
            self._contents.clear()
            self._on.close()
        finally:
            self._quiet.end()

    def _patiently(self, call: Any, *args: object, **options: object) -> None:  # noqa: ANN401 - a method of the client
        """Calls the client, but does not wait for ever for workers that do not answer."""

        async def within() -> None:
            await asyncio.wait_for(call(*args, **options), PATIENCE_S)

        waiting = asyncio.run_coroutine_threadsafe(within(), self._client.loop.asyncio_loop)
        concurrent.futures.wait([waiting], PATIENCE_S + 1)

    def _look(self) -> None:
        """Checks the workers: present, and without errors."""
        if time.monotonic() - self._looked < LOOK_S:
            return
        if self._client.status != "running":
            raise self._lost()
        self._on.keep_up()
        try:
            workers = self._client.nthreads()
        except Exception as error:
            raise self._lost() from error
        self._threads = sum(workers.values())
        self._looked = time.monotonic()
        # Nothing else may take these: without their workers they would wait for ever.
        stranded = [batch for batch in self._batches.values() if batch.only_there and not {*batch.workers} & {*workers}]
        if stranded:
            self._client.cancel([batch.future for batch in stranded])
        if self._threads == 0 and self._on.failures:
            # Where there are workers, a few less will do.
            raise FlashweirError(f"--on {self._on.name}: {self._on.failures[-1]}")
        if self._threads == 0 and not self._said:
            print(f"flashweir: {self._on.name} has no workers yet: waiting for them", file=sys.stderr)
        self._said = self._threads == 0

    def _lost(self) -> FlashweirError:
        return FlashweirError(f"{self._on.name}: the connection to the Dask scheduler is lost")

    def _send(self, *, rest: bool) -> None:
        """Fills the cluster up; with `rest`, also with what makes no whole batch, if there are idle threads."""
        threads = max(self._threads, 1)
        # A trace can't be put where no worker is.
        while self._again and (self._threads or not self._again[0].needs):
            self._start(self._again.popleft())
        if self._suspects and not any(batch.suspect for batch in self._batches.values()):
            self._start(self._suspects.popleft())
        while self._todo and len(self._batches) < threads * AHEAD:
            runs, whole = self._next()
            if not whole and not (rest and len(self._batches) < threads):
                self._todo.extendleft(reversed(runs))
                return
            self._start(Batch(runs))

    def _next(self) -> tuple[list[Planned], bool]:
        """Runs for a batch, and whether they are enough for one."""
        runs: list[Planned] = []
        seconds = 0.0
        most = max(1, min(FIRST_RUNS, len(self._todo) // max(self._threads, 1)))
        while self._todo:
            each = self._seconds.get(self._todo[0].run.workload)
            if runs and each is not None and each >= ALONE_S:
                return runs, True
            runs.append(self._todo.popleft())
            # A workload that was never run is as long as makes the first batches short.
            seconds += BATCH_S / most if each is None else each
            if seconds >= BATCH_S - 1e-9 or len(runs) >= MAX_RUNS or (each is not None and each >= ALONE_S):
                return runs, True
        return runs, False

    def _start(self, batch: Batch) -> None:
        from distributed.utils import import_term

        traces = {path: self._traces[path] for planned in batch.runs for path in planned.traces}
        try:
            contents = [self._content(trace) for trace in traces.values() if trace.digest in batch.needs]
        except TimeoutError:
            # The workers went meanwhile: later.
            self._again.append(batch)
            self._threads = 0
            return
        except _Unreadable as error:
            self._outcomes += [Outcome(planned, None, str(error)) for planned in batch.runs]
            return
        self._number += 1
        self.tasks += 1
        key = f"flashweir-{self._sweep}-{self._number}"
        runs = [(resolved(planned), int(planned.plan["memory_bytes"])) for planned in batch.runs]
        digests = [content.key.rpartition("-")[2] for content in contents]
        task = (operator.call, (import_term, _RUN), engine(), pack(list(traces.values()), runs), digests, contents)
        try:
            batch.future = self._client.get(
                {key: task},
                key,
                sync=False,
                workers=list(batch.workers) or None,
                allow_other_workers=bool(batch.workers) and not batch.only_there,
                # A result that came back once delays others.
                priority=1 if batch.losses or batch.needs or batch.suspect else 0,
            )
        except Exception as error:
            raise self._lost() from error
        self._batches[key] = batch
        asyncio.run_coroutine_threadsafe(self._follow(key, batch.future), self._client.loop.asyncio_loop)

    async def _follow(self, key: str, future: Future) -> None:
        """Hands over what becomes of a task; runs on the client's own thread."""
        try:
            self._answers.put((key, await future))
        except (Exception, asyncio.CancelledError, concurrent.futures.CancelledError) as error:  # noqa: BLE001
            self._answers.put((key, error))

    def _content(self, trace: Trace) -> Future:
        """A trace's content on the cluster: put there once, for as long as a batch needs it."""
        held = self._contents.get(trace.digest)
        if held is None or held.status != "finished":
            try:
                content = Path(trace.given).read_bytes()
            except OSError as error:
                raise _Unreadable(f"{trace.given}: {error.strerror}") from error
            if hashlib.blake2b(content).hexdigest()[: len(trace.digest)] != trace.digest:
                raise _Unreadable(f"{trace.given}: changed while the sweep ran")
            # A name of its own each time: the scheduler may hear late that an earlier one is not needed any more.
            self._number += 1
            key = f"flashweir-{self._sweep}-{self._number}-{trace.digest}"
            try:
                held = self._client.scatter({key: content})[key]
            except TimeoutError:
                raise
            except Exception as error:
                raise self._lost() from error
            self._contents[trace.digest] = held
        return held

    def _take(self, key: str, answer: Any) -> None:  # noqa: ANN401 - what a task gives, or what became of it
        batch = self._batches.pop(key)
        batch.future = None
        if isinstance(answer, dict):
            self._read(batch, answer)
        else:
            self._recover(batch, answer)
        needed = {digest for other in [*self._batches.values(), *self._again] for digest in other.needs}
        for digest in set(self._contents) - needed:
            del self._contents[digest]

    def _read(self, batch: Batch, answer: dict[str, Any]) -> None:
        address = answer["worker"]
        if answer["engine"] != engine():
            raise FlashweirError(
                f"worker {address}: runs flashweir {answer['engine']}: expected the engine that is here, {engine()}, "
                "since another may give other results"
            )
        if answer["missing"]:
            # It goes back to the same worker, which keeps it for others.
            digests = sorted({*answer["missing"], *batch.needs})
            workers, only_there = (batch.workers, True) if batch.only_there else ([address], False)
            self._again.append(Batch(batch.runs, None, batch.suspect, workers, only_there, digests))
            return
        for index, text, error in unpack(answer["outcomes"]):
            self._outcomes.append(Outcome(batch.runs[index], text, error))
        if answer["seconds"]:
            self._learn(batch.runs, sum(answer["seconds"]) / len(answer["seconds"]))
        self._todo.extendleft(reversed([batch.runs[index] for index in answer["undone"]]))
        for index in answer["too_large"]:
            self._place_large(batch.runs[index], address, answer["memory_bytes"])

    def _learn(self, runs: Iterable[Planned], seconds: float) -> None:
        for workload in {planned.run.workload for planned in runs}:
            known = self._seconds.pop(workload, seconds)
            self._seconds[workload] = known + LATEST * (seconds - known)

    def _place_large(self, planned: Planned, address: str, memory_bytes: int) -> None:
        """A run that is too large for a worker goes to those that have more, if there are such."""
        need = int(planned.plan["memory_bytes"])
        try:
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
        except Exception as error:
            raise self._lost() from error
        limits = {name: worker["memory_limit"] or 0 for name, worker in workers.items()}
        larger = [name for name, limit in limits.items() if limit > memory_bytes and limit * MEMORY_SHARE >= need]
        if larger:
            self._again.append(Batch([planned], workers=larger, only_there=True))
            return
        text = f"needs about {_size(need)} of memory: the largest worker, {address}, has {_size(memory_bytes)} in all"
        self._outcomes.append(Outcome(planned, None, text))

    def _recover(self, batch: Batch, error: BaseException) -> None:
        """Retries or fails a batch that gave no answer."""
        from distributed import KilledWorker

        if getattr(error, "reason", "").startswith("scheduler-connection") or self._client.status != "running":
            raise self._lost()
        if isinstance(error, KilledWorker):
            if batch.suspect:
                worker = error.last_worker
                planned = batch.runs[0]
                text = (
                    f"{error.allowed_failures + 1} workers died under this run, at last {worker.address} with "
                    f"{_size(worker.memory_limit or 0)} of memory: the run needs about "
                    f"{_size(int(planned.plan['memory_bytes']))} and its traces"
                )
                self._outcomes.append(Outcome(planned, None, text))
            else:
                # One of them may have killed its worker, and the workers of others that stood beside it.
                self._suspects.extend(Batch([planned], suspect=True) for planned in batch.runs)
            return
        if isinstance(error, (ImportError, AttributeError)):
            raise FlashweirError(
                f"{self._on.name}: a worker can't run flashweir: {error}: expected flashweir {engine()} on every worker"
            ) from error
        batch.losses += 1
        if batch.losses > MAX_LOSSES:
            text = " ".join(f"{type(error).__name__}: {error}".split())
            raise FlashweirError(f"{self._on.name}: the cluster loses its tasks: {text}") from error
        # Its data or its worker went: try again, wherever there is a place.
        batch.workers, batch.only_there = (), False
        self._again.append(batch)


def _size(count: int) -> str:
    """Bytes as people say them."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} bytes"
