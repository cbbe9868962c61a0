"""Output of `flashweir sweep` on a terminal: progress while it runs, an estimate before."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TextIO

from flashweir.notices import is_quiet
from flashweir.sweeps.runner import State

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from flashweir.sweeps.frame import SweepFrame
    from flashweir.sweeps.spec import SweepSpec

# Between two lines of progress where there is no terminal.
LINE_S = 60.0
# Nobody reads more rows than these on a terminal.
MAX_SETTINGS = 60
# Reasons of refused points that a dry run prints.
MAX_REASONS = 5
_KINDS = (("least", "at least"), ("median", "median"), ("most", "at most"))


class SweepBar:
    """A bar with rate, time left and failures; a context manager that clears it at the end."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, state: State) -> bool:
        """Draws `state`. Never stops the sweep."""
        done = state.ready + state.done
        if self._bar is None:
            self._bar = self._start(state.total)
        self._bar.update(self._bar.task_ids[0], completed=done, rate=describe(state))
        self._bar.refresh()
        return True

    def _start(self, total: int) -> "Progress":
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        bar = Progress(
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} runs"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[rate]}"),
            console=Console(file=self._stream),
            auto_refresh=False,
            transient=True,
        )
        bar.add_task("", total=total, rate="")
        bar.start()
        return bar


class SweepLines:
    """The same for a log file: a line a minute."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._said_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, state: State) -> bool:
        """Writes `state`, if the last line is a minute old. Never stops the sweep."""
        if state.elapsed_s - self._said_s >= LINE_S and not is_quiet():
            self._said_s = state.elapsed_s
            done = state.ready + state.done
            words = ", ".join(part for part in (f"{done:,} of {state.total:,} runs", describe(state)) if part)
            print(words, file=self._stream, flush=True)
        return True


def progress_on(stream: TextIO) -> SweepBar | SweepLines:
    """A bar where there is a terminal to draw it on, lines elsewhere."""
    return SweepBar(stream) if stream.isatty() and not is_quiet() else SweepLines(stream)


def describe(state: State) -> str:
    """Rate, time left and failures in words."""
    parts = []
    if state.rate is not None and state.left_s is not None:
        rate = f"{state.rate:,.0f} a second" if state.rate >= 10 else f"{state.rate * 60:,.1f} a minute"  # noqa: PLR2004
        parts += [rate, f"{duration(state.left_s)} left"]
    if state.failed:
        parts.append(f"{state.failed:,} failed")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """A time as people say it: 3.2 s, 4 min 10 s, 2 h 5 min, 3 days 4 h."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.3g} s"
    units = (("days", 86400), ("h", 3600), ("min", 60), ("s", 1))
    rank = next(rank for rank, (_, size) in enumerate(units) if seconds >= size)
    (large, size), (small, part) = units[rank], units[rank + 1]
    count, rest = divmod(round(seconds), size)
    return f"{count} {large} {rest // part} {small}"


def print_counts(spec: "SweepSpec", console: "Console") -> None:
    """Prints how many runs a sweep has, at once."""
    from flashweir.sweeps.points import count_points, count_runs

    console.print(
        f"{spec.name}: {count_points(spec):,} points, {count_runs(spec):,} runs", highlight=False, markup=False
    )
    console.file.flush()


def print_estimate(estimate: Mapping[str, Any], console: "Console") -> None:
    """Prints what a dry run found, after its counts."""

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    about = ""
    if estimate["planned_points"] < estimate["points"]:
        about = "about "
        say(f"estimated from {estimate['planned_points']:,} points, drawn at random")
    refusals = sorted(estimate["refusals"].items(), key=lambda item: -item[1])
    for reason, count in refusals[:MAX_REASONS]:
        say(f"  {about}{count:,} refused: {reason}")
    if rest := refusals[MAX_REASONS:]:
        say(f"  {about}{sum(count for _, count in rest):,} refused for {len(rest):,} other reasons (--json has them)")
    if estimate["reused"]:
        say(f"  {about}{estimate['reused']:,} reused, {estimate['runs'] - estimate['reused']:,} left")
    if estimate["memory_bytes"] is not None:
        if estimate["run_s"] is not None:
            say("time a run:   " + ", ".join(f"{word} {duration(estimate['run_s'][kind])}" for kind, word in _KINDS))
        memory = estimate["memory_bytes"]
        say("memory a run: " + ", ".join(f"{word} {memory[kind] / (1 << 20):,.0f} MiB" for kind, word in _KINDS))
    if estimate["total_s"] is not None:
        say(f"all of it:    about {duration(estimate['total_s'])}, {estimate['threads']} at a time")


def print_frame(frame: "SweepFrame", console: "Console") -> None:
    """Prints what came out of a sweep: a row a setting, the comparison that was asked for, and where it all is."""
    from flashweir.tables import print_comparison, print_summary

    meta = frame.meta or {}
    failed = frame["error"].is_not_null().sum()
    settings = meta.get("points", 0)
    if failed < frame.height and settings <= MAX_SETTINGS:
        print_summary(frame.summary(), console, pooled=frame.pooled)
        if meta.get("compare"):
            print_comparison(frame.compare(), console)
    text = f"{meta.get('name', 'sweep')}: {frame.height:,} runs, {failed:,} failed, in {frame.directory}"
    if settings > MAX_SETTINGS:
        text += f"; {settings:,} settings: flashweir report shows them"
    console.print(text, highlight=False, markup=False, soft_wrap=True)
