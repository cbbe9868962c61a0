"""Progress of a run: a bar on a terminal, for what takes longer than two seconds; elsewhere a line now and then."""

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TextIO

from flashweir.notices import is_quiet

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

# A run that is over sooner needs no bar.
PATIENCE_S = 2.0
# Where there is no terminal: seconds up to the first line, and between two.
FIRST_LINE_S, LINE_S = 20.0, 60.0

_LABELS = {"precondition": "preconditioning", "run": "running", "alone": "running alone", "trace": "trace"}


class ProgressBar:
    """Draws the states that work reports; a context manager that clears the bar at its end."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        # The phase, when it began in seconds, and what was done of it then.
        self._phase, self._began = "", (0.0, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, state: dict[str, Any]) -> bool:
        """Draws `state`: `phase`, `done`, `fraction` (or None), `elapsed_s`, perhaps a `note`. Never stops the work."""
        phase, done, fraction = str(state["phase"]), state["done"], state["fraction"]
        label = _LABELS.get(phase, phase)
        if "tenant" in state:
            phase, label = f"{phase} {state['tenant']}", f"{label}: {state['tenant']}"
        if phase != self._phase:
            self._began = (state["elapsed_s"], done) if self._phase else (0.0, 0)
            self._phase = phase
        if self._bar is None and state["elapsed_s"] >= PATIENCE_S:
            self._bar = _start(self._stream)
        if self._bar is None:
            return True
        if phase not in self._tasks:
            # Of many tenants only the last is drawn.
            for other in [name for name in self._tasks if "tenant" in state and name.startswith("alone ")]:
                self._bar.remove_task(self._tasks.pop(other))
            self._tasks[phase] = self._bar.add_task(label, total=None, rate="")
        seconds = state["elapsed_s"] - self._began[0]
        rate = f"{(done - self._began[1]) / seconds:,.0f}/s" if seconds > 0 else ""
        rate = state.get("note", rate)
        total = None if fraction is None else 1.0
        self._bar.update(self._tasks[phase], completed=fraction or 0.0, total=total, rate=rate)
        self._bar.refresh()
        return True


class ProgressLines:
    """The same for a log file: a line after twenty seconds, then one a minute."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._next_s = clock() + FIRST_LINE_S

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, state: dict[str, Any]) -> bool:
        """Writes `state`, if it is time for a line. Never stops the work."""
        now = self._clock()
        if now < self._next_s or is_quiet():
            return True
        self._next_s = now + LINE_S
        phase, fraction = str(state["phase"]), state["fraction"]
        parts = [
            _LABELS.get(phase, phase) + (f" {state['tenant']}" if "tenant" in state else ""),
            f"{state['done']:,} done" if fraction is None else f"{fraction:.0%}",
            state.get("note", ""),
        ]
        print(", ".join(part for part in parts if part), file=self._stream, flush=True)
        return True


def progress_on(stream: TextIO) -> ProgressBar | ProgressLines:
    """A bar where there is a terminal to draw it on, lines elsewhere."""
    return ProgressBar(stream) if stream.isatty() and not is_quiet() else ProgressLines(stream)


def bar_on_terminal() -> ProgressBar | None:
    """A bar on standard error, or None where that is no terminal."""
    return ProgressBar(sys.stderr) if sys.stderr.isatty() and not is_quiet() else None


def _start(stream: TextIO) -> "Progress":
    # Rich costs 50 ms and 10 MB, which a short run need not pay.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[rate]}"),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(file=stream),
        auto_refresh=False,
        transient=True,
    )
    bar.start()
    return bar
