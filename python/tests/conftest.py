"""Fixtures: the shipped trace, a small drive, and a way to run the command as a user does."""

import fcntl
import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import forked
import pytest
from hypothesis import settings

from flashweir._native import __version__

# Random tests draw the same cases every time, here and in CI, and none fails for being slow.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

# For commands and their server, too. Other threads of OpenBLAS spin while they wait, and matrices are small here.
# `flashweir search` sets the same by itself, but too late in a process that is forked from one with numpy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parents[2]
SHIPPED_TRACE = ROOT / "traces" / "package-build.blktrace.0.zst"

# A drive that fills quickly, so that collection runs, and a workload that takes milliseconds.
SMALL_DRIVE = {"channels": 2, "capacity": "64MiB", "pages_per_block": 64}
SMALL_SETTINGS = [f"--set={key}={value}" for key, value in SMALL_DRIVE.items()]
QUICK = "random:span=32MiB,size=4KiB,count=20000,seed=1"
# Runs for much longer than a test waits.
ENDLESS = "random:span=32MiB,size=4KiB,count=2000000000,seed=1"

# Files that take longest, longest first (CPU seconds, browsers and commands included: 110 to 20 of some 900 in all).
LONGEST = (
    "docs/test_docs.py", "reports/test_report_browser.py", "reports/test_report_browser_reach.py",
    "sweeps/test_cluster.py", "reports/test_pages_browser.py", "reports/test_report_browser_layout.py",
    "search/test_fit.py", "charts/test_charts_drawn.py", "cli/test_outputs.py", "tests/test_active.py",
    "devices/test_diagnose_active.py", "cli/test_lifetime.py",
)  # fmt: skip


def load_script(path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A script of an experiment as a module, for one test."""
    spec = importlib.util.spec_from_file_location(f"{path.stem}_of_{path.parent.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Run:
    """Exit code and output of a finished command."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


def flashweir(*args: str, cwd: Path | None = None, code: int | None = 0, module: bool = False) -> Run:
    """Runs the command; `code` is the exit code to insist on (None: any).

    It is a process of its own (`forked`), with `module` one that Python starts.
    """
    if module:
        command = [sys.executable, "-m", "flashweir", *args]
        nothing = subprocess.DEVNULL
        done = subprocess.run(command, stdin=nothing, capture_output=True, text=True, cwd=cwd, timeout=300, check=False)
    else:
        done = forked.run(args, cwd=cwd)
    run = Run(done.returncode, done.stdout, done.stderr)
    assert code is None or run.code == code, f"{args}: exit code {run.code}\n{run.err}"
    return run


def refused(*args: str, code: int = 2, cwd: Path | None = None) -> str:
    """Runs a command that must fail; checks the form of the failure and returns the message after `error: `."""
    run = flashweir(*args, code=code, cwd=cwd)
    assert run.out == ""
    # Assumptions about a trace are said as well, before the run.
    lines = [line for line in run.err.splitlines(keepends=True) if not line.startswith("note: ")]
    assert len(lines) == 1, run.err
    assert lines[0].startswith("error: "), run.err
    assert lines[0].endswith("\n"), run.err
    assert "Traceback" not in run.err
    assert "panicked" not in run.err
    return lines[0].removeprefix("error: ").rstrip("\n")


@pytest.fixture(scope="session")
def kept_runs(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder of all test processes, for runs that several tests need; `reproduced` fills it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "kept-runs"
    folder.mkdir(exist_ok=True)
    return folder


def reproduced(kept: Path, paper: str, *args: str, cwd: Path | None = None) -> Run:
    """Runs `flashweir reproduce` on runs that are kept: what one test made, another goes on with."""
    with (kept / f"{paper}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return flashweir("reproduce", paper, *args, "-o", str(kept / paper), cwd=cwd)


def ends_with_machine(page: Path, command: str = "") -> bool:
    """True if the last section of a page is that of the machine, the versions and the command, if there was one."""
    text = page.read_text(encoding="utf-8")
    last = text[text.rindex("<section id=") :]
    called = last.partition("<dt>command</dt><dd>")[2]
    named = called.startswith(f"flashweir {command} ") if command else not called
    return 'id="machine-and-versions"' in last and "python: " in last and f"flashweir {__version__}" in last and named


def without_wall_times(result: dict[str, Any]) -> dict[str, Any]:
    """A result less the three times that depend on the machine."""
    return {key: value for key, value in result.items() if not key.endswith("wall_s")}


def place_of(file: str, tests: int) -> tuple[int, int, str]:
    """Sorts files: those that take longest, then those with most tests. No process then ends long after the others."""
    long = (at for at, name in enumerate(LONGEST) if file.endswith(f"/{name}"))
    return next(long, len(LONGEST)), -tests, file


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files in the order of `place_of`, which `--no-loadscope-reorder` keeps; tests of a file stay as they are."""
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: place_of(str(item.path), tests[item.path]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says by name, after the last test, which tests this machine could not run, and for lack of what."""
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        said = reason.removeprefix("Skipped: ").removeprefix("not run: ")
        terminalreporter.write_line(f"not run: {report.nodeid}: {said}")


@pytest.fixture
def small_drive() -> dict[str, Any]:
    return dict(SMALL_DRIVE)
