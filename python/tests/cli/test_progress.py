"""The progress bar, drawn on a terminal that is only a string."""

import io
from typing import Any

import pytest

from flashweir.progress import ProgressBar, ProgressLines, bar_on_terminal, progress_on


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def drawn(states: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    terminal = Terminal()
    with ProgressBar(terminal) as bar:
        for state in states:
            assert bar.update(state)
    return terminal.getvalue()


def state(elapsed_s: float, done: int, phase: str = "run", total: int | None = 100_000) -> dict[str, Any]:
    fraction = None if total is None else done / total
    return {"phase": phase, "done": done, "total": total, "fraction": fraction, "elapsed_s": elapsed_s}


def test_what_is_quick_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn([state(0.1, 5), state(1.9, 50_000)], monkeypatch) == ""


def test_what_is_slow_is_drawn_with_its_phases(monkeypatch: pytest.MonkeyPatch) -> None:
    text = drawn([state(2.5, 10_000, "precondition"), state(3.0, 50_000), state(3.1, 60_000)], monkeypatch)
    assert "preconditioning" in text
    assert "running" in text
    assert "60%" in text
    assert "left" in text


def test_unknown_totals_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "running" in drawn([state(2.5, 10, total=None), state(2.6, 20, total=None)], monkeypatch)


def test_a_note_stands_in_place_of_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    text = drawn([{**state(3.0, 5, "drives", 100), "note": "lowest error 0.120"}], monkeypatch)
    assert "drives" in text
    assert "lowest error 0.120" in text
    assert "/s" not in text


def test_there_is_no_bar_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert bar_on_terminal() is None
    monkeypatch.setattr("sys.stderr", Terminal())
    assert bar_on_terminal() is not None
    assert isinstance(progress_on(Terminal()), ProgressBar)
    assert isinstance(progress_on(io.StringIO()), ProgressLines)


def test_without_a_terminal_lines_are_written_now_and_then() -> None:
    stream, now = io.StringIO(), [100.0]
    with ProgressLines(stream, lambda: now[0]) as lines:
        for now[0], done in ((119.9, 10_000), (120.0, 20_000), (179.9, 30_000), (180.0, 40_000)):
            assert lines.update({**state(0.1, done), "note": "seed 1 of 3, stretch 2"})
        now[0] = 240.0
        assert lines.update(state(0.1, 70, "alone", None) | {"tenant": "a"})
    assert stream.getvalue().splitlines() == [
        "running, 20%, seed 1 of 3, stretch 2",
        "running, 40%, seed 1 of 3, stretch 2",
        "running alone a, 70 done",
    ]
