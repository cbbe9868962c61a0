"""A sweep as people see it: its frame and its progress."""

import io

import polars as pl
import pytest
from test_sweep import GRID

from flashweir import ConfigError
from flashweir.sweeps import sweep
from flashweir.sweeps.frame import SweepFrame
from flashweir.sweeps.runner import State
from flashweir.sweeps.terminal import duration, progress_on


def test_a_frame_shows_itself() -> None:
    frame = sweep({**GRID, "name": "<b>grid</b>"})
    html = frame._repr_html_()
    assert "12 of 12 runs" in html
    assert "&lt;b&gt;grid" in html
    assert frame.axes == ["gc.victim", "op_ratio"]
    smaller = frame.filter(pl.col("op_ratio") == 0.1)
    assert type(smaller) is pl.DataFrame
    with pytest.raises(ConfigError, match="no directory"):
        next(SweepFrame(smaller).results())


class Terminal(io.StringIO):
    """A stream that says it is a terminal, or not."""

    def __init__(self, answer: bool) -> None:
        super().__init__()
        self._answer = answer

    def isatty(self) -> bool:
        return self._answer


def test_progress_is_a_bar_on_a_terminal_and_a_line_a_minute_elsewhere() -> None:
    states = [State(1000, done=done, failed=done // 100, elapsed_s=done * 0.5) for done in range(0, 600, 10)]
    for answer in (True, False):
        stream = Terminal(answer)
        with progress_on(stream) as shown:
            assert all(shown.update(state) for state in states)
        text = stream.getvalue()
        if answer:
            assert "590 of 1,000 runs" in text
        else:
            assert text.splitlines()[0] == "120 of 1,000 runs, 120.0 a minute, 7 min 20 s left, 1 failed"
            assert len(text.splitlines()) == 4


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0123, "12.3 ms"), (3.21, "3.21 s"), (61, "1 min 1 s"), (7260, "2 h 1 min"), (200_000, "2 days 7 h")],
)
def test_durations_in_words(seconds: float, text: str) -> None:
    assert duration(seconds) == text
