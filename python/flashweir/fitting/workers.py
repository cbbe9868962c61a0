"""Evaluations in processes of their own: the host of a load is Python, so that threads take turns.

A worker is started by name and not as a copy of its parent, so that a script that calls `fit` needs no guard.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO, Self

from flashweir._native import FlashweirError
from flashweir.fitting.trials import Evaluated, Task


class Workers:
    """As many processes as there are cores for this one; with one core the evaluations are made here."""

    def __init__(self) -> None:
        count = len(os.sched_getaffinity(0))
        self._processes: list[subprocess.Popen[bytes]] = []
        if count > 1:
            command = [sys.executable, "-m", "flashweir.fitting.workers"]
            paths = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
            pipe = subprocess.PIPE
            self._processes = [
                subprocess.Popen(command, stdin=pipe, stdout=pipe, env=paths)  # noqa: S603 - our own module
                for _ in range(count)
            ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()
            process.wait()

    def evaluate(self, task: Task, drives: Sequence[Mapping[str, object]]) -> list[Evaluated]:
        """Evaluations in the order of the drives.

        Raises:
            FlashweirError: a worker ended.
        """
        if not self._processes:
            return [task.evaluate(settings) for settings in drives]
        free = list(self._processes)

        def one(settings: Mapping[str, object]) -> Evaluated:
            process = free.pop()
            try:
                return _ask(process, task, settings)
            finally:
                free.append(process)

        with ThreadPoolExecutor(max_workers=len(self._processes)) as pool:
            return list(pool.map(one, drives))


def _ask(process: "subprocess.Popen[bytes]", task: Task, settings: Mapping[str, object]) -> Evaluated:
    if process.stdin is None or process.stdout is None:
        raise FlashweirError("a worker of fit has no pipes")
    try:
        pickle.dump((task, dict(settings)), process.stdin)
        process.stdin.flush()
        answer = pickle.load(process.stdout)  # noqa: S301 - from our own process
    except (OSError, EOFError) as error:
        raise FlashweirError(f"a worker of fit ended with status {process.poll()}") from error
    if isinstance(answer, BaseException):
        raise answer
    found: Evaluated = answer
    return found


def _work(questions: BinaryIO, answers: BinaryIO) -> None:
    """Answers until there are no more questions."""
    while True:
        try:
            task, settings = pickle.load(questions)  # noqa: S301 - from our own parent
        except EOFError:
            return
        try:
            answer: object = task.evaluate(settings)
        except Exception as error:  # noqa: BLE001 - the parent raises it
            answer = error
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    # The parent answers an interrupt.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A parent that was killed reads no answers: the first one for it ends the worker, without a traceback.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    _work(sys.stdin.buffer, sys.stdout.buffer)
