"""Where traces are characterized: threads of this process, or a Dask cluster. Called from one thread."""

import concurrent.futures
import json
import os
import queue
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from flashweir import _native
from flashweir._native import FlashweirError
from flashweir.arguments import place as place_of

if TYPE_CHECKING:
    from flashweir.sweeps.deployment import Deploy

# Tasks for each thread of a cluster, so that none stands idle.
_AHEAD = 2


@dataclass(frozen=True)
class Task:
    """A trace to look at."""

    path: Path
    key: str
    settings: Mapping[str, Any]

    def spec(self, path: str | None = None) -> str:
        """Settings as the native module takes them."""
        return json.dumps({"workload": place_of(path or self.path), **self.settings})


Answer = tuple[Task, str | None, str | None]


class Place(Protocol):
    """Takes tasks and gives answers: the task, and its character as JSON text or why there is none."""

    @property
    def room(self) -> int:
        """Number of further tasks that it can take."""

    def submit(self, task: Task) -> None:
        """Takes a task; does not wait for it."""

    def collect(self, timeout_s: float) -> list[Answer]:
        """Answers that have come; waits for the first, but not beyond `timeout_s`."""

    def close(self) -> None:
        """Stops what still runs, without answers."""


class Local:
    """Threads of this process: the native module lets go of the GIL."""

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or len(os.sched_getaffinity(0))
        self._pool = concurrent.futures.ThreadPoolExecutor(self._threads)
        self._stop = threading.Event()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._under_way = 0

    @property
    def room(self) -> int:
        """As many as there are threads."""
        return self._threads - self._under_way

    def submit(self, task: Task) -> None:
        """Hands it to a thread."""
        self._under_way += 1
        self._pool.submit(self._work, task)

    def _work(self, task: Task) -> None:
        text, error = attempt(task.spec(), self._stop)
        self._answers.put((task, text, error))

    def collect(self, timeout_s: float) -> list[Answer]:
        """Those that are done."""
        found = _drain(self._answers, timeout_s)
        self._under_way -= len(found)
        return found

    def close(self) -> None:
        """A trace that is being read ends within a tenth of a second."""
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)


class OnCluster:
    """A Dask cluster; traces that its workers do not have are sent to them."""

    def __init__(self, deploy: "Deploy") -> None:
        """Connects, or starts jobs.

        Raises:
            FlashweirError: nobody answers.
        """
        from flashweir.sweeps.deployment import Quiet

        self._quiet = Quiet()
        try:
            self._on = deploy()
        except BaseException:
            self._quiet.end()
            raise
        self._futures: dict[Any, Task] = {}
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    @property
    def room(self) -> int:
        """A few for each thread of the cluster."""
        try:
            threads = sum(int(count) for count in self._on.client.nthreads().values())
        except Exception as error:
            raise self._lost() from error
        if threads == 0 and self._on.failures:
            raise FlashweirError(f"--on {self._on.name}: {self._on.failures[-1]}")
        return max(threads, 1) * _AHEAD - len(self._futures)

    def submit(self, task: Task) -> None:
        """Sends it, at first without the trace."""
        self._send(task, None)

    def _send(self, task: Task, content: bytes | None) -> None:
        client = self._on.client
        try:
            data = None if content is None else client.scatter(content, hash=False)
            place, size = str(task.path.absolute()), task.path.stat().st_size
            future = client.submit(there, engine(), place, size, task.spec(), data, pure=False)
        except OSError as error:
            raise FlashweirError(f"{task.path}: {error.strerror}") from error
        except Exception as error:
            raise self._lost() from error
        self._futures[future] = task
        future.add_done_callback(self._answers.put)

    def collect(self, timeout_s: float) -> list[Answer]:
        """Those that are done.

        Raises:
            FlashweirError: the scheduler is lost, or a worker has another version.
        """
        self._on.keep_up()
        if self._on.client.status != "running":
            raise self._lost()
        found: list[Answer] = []
        for future in _drain(self._answers, timeout_s):
            task = self._futures.pop(future, None)
            if task is None:
                continue
            try:
                answer = future.result()
            except Exception as error:  # noqa: BLE001 - a worker that died of a trace is that trace's failure
                found.append((task, None, f"on the cluster: {' '.join(str(error).split()) or type(error).__name__}"))
                continue
            if answer["engine"] != engine():
                raise FlashweirError(
                    f"{self._on.name}: a worker has flashweir {answer['engine']}, and here is {engine()}: install one"
                )
            if answer["missing"]:
                try:
                    self._send(task, task.path.read_bytes())
                except OSError as error:
                    found.append((task, None, f"{task.path}: {error.strerror}"))
                continue
            found.append((task, answer["text"], answer["error"]))
        return found

    def close(self) -> None:
        """Takes everything off the cluster."""
        try:
            self._on.client.cancel(list(self._futures), force=True)
        except Exception:  # noqa: BLE001, S110 - a scheduler that has gone has nothing to take off
            pass
        finally:
            self._on.close()
            self._quiet.end()

    def _lost(self) -> FlashweirError:
        return FlashweirError(f"{self._on.name}: the connection to the Dask scheduler is lost")


def engine() -> str:
    """Versions that must be equal everywhere."""
    return f"{_native.__version__}+{_native.__build__}"


def there(wanted: str, place: str, size: int, spec: str, content: bytes | None) -> dict[str, Any]:
    """Characterizes a trace in a worker of a cluster: the file at `place` if it has that size, or `content`."""
    answer: dict[str, Any] = {"engine": engine(), "missing": False, "text": None, "error": None}
    if wanted != answer["engine"]:
        return answer
    stop = threading.Event()
    if content is not None:
        # Under its own name, which may say its format, and which the result has.
        with tempfile.TemporaryDirectory(prefix="flashweir-") as folder:
            copy = Path(folder) / Path(place).name
            copy.write_bytes(content)
            text, error = attempt(json.dumps({**json.loads(spec), "workload": place_of(copy)}), stop)
            return {**answer, "text": text, "error": error and error.replace(str(copy), place)}
    path = Path(place)
    if not path.is_file() or path.stat().st_size != size:
        return {**answer, "missing": True}
    text, error = attempt(json.dumps({**json.loads(spec), "workload": place_of(place)}), stop)
    return {**answer, "text": text, "error": error}


def attempt(spec: str, stop: threading.Event) -> tuple[str | None, str | None]:
    """Characterizes one: its character as JSON text, or why there is none."""
    try:
        return _native.characterize(spec, lambda _: not stop.is_set()), None
    except FlashweirError as error:
        return None, str(error)
    except Exception as error:  # noqa: BLE001 - one trace's failure is not that of all
        return None, f"internal error, please report it: {type(error).__name__}: {error}"


def _drain(answers: "queue.SimpleQueue[Any]", timeout_s: float) -> list[Any]:
    found = []
    try:
        found.append(answers.get(timeout=timeout_s))
        while True:
            found.append(answers.get_nowait())
    except queue.Empty:
        pass
    return found
