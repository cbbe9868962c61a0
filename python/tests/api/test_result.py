"""Display of results: in a notebook, on a terminal, and with hostile or odd contents."""

import copy
import io
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from conftest import QUICK, SMALL_DRIVE
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from flashweir import FlashweirError, Result, Section, TraceError, simulate
from flashweir.summary import print_fields, print_paragraphs, print_result

HOSTILE = "<script>alert(1)</script>&\"'[bold]x[/bold]"
RESULT: dict[str, Any] = {
    "requests": 12,
    "simulated_s": 0.5,
    "wall_s": 0.01,
    "iops": 24.0,
    "bandwidth_mib_s": 0.1,
    "latency_us": {"read": {"mean": 1.5, "p99": 2.0, "max": 123_456.7}},
    "write_amplification": 1.25,
    "flash": {"reads": 1, "programs": 2, "erases": 3},
    "time_share": {"host": 0.25, "gc": 0.0, "mapping": 0.0, "idle": 0.75},
    "geometry": {"logical_pages": 100, "physical_pages": 110, "units": 1},
    "config": {"name": HOSTILE},
}


def printed(show: Any, *args: Any, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    show(*args, Console(file=stream, width=80))
    stream.flush()
    return raw.getvalue().decode()


def test_results_are_copied_pickled_and_compared() -> None:
    result = simulate(QUICK, set=SMALL_DRIVE)
    for other in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):  # noqa: S301
        assert type(other) is Result
        assert other == result == other.to_dict()
        assert other.latency_us == result.latency_us
    again = simulate(QUICK, set=SMALL_DRIVE)
    assert again["wall_s"] != result["wall_s"]
    assert again == result
    assert again != simulate(QUICK, set=SMALL_DRIVE, seed=2)
    assert result != "text"
    assert copy.deepcopy(result.flash) == result["flash"] == result["flash"].to_dict()


def test_the_log_of_requests_goes_with_copies_and_ends_with_the_last(tmp_path: Path) -> None:
    result = simulate(QUICK, set=SMALL_DRIVE, requests=True)
    assert result._log is not None
    place, twin, pickled = result._log.path, copy.copy(result), pickle.dumps(result)
    frame = result.requests
    del result
    assert place.exists()
    assert twin.requests.equals(frame)
    del twin
    assert not place.exists()
    assert pickle.loads(pickled).requests.equals(frame)  # noqa: S301
    kept = simulate(QUICK, set=SMALL_DRIVE, requests=tmp_path / "log.parquet")
    assert pickle.loads(pickle.dumps(kept)).requests.equals(frame)  # noqa: S301
    del kept
    assert (tmp_path / "log.parquet").exists()


def test_errors_go_through_processes() -> None:
    with pytest.raises(TraceError) as raised:
        simulate("nowhere.csv")
    again = pickle.loads(pickle.dumps(raised.value))  # noqa: S301
    assert (type(again), str(again)) == (TraceError, str(raised.value))
    assert FlashweirError.__module__ == "flashweir._native"


def test_html_is_escaped() -> None:
    html = Result(json.dumps(RESULT))._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "write amplification" in html


def test_repr_names_the_headlines() -> None:
    assert "write amplification 1.2500" in repr(Result(json.dumps(RESULT)))


def test_summary_of_a_result_with_odd_names_prints_them_as_they_are() -> None:
    odd = RESULT | {"latency_us": {"[red]x": {"mean": 1.0}}}
    assert "[red]x" in printed(print_result, Result(json.dumps(odd)))


def test_summary_without_latencies_or_writes() -> None:
    bare = RESULT | {"latency_us": {}, "write_amplification": None, "iops": None}
    assert "12 requests" in printed(print_result, Result(json.dumps(bare)))


def test_bars_are_plain_where_the_terminal_is() -> None:
    assert "#" * 30 in printed(print_result, Result(json.dumps(RESULT)), encoding="ascii")
    assert "█" * 30 in printed(print_result, Result(json.dumps(RESULT)))


def test_fields_and_rows_are_printed_unmarked() -> None:
    text = printed(print_fields, {"a": HOSTILE, "nested": {"yes": True, "none": None, "list": [1, 2000]}})
    assert HOSTILE in text
    assert "1, 2,000" in text
    rows = printed(print_paragraphs, [("[bold]n", "word " * 40), ("m", "")])
    assert rows.startswith("[bold]n  word word")
    assert all(len(line) <= 80 for line in rows.splitlines())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_sections_hold_any_object_and_print_it(values: dict[str, Any]) -> None:
    section = Section(values)
    assert section.to_dict() == values
    for key, value in values.items():
        found = section[key]
        assert (found.to_dict() if isinstance(found, Section) else found) == value
    printed(print_fields, values)
