"""Start of the command: it imports what its command needs, and converts values as its library does."""

import os
import subprocess
import sys
from pathlib import Path

import forked
import pytest
from typer import Typer, _coercion
from typer.models import OptionInfo

from flashweir.cli import COMMANDS, _asked, application, coercion
from flashweir.cli.completion import VARIABLE

QUICK = ("simulate", "random:span=1MiB,count=10", "--set", "capacity=64MiB", "--seed", "7", "--verify", "--json")


def imported(*arguments: str) -> set[str]:
    look = "import sys, atexit; atexit.register(lambda: print(*sys.modules)); from flashweir.cli import main; main()"
    command = [sys.executable, "-c", look, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return set(done.stdout.split())


def test_a_run_imports_neither_other_commands_nor_a_validation_library(tmp_path: Path) -> None:
    found = imported(*QUICK, str(tmp_path / "out.json"))
    assert "flashweir.cli.simulate" in found
    assert not found & {f"flashweir.cli.{name}" for name in ("report", "fit", "sweep", "lifetime", "serve")}
    assert not found & {"pydantic", "rich", "polars", "numpy", "scipy", "plotly", "matplotlib"}


def test_a_summary_imports_no_more_than_it_draws_with() -> None:
    found = imported(*QUICK[:-1])
    assert "rich.table" in found
    assert not found & {"flashweir.results.run", "rich._emoji_codes", "pydantic", "polars", "numpy"}


def test_help_and_unknown_commands_know_all_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _asked(["--quiet", "simulate", "x"]) == ("simulate",)
    assert _asked(["--version"]) == ()
    for given in ([], ["--help"], ["nothing"]):
        assert set(_asked(given)) == set(COMMANDS)
    monkeypatch.setitem(os.environ, VARIABLE, "complete_bash")
    assert set(_asked(["simulate", ""])) == set(COMMANDS)


def test_every_command_is_found_under_its_name() -> None:
    made = application()
    assert isinstance(made, Typer)
    names = {one.name for one in made.registered_commands} | {one.name for one in made.registered_groups}
    assert names == set(COMMANDS)


@pytest.mark.parametrize(
    ("annotation", "values"),
    [
        (str, ["x", "", "5", "\udcff"]),
        (int, ["0", "7", "007", "9", "10", "-1", "+3", " 5", "5.0", "1e3", "x", "\u0663", "1" * 25]),
        (float, ["0", "0.5", "5.", ".5", "-1", "1e3", "inf", "nan", "x"]),
        (bool, [True, False]),
        (Path, ["a/b", "-", "."]),
        (list[str], [("a", "b"), ()]),
        (list[int], [("1", "2"), ("1", "x")]),
    ],
)
def test_plain_values_become_the_library_s(annotation: type, values: list[object]) -> None:
    info = OptionInfo(min=0, max=9) if annotation in (int, list[int]) else OptionInfo()
    descriptor = _coercion.resolve_type_descriptor(annotation, info)
    library = _coercion.build_runtime_param(descriptor)
    for value in values:
        found = coercion.plain(annotation, value, info)
        if found is not coercion._UNKNOWN:
            assert library._coerce_value(value, param=None, ctx=None) == found, value  # type: ignore[arg-type]
        else:
            assert annotation not in (str, bool, Path), value


def test_commands_that_tests_fork_compute_in_one_thread() -> None:
    """Threads of OpenBLAS spin while they wait: with two, a Gaussian process of a search took 40 times the CPU time."""
    text = "import os, numpy as np; a = np.ones((500, 500)); a @ a; print(len(os.listdir('/proc/self/task')))"
    assert forked.run_script(text).stdout == "1\n"
