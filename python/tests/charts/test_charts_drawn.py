"""Figures as files: every kind, whatever is in it."""

import functools
import os
import struct
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest
from conftest import ROOT

from flashweir import ConfigError, FlashweirError
from flashweir.charts import lettering
from flashweir.charts.drawing import _limits, draw
from flashweir.charts.layout import Sheet
from flashweir.charts.lettering import kept, number, plain, ticks
from flashweir.charts.matplotlib import write
from flashweir.charts.model import Axis, Bars, Chart, Heat, Plot, Series, Strips

HOSTILE = (
    "$x_1$",
    "<script>alert('&')</script>",
    "a\nb\tc\x00d",
    "数据库",
    "\ud800",
    "\\frac{1}{2}",
    "--> ]]>",
    "é🙂",
    "_" * 300,
)
STATES = ["host", "gc", "mapping", "waiting", "idle"]


def plot(*series: Series, x: Axis | None = None, y: Axis | None = None, **more: Any) -> Plot:
    return Plot("plot", "A plot", x or Axis("x, s"), y or Axis("y, us"), list(series), **more)


def strips(rows: int, bins: int) -> Strips:
    shares = [[[float((row + at) % 5 == state) for at in range(bins)] for row in range(rows)] for state in range(5)]
    edges = [at / 10 for at in range(bins + 1)] if bins else []
    return Strips("strips", "Strips", Axis("time, s"), [f"channel {row}" for row in range(rows)], edges, STATES, shares)


LOG = Axis("log", "log")
KINDS: dict[str, Chart] = {
    "lines": plot(Series("a", [1, 2, 3], [1, 4, 9]), Series("b", [1, 2, 3], [2, 3, 4]), note="A note. " * 40),
    "intervals": plot(Series("a", [1, 2], [5, 6], [4, None], [6, None])),
    "band": plot(Series("a", range(100), range(100), range(-5, 95), range(5, 105))),
    "interval below zero on a log axis": plot(Series("a", [1, 2], [5, 6], [-4, 1], [14, 11]), y=LOG),
    "steps": plot(Series("", [1, 10, 100], [0.1, 0.5, 1], style="steps"), x=LOG),
    "points": plot(Series("a", [1, 2], [3, 4], labels=["first", "second"], style="points")),
    "many labels": plot(Series("a", range(50), range(50), labels=["x"] * 50, style="points")),
    "gaps": plot(Series("a", [1, 2, 3, 4], [None, 2, None, 4])),
    "only gaps": plot(Series("a", [1, 2], [None, None]), y=LOG),
    "one point": plot(Series("a", [5], [7], [7], [7]), x=LOG, y=LOG),
    "no series": plot(),
    "empty series": plot(Series("a", [], []), x=LOG, y=LOG),
    "constant on log": plot(Series("a", [1, 2, 3], [5, 5, 5]), y=LOG),
    "zero on log": plot(Series("a", [0, 1, 2], [0, 5, 0]), x=LOG, y=LOG),
    "only zero on log": plot(Series("a", [0], [0]), x=LOG, y=LOG),
    "huge and tiny": plot(Series("a", [1e-9, 1e12], [1e-12, 1e15]), x=LOG, y=LOG),
    "negative": plot(Series("a", [-5, 5], [-1e6, 1e6])),
    "infinite": plot(Series("a", [1, 2, 3], [1, float("inf"), float("nan")])),
    "crowded ticks": plot(Series("a", [0, 1], [0, 1]), x=Axis("x", ticks=[(n / 99, f"tick {n}") for n in range(100)])),
    "categories": plot(Series("a", ["x", "y"], [1, 2]), Series("b", ["y", "z"], [1, None]), x=Axis("n", "category")),
    "many categories": plot(Series("a", [f"a long name {n}" for n in range(99)], range(99)), x=Axis("n", "category")),
    "twenty curves": plot(*(Series(f"curve number {n}", [1, 2], [n, n + 1]) for n in range(20))),
    "warm-up": plot(Series("a", [1, 2, 3], [1, 2, 3]), Series("warm-up ends", [2, 2], [1, 3])),
    "hostile": plot(
        *(Series(name, [1, 2], [1, 2]) for name in HOSTILE), x=Axis(HOSTILE[0]), y=Axis(HOSTILE[1]), note=HOSTILE[2]
    ),
    "hostile categories": plot(
        Series(HOSTILE[3], HOSTILE, range(len(HOSTILE)), labels=HOSTILE), x=Axis("$", "category")
    ),
    "bars": Bars("bars", "Bars", Axis("share"), ["a", "b"], [("host", [0.5, 0.2]), ("idle", [0.5, 0.8])]),
    "one part": Bars("bars", "Bars", Axis("IOPS"), ["a", "b"], [("IOPS", [1000.0, 0.0])]),
    "hostile bars": Bars("bars", HOSTILE[1], Axis(HOSTILE[0]), HOSTILE, [(HOSTILE[3], [1.0] * len(HOSTILE))]),
    "no bars": Bars("bars", "Bars", Axis("share"), [], [("host", [])]),
    "zero bars": Bars("bars", "Bars", Axis("share"), ["a"], [("host", [0.0])]),
    "300 bars": Bars("bars", "Bars", Axis("share"), [f"run {n}" for n in range(300)], [("host", [1.0] * 300)]),
    "heat": Heat("heat", "Heat", Axis("x"), Axis("y"), ["a", "b"], ["c"], [[1.0, None]], "IOPS"),
    "wide heat": Heat("heat", "Heat", Axis("x"), Axis("y"), ["a", "b"], ["c"], [[0.001, 1e9]], "IOPS"),
    "constant heat": Heat("heat", "Heat", Axis("x"), Axis("y"), ["a"], ["c"], [[0.0]], "IOPS"),
    "empty heat": Heat("heat", "Heat", Axis("x"), Axis("y"), ["a"], ["c"], [[None]], "IOPS"),
    "no heat": Heat("heat", "Heat", Axis("x"), Axis("y"), [], [], [], "IOPS"),
    "hostile heat": Heat(
        "heat", HOSTILE[0], Axis(HOSTILE[1]), Axis(HOSTILE[2]), HOSTILE, HOSTILE,
        [[1.0] * len(HOSTILE)] * len(HOSTILE), HOSTILE[3]
    ),
    "large heat": Heat(
        "heat", "Heat", Axis("x"), Axis("y"), [str(n) for n in range(80)], [str(n) for n in range(80)],
        [[float(a * b) for a in range(80)] for b in range(80)], ""
    ),
    "strips": strips(4, 30),
    "many strips": strips(64, 200),
    "one bin": strips(1, 1),
    "no bins": strips(2, 0),
    "no rows": strips(0, 5),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_every_kind_is_drawn_the_same_each_time(kind: str, suffix: str, tmp_path: Path) -> None:
    first, second = tmp_path / f"1.{suffix}", tmp_path / f"2.{suffix}"
    if suffix == "svg":
        first.write_bytes(svg_of(kind))
        write(KINDS[kind], second)
    else:
        for path in (first, second):
            write(KINDS[kind], path, dpi=60)
    assert first.read_bytes() == second.read_bytes()
    assert len(list(tmp_path.iterdir())) == 2
    if suffix == "svg":
        texts = svg_texts(first)
        assert not any("script" in element.tag for element in ET.parse(first).iter())  # noqa: S314 - our own file
        if kind == "hostile":
            assert {"$x_1$", "<script>alert('&')</script>", "\\frac{1}{2}", "--> ]]>"} <= set(texts)
        if kind == "no series":
            assert "no data" in texts
    else:
        width, _ = png_size(first)
        assert width == 420


@functools.cache
def svg_of(kind: str) -> bytes:
    """A kind as SVG: drawn once for all tests that look at it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.svg"
        write(KINDS[kind], path)
        return path.read_bytes()


def svg_texts(path: Path) -> list[str]:
    root = ET.parse(path).getroot()  # noqa: S314 - our own file
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


def png_size(path: Path) -> tuple[int, int]:
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", head[16:24])
    return int(width), int(height)


def test_sizes_are_those_asked_for(tmp_path: Path) -> None:
    write(KINDS["lines"], tmp_path / "a.png", width_in=5, height_in=4, dpi=100)
    assert png_size(tmp_path / "a.png") == (500, 400)
    write(KINDS["lines"], tmp_path / "a.svg", width_in=5, height_in=4)
    root = ET.parse(tmp_path / "a.svg").getroot()  # noqa: S314 - our own file
    assert (root.get("width"), root.get("height")) == ("360pt", "288pt")


def test_no_text_is_smaller_than_eight_points_or_lies_outside() -> None:
    for name in KINDS:
        for element in ET.fromstring(svg_of(name)).iter("{http://www.w3.org/2000/svg}text"):  # noqa: S314
            style = dict(part.split(": ", 1) for part in (element.get("style") or "").split("; "))
            assert float(style["font-size"].removesuffix("px")) >= 8, name
            if element.get("x"):
                assert -1 <= float(element.get("x") or 0) <= 7 * 72 + 1, (name, element.text)


def test_a_million_points_make_a_small_file(tmp_path: Path) -> None:
    count = 1_000_000
    write(plot(Series("a", range(count), [float(at % 1000) for at in range(count)])), tmp_path / "a.svg")
    assert (tmp_path / "a.svg").stat().st_size < 100_000


def test_threads_may_draw_at_once(tmp_path: Path) -> None:
    charts = [KINDS[name] for name in ("lines", "bars", "heat", "strips")] * 4
    with ThreadPoolExecutor(4) as pool:
        paths = [tmp_path / f"{place}.svg" for place in range(len(charts))]
        list(pool.map(write, charts, paths))
    for place in range(4, len(charts)):
        assert paths[place].read_bytes() == paths[place % 4].read_bytes()


def test_settings_of_matplotlib_are_neither_used_nor_changed(tmp_path: Path) -> None:
    write(KINDS["points"], tmp_path / "plain.svg")
    changed = {"text.usetex": True, "font.size": 30, "svg.fonttype": "path", "text.color": "red", "axes.labelsize": 40}
    before = {name: mpl.rcParams[name] for name in changed}
    try:
        mpl.rcParams.update(changed)
        everything = dict(mpl.rcParams)
        write(KINDS["points"], tmp_path / "changed.svg")
        assert dict(mpl.rcParams) == everything
    finally:
        mpl.rcParams.update(before)
    assert (tmp_path / "changed.svg").read_bytes() == (tmp_path / "plain.svg").read_bytes()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a.jpg", {}, "expected a name that ends so"),
        ("a", {}, "expected a name that ends so"),
        ("missing/a.png", {}, "there is no folder"),
        ("a.png", {"width_in": 0}, "expected 2 to 60 inches"),
        ("a.png", {"height_in": float("nan")}, "expected 2 to 60 inches"),
        ("a.png", {"dpi": 0}, "expected a positive number"),
        ("a.png", {"dpi": 1e9}, "expected a positive number"),
    ],
)
def test_bad_input_is_one_line(name: str, options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        write(KINDS["lines"], tmp_path / name, **options)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(FlashweirError, match="can't be written"):
        write(KINDS["lines"], tmp_path / f"{'n' * 250}.png")


SCRIPT = """
import sys
from flashweir.charts.matplotlib import write
from flashweir.charts.model import Axis, Bars
assert "matplotlib" not in sys.modules
write(Bars("bars", "租户", Axis("share"), ["a"], [("host", [0.5])]), sys.argv[1])
"""


def test_without_home_or_display_nothing_is_said(tmp_path: Path) -> None:
    kept_variables = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "LANG")}
    environment = {**kept_variables, "HOME": "/proc/nowhere", "MPLCONFIGDIR": "/proc/nowhere", "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, "figure.png"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert png_size(tmp_path / "figure.png")[0] == 1400


def test_what_no_font_has_is_written_as_its_code() -> None:
    assert plain("a\nb\t c") == "a b c"
    assert plain("a\x00b\x01") == "a[U+0000]b[U+0001]"
    assert plain("\ud800") == "[U+D800]"
    assert plain("µs, é, Ω") == "µs, é, Ω"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plain("数") in ("数", "[U+6570]")


def test_a_font_that_has_a_character_draws_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Comes with matplotlib, and has a script letter that the usual font lacks.
    monkeypatch.setattr(lettering, "_FALLBACKS", ("STIXGeneral",))
    lettering._fallbacks.cache_clear()
    try:
        letter = chr(min(lettering._coverage("STIXGeneral") - lettering._coverage("DejaVu Sans")))
        assert plain(letter) == letter
        write(plot(Series(f"a {letter}", [1], [1])), tmp_path / "a.svg")
        write(plot(Series(f"a {letter}", [1], [1])), tmp_path / "a.png")
        assert f"a {letter}" in svg_texts(tmp_path / "a.svg")
    finally:
        lettering._fallbacks.cache_clear()


def test_numbers_are_short() -> None:
    given = [0, 0.25, 12.5, 1000, 9999.5, 10_000, 250_000, 2.5e6, 1e9, 1e12, 1e18, -4e4, 1e-5, 0.001]
    expected = [
        "0",
        "0.25",
        "12.5",
        "1,000",
        "9,999.5",
        "10k",
        "250k",
        "2.5M",
        "1G",
        "1T",
        "1e+18",
        "-40k",
        "1e-5",
        "0.001",
    ]
    assert [number(value) for value in given] == expected


def test_ticks_are_round_and_few() -> None:
    assert ticks(0, 1, log=False) == [(0.0, "0"), (0.2, "0.2"), (0.4, "0.4"), (0.6, "0.6"), (0.8, "0.8"), (1.0, "1")]
    assert [label for _, label in ticks(1, 1e6, log=True)] == ["1", "10", "100", "1,000", "10k", "100k", "1M"]
    assert 3 <= len(ticks(100, 400, log=True)) <= 8
    assert len(ticks(1e-9, 1e15, log=True)) <= 8
    narrow = ticks(123_456_700, 123_456_800, log=False)
    assert len({label for _, label in narrow}) == len(narrow)
    assert kept([0, 1, 2, 10], [4, 4, 4, 4], 0.5) == [0, 3]


def test_importing_the_figures_costs_little() -> None:
    code = "import sys, flashweir.charts.from_result, flashweir.charts.from_sweep, flashweir.charts.matplotlib\n"
    code += "print({'matplotlib', 'numpy', 'scipy', 'polars', 'plotly'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True
    )
    assert done.stdout == "set()\n"


def test_long_names_in_the_legend_of_a_file_stay_different(tmp_path: Path) -> None:
    names = [f"workload={'w' * 60}, allocation.mode={mode}, mapping.cache={'m' * 60}" for mode in (0, 1, 2)]
    write(plot(*(Series(name, [1, 2], [1, 2]) for name in names)), tmp_path / "a.svg", width_in=5)
    source = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert all(f"allocation.mode={mode}" in source for mode in (0, 1, 2))


def test_axes_from_zero_begin_there() -> None:
    assert _limits([0.0, 0.0], log=False, floor=True)[0] == pytest.approx(0.0, abs=0.02)
    sheet = Sheet(KINDS["lines"], 5, 100)
    draw(plot(Series("a", [1, 2], [500, 510]), y=Axis("pages", from_zero=True)), sheet)
    assert -20 < sheet.axes.get_ylim()[0] <= 0
