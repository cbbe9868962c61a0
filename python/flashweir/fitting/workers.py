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
from dataclasses import dataclass, replace
from typing import BinaryIO, Self

from flashweir._native import FlashweirError
from flashweir.fitting import evaluation, load
from flashweir.fitting.points import Point
from flashweir.fitting.trials import Evaluated, Task


@dataclass(frozen=True)
class Prediction:
    """Points to predict for a base with the settings of each question."""

    base: str | None
    points: tuple[Point, ...]
    capacity: int | None
    effort: load.Effort
    seed: int

    def evaluate(self, settings: Mapping[str, object]) -> Evaluated:
        """Metrics of the points, without an error."""
        candidate = evaluation.Candidate(self.base, settings)
        found = evaluation.predict(candidate, self.points, self.capacity, self.effort, self.seed)
        return Evaluated(settings, 0.0, found)


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
        return self._answers([(task, settings) for settings in drives])

    def predict(self, asked: Prediction, settings: Mapping[str, object]) -> dict[str, evaluation.Values]:
        """Metrics by the id of each point. Points don't depend on each other: the processes share them.

        Raises:
            ConfigError: a drive that can't be.
            FlashweirError: a worker ended.
        """
        count = max(1, len(self._processes))
        parts = [replace(asked, points=asked.points[at::count]) for at in range(count)]
        made = self._answers([(part, settings) for part in parts if part.points])
        return {point: values for one in made for point, values in one.predicted.items()}

    def _answers(self, questions: Sequence["Question"]) -> list[Evaluated]:
        if not self._processes:
            return [task.evaluate(settings) for task, settings in questions]
        free = list(self._processes)

        def one(question: "Question") -> Evaluated:
            process = free.pop()
            try:
                return _ask(process, question)
            finally:
                free.append(process)

        with ThreadPoolExecutor(max_workers=len(self._processes)) as pool:
            return list(pool.map(one, questions))


Question = tuple[Task | Prediction, Mapping[str, object]]


def _ask(process: "subprocess.Popen[bytes]", question: Question) -> Evaluated:
    if process.stdin is None or process.stdout is None:
        raise FlashweirError("a worker of fit has no pipes")
    try:
        pickle.dump((question[0], dict(question[1])), process.stdin)
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
