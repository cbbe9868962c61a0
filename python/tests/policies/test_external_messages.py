"""Wrong answers, exits and exceptions of policies in Python: a line with the key, the answer and what was expected."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_external import BURSTS, DRIVE, WRITES, fails, oldest

import flashweir
from flashweir import ConfigError, Drive, FlashweirError, simulate
from flashweir.external import VictimView

TOGETHER = {"gc.planner_together": True, "buffer.bytes": "256KiB"}
IDLE = {"host.mode": "open", "buffer.bytes": "64KiB"}


class Clears:
    """An answer whose text clears the screen of a terminal."""

    def __repr__(self) -> str:
        return "\x1b[2J"


def planner(answer: Callable[[Any], Any]) -> dict[str, Any]:
    return {"gc.planner": answer, **TOGETHER}


ANSWERS: dict[str, tuple[dict[str, Any], str]] = {
    "a mask": (
        planner(lambda view: view.under_way),
        "gc.planner: TypeError: an array of bool of shape (4,): expected numbers of units, as a list or an array",
    ),
    "floats": (
        planner(lambda view: view.spare_blocks * 0.5),
        "gc.planner: TypeError: an array of float64 of shape (4,): expected numbers of units, as a list",
    ),
    "a column": (
        planner(lambda _: np.array([[0], [1]])),
        "gc.planner: TypeError: an array of int64 of shape (2, 1): expected numbers of units, as a list",
    ),
    "a masked array": (
        planner(lambda _: np.ma.masked_array([0, 1], [True, False])),
        "gc.planner: TypeError: an array of int64 of shape (2,): expected numbers of units",
    ),
    "a large unit": (
        planner(lambda _: np.array([2**63 + 1], np.uint64)),
        "gc.planner: ValueError: 9223372036854775809: expected numbers of units",
    ),
    "a unit beyond 32 bits": (planner(lambda _: [2**40]), "gc.planner: ValueError: 1099511627776: expected numbers of"),
    "a negative unit": (planner(lambda _: np.array([0, -3])), "gc.planner: ValueError: -3: expected numbers of units"),
    "a text": (planner(lambda _: "01"), "gc.planner: TypeError: '01': expected numbers of units"),
    "a list as work": (
        {"background.kind": lambda _: [(0, ["collect"])], **IDLE},
        "background.kind: TypeError: (0, ['collect']): expected (unit, work) or (unit, work, 'should'), with work",
    ),
    "a step and no list of them": (
        {"background.kind": lambda _: (0, ["collect"]), **IDLE},
        "background.kind: TypeError: 0: expected (unit, work) or",
    ),
    "an array as urgency": (
        {"background.kind": lambda _: [(0, "collect", np.array(["should", "x"]))], **IDLE},
        "background.kind: TypeError: (0, 'collect', array(",
    ),
    "a unit of background": (
        {"background.kind": lambda _: [(2**40, "collect")], **IDLE},
        "background.kind: ValueError: 1099511627776: expected the number of a unit",
    ),
    "a step twice": (
        {"background.kind": lambda _: [(1, "collect"), (0, "collect", "should"), (np.int64(1), "collect")], **IDLE},
        "background.kind: ValueError: (1, 'collect') twice: expected each step once",
    ),
    "a more urgent step twice": (
        {"background.kind": lambda _: [(1, "collect"), (1, "collect", "should"), (1, "collect", "should")], **IDLE},
        "background.kind: ValueError: (1, 'collect', 'should') twice: expected each step once",
    ),
    "a step with control characters": (
        {"background.kind": lambda _: Clears(), **IDLE},
        r"background.kind: TypeError: \x1b[2J: expected steps",
    ),
    "other keys": (
        {"background.kind": lambda _: {"steps": [], 3: 1, "x": 2}, **IDLE},
        "background.kind: TypeError: 3: expected steps, ask_again_ns, ask_spare_below, ask_idle_ns",
    ),
    "an array of blocks": (
        {"gc.victim": lambda view: view.blocks[:1]},
        "gc.victim: TypeError: an array of uint32 of shape (1,): expected the number of a block, or None",
    ),
    "a large block": (
        {"gc.victim": lambda _: 2**40},
        "gc.victim: ValueError: 1099511627776: expected the number of a block, or None",
    ),
    "an array of answers": (
        {"buffer.destage": lambda _: np.array([True, False]), **IDLE},
        "buffer.destage: TypeError: an array of bool of shape (2,): expected True, False, or a time in ns",
    ),
    "a long answer": (
        {"gc.victim": lambda _: ["long"] * 100},
        "gc.victim: TypeError: ['long', 'long', 'long', 'long', 'long', 'long', 'long', ...: expected the number",
    ),
    "a group": (
        {"ftl.classifier": lambda view: [2**40] * len(view.pages), "op_ratio": 0.5},
        "ftl.classifier: ValueError: 1099511627776: expected the number of a group",
    ),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_a_wrong_answer_is_shown_with_what_was_expected(case: str) -> None:
    settings, begins = ANSWERS[case]
    with pytest.raises(FlashweirError) as caught:
        simulate(BURSTS, set={**DRIVE, **settings})
    line = str(caught.value)
    assert line.startswith(begins)
    assert "\n" not in line


def test_a_victim_that_frees_nothing_is_the_fault_of_its_policy() -> None:
    expected = r": expected one with stale pages, such as block \d+ \(\d+ of \d+ valid\)$"
    with pytest.raises(FlashweirError, match=r"^gc\.victim: None, no block of unit \d" + expected):
        simulate(WRITES, set={**DRIVE, "gc.victim": lambda _: None})
    # The blocks of the other half stay valid.
    half = WRITES.replace("span=64MiB", "span=32MiB")
    with pytest.raises(FlashweirError, match=r"^gc\.victim: block \d+ of unit \d, with (\d+) of \1 .*" + expected):
        simulate(half, set={**DRIVE, "gc.victim": lambda view: view.blocks[view.valid.argmax()]})


EXITS = """
import sys

def pick(view):
    sys.exit({code})

def leave():
    sys.exit({code})
{more}
"""


@pytest.mark.parametrize("code", ["", "0", "3", "'a word'"])
@pytest.mark.parametrize("more", ["", "leave()"])
def test_a_policy_that_exits_ends_the_command_with_a_line(tmp_path: Path, code: str, more: str) -> None:
    (tmp_path / "own.py").write_text(EXITS.format(code=code, more=more))
    settings = [f"--set={key}={value}" for key, value in DRIVE.items()]
    settings += ["--set=gc.victim=external", "--set=gc.victim_file=own.py:pick", "--json=result.json"]
    done = subprocess.run(
        [sys.executable, "-m", "flashweir", "simulate", WRITES, *settings],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if "sys.exit" in line]
    assert done.returncode == (2 if more else 1)
    assert len(lines) == 1
    loading = "gc.victim=external: gc.victim_file 'own.py:pick': own.py does not run: it"
    where = loading if more else "gc.victim: own.py:pick"
    assert f"{where} called sys.exit({code})" in lines[0]
    assert not (tmp_path / "result.json").exists()


def leaves(_: VictimView) -> int:
    sys.exit(0)


def test_a_function_that_exits_is_a_failed_run() -> None:
    with pytest.raises(FlashweirError, match=r"^gc\.victim: function leaves called sys\.exit\(0\): expected") as caught:
        simulate(WRITES, set={**DRIVE, "gc.victim": leaves})
    assert isinstance(caught.value.__cause__, SystemExit)


def written(drive: Drive) -> Drive:
    """A drive with enough outstanding writes for a collection."""
    offsets = np.random.default_rng(3).integers(0, 16384, 8000) * 4096
    drive.submit(op="write", offset=offsets, length=4096, time_ns=drive.now_ns + np.arange(8000) * 300_000)
    return drive


STEPS: dict[str, Callable[[Drive], Any]] = {
    "drain": Drive.drain,
    "finish": Drive.finish,
    "advance_to": lambda drive: drive.advance_to(10**10),
    "fork": lambda drive: drive.fork().drain(),
}


@pytest.mark.parametrize("step", STEPS)
def test_what_a_policy_of_a_stepped_drive_raises_is_the_cause(step: str) -> None:
    drive = written(Drive(set={**DRIVE, "gc.victim": fails}))
    with pytest.raises(FlashweirError, match=r"^gc\.victim: ValueError: no idea at all$") as caught:
        STEPS[step](drive)
    assert isinstance(caught.value.__cause__, ValueError)
    drive.close()
    with pytest.raises(FlashweirError, match="closed") as caught:
        drive.drain()
    assert caught.value.__cause__ is None


def test_an_interrupt_in_a_policy_of_a_stepped_drive_is_one() -> None:
    def stops(_: VictimView) -> int:
        raise KeyboardInterrupt

    drive = written(Drive(set={**DRIVE, "gc.victim": stops}))
    with pytest.raises(KeyboardInterrupt):
        drive.drain()
    with pytest.raises(FlashweirError, match=r"^gc\.victim: KeyboardInterrupt") as caught:
        drive.drain()
    assert isinstance(caught.value.__cause__, KeyboardInterrupt)


WITHOUT = "gc.victim=external: expected a function: gc.victim_file=FILE.py:FUNCTION, or Drive.load(..., "


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        (None, f"{WITHOUT}policies={{'gc.victim': function}})"),
        ({"gc.victim": "greedy"}, "policies: gc.victim: 'greedy': expected a function"),
        ({"gc.victim": oldest, "gc.planner": oldest},
         "policies: gc.planner: the saved drive asks no such function: leave it out"),
        ({"gc.victim": oldest, "gc.victim_file": oldest}, "policies: 'gc.victim_file': expected one of gc.victim, gc."),
        ([oldest], "policies: [<function oldest at 0x"),
    ],
)  # fmt: skip
def test_functions_for_a_saved_drive_are_checked(tmp_path: Path, policies: Any, message: str) -> None:
    Drive(set={**DRIVE, "gc.victim": oldest}).save(tmp_path / "drive")
    with pytest.raises(ConfigError) as caught:
        Drive.load(tmp_path / "drive", policies=policies)
    assert str(caught.value).startswith(message)
    loaded = written(Drive.load(tmp_path / "drive", policies={"gc.victim": fails}))
    with pytest.raises(FlashweirError) as failed:
        loaded.drain()
    assert isinstance(failed.value.__cause__, ValueError)


def clears(_: object) -> int:
    raise ValueError("\x1b[2J of\nblock \x9b 3")


def test_control_characters_of_an_exception_are_shown_as_escapes(tmp_path: Path) -> None:
    with pytest.raises(FlashweirError) as caught:
        simulate(WRITES, set={**DRIVE, "gc.victim": clears})
    assert str(caught.value) == r"gc.victim: ValueError: \x1b[2J of block \x9b 3"
    assert isinstance(caught.value.__cause__, ValueError)

    (tmp_path / "own.py").write_text('raise ValueError("\\x1b[2J")\n')
    words = [f"--set={key}={value}" for key, value in DRIVE.items()]
    words += ["--set=gc.victim=external", "--set=gc.victim_file=own.py:pick"]
    command = [sys.executable, "-m", "flashweir", "simulate", WRITES, *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("own.py does not run: ValueError: \\x1b[2J\n")

    done = subprocess.run(
        [sys.executable, "-m", "flashweir", "simulate", "no \x1b[2J trace"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert r"no \x1b[2J trace" in done.stderr


def test_what_the_file_of_a_policy_raises_is_the_cause(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("import nothing_of_this_name\n")
    named = {"gc.victim": "external", "gc.victim_file": f"{tmp_path / 'own.py'}:pick"}
    with pytest.raises(ConfigError, match=r"^gc\.victim=external: gc\.victim_file '") as caught:
        simulate(WRITES, set={**DRIVE, **named})
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    assert str(caught.value).count("gc.victim=external") == 1


@pytest.mark.parametrize("field", ["op", "offset", "length", "time_ns", "tenant"])
def test_masked_values_of_requests_are_refused(field: str) -> None:
    drive = Drive(set=DRIVE)
    values = {"op": ["write"] * 3, "offset": [0, 512, 1024], "length": [512] * 3, "time_ns": [5] * 3, "tenant": [0] * 3}
    columns: dict[str, Any] = {name: np.array(value) for name, value in values.items()}
    masked = np.ma.masked_array(columns[field], [False, True, True])
    with pytest.raises(ConfigError) as caught:
        drive.submit(**{**columns, field: masked})
    assert str(caught.value) == f"{field}: 2 of 3 values are masked; expected a value for each request"
    assert drive.outstanding == 0
    assert drive.submit({**columns, field: np.ma.masked_array(columns[field])}) == range(3)


def test_a_masked_number_is_refused() -> None:
    with pytest.raises(flashweir.ConfigError, match=r"^offset: 1 of 1 values are masked"):
        Drive(set=DRIVE).submit(op="read", offset=np.ma.masked, length=512)
