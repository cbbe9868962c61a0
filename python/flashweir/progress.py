"""The progress bar: on a terminal only, and only for what takes longer than two seconds."""

import sys
from typing import TYPE_CHECKING, Any, Self, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

# A run that is over sooner needs no bar.
PATIENCE_S = 2.0

_LABELS = {"precondition": "preconditioning", "run": "running"}


class ProgressBar:
    """Draws the states that a run reports; a context manager that clears the bar at its end."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, state: dict[str, Any]) -> bool:
        """Draws `state`: `phase`, `done`, `total` (or None) and `elapsed_s`. Never stops the run."""
        if self._bar is None and state["elapsed_s"] >= PATIENCE_S:
            self._bar = _start(self._stream)
        if self._bar is None:
            return True
        phase = str(state["phase"])
        if phase not in self._tasks:
            self._tasks[phase] = self._bar.add_task(_LABELS.get(phase, phase), total=None)
        self._bar.update(self._tasks[phase], completed=state["done"], total=state["total"])
        self._bar.refresh()
        return True


def bar_on_terminal() -> ProgressBar | None:
    """A bar on standard error, or None where that is no terminal."""
    return ProgressBar(sys.stderr) if sys.stderr.isatty() else None


def _start(stream: TextIO) -> "Progress":
    # Rich costs 50 ms and 10 MB, which a short run need not pay.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        """Requests a second, so far."""

        def render(self, task: Task) -> Text:
            return Text("" if task.speed is None else f"{task.speed:,.0f}/s")

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f}%"),
        Rate(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(file=stream),
        auto_refresh=False,
        transient=True,
    )
    bar.start()
    return bar
