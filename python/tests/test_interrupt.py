"""Ctrl-C: the run stops, says what was done, and leaves nothing half-written."""

import os
import pty
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import ENDLESS, QUICK, SMALL_DRIVE, SMALL_SETTINGS

import flashweir

SIMULATE = [sys.executable, "-m", "flashweir", "simulate", ENDLESS, *SMALL_SETTINGS]


def start(*args: str, **options: Any) -> subprocess.Popen[str]:
    """Starts an endless run with SIGINT as a terminal delivers it, even where the test runner ignores it."""
    return subprocess.Popen(
        [*SIMULATE, *args],
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
        **options,
    )


def wait_for(path: Path, run: subprocess.Popen[str]) -> None:
    """Waits until the run has begun to write `path` or a part of it; gives up when the run has ended."""
    while not any(path.parent.iterdir()):
        assert run.poll() is None, run.communicate()[1]
        threading.Event().wait(0.05)


def test_interrupted_run_stops_cleanly_and_says_what_was_done(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    run = start("--requests", str(log), "--json", str(tmp_path / "r.json"), stdout=-1, stderr=-1)
    wait_for(log, run)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=120)
    assert run.returncode == 130
    assert out == ""
    assert err.startswith("error: stopped by Ctrl-C: ")
    assert err.count("\n") == 1
    assert any(character.isdigit() for character in err)
    assert list(tmp_path.iterdir()) == []


def test_progress_is_drawn_on_a_terminal_and_says_rate_and_time_left(tmp_path: Path) -> None:
    reader, writer = pty.openpty()
    run = start("--json", str(tmp_path / "r.json"), stdout=subprocess.DEVNULL, stderr=writer)
    os.close(writer)
    seen = b""
    while b"/s" not in seen or b"left" not in seen:
        seen += os.read(reader, 4096)
    run.send_signal(signal.SIGINT)
    try:
        while chunk := os.read(reader, 4096):
            seen += chunk
    except OSError:  # how Linux says that the other side has closed
        pass
    assert run.wait(timeout=120) == 130
    assert b"stopped by Ctrl-C" in seen
    os.close(reader)


def test_callback_that_returns_false_stops_the_run() -> None:
    states: list[dict[str, Any]] = []

    def stop(state: dict[str, Any]) -> bool:
        states.append(state)
        return False

    with pytest.raises(flashweir.FlashweirError) as caught:
        flashweir.simulate(ENDLESS, set=SMALL_DRIVE, progress=stop)
    assert not isinstance(caught.value, (flashweir.ConfigError, flashweir.TraceError))
    assert len(states) == 1
    assert states[0].keys() == {"phase", "done", "total", "elapsed_s"}
    assert states[0]["phase"] in ("precondition", "run")


def test_exception_in_the_callback_reaches_the_caller() -> None:
    def broken(_: dict[str, Any]) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        flashweir.simulate(ENDLESS, set=SMALL_DRIVE, progress=broken)


def test_other_threads_run_meanwhile() -> None:
    started, done = threading.Event(), threading.Event()

    def wait_then_stop(_: dict[str, Any]) -> bool:
        started.set()
        return not done.is_set()

    def simulate() -> None:
        with pytest.raises(flashweir.FlashweirError):
            flashweir.simulate(ENDLESS, set=SMALL_DRIVE, progress=wait_then_stop)

    thread = threading.Thread(target=simulate)
    thread.start()
    # Both calls are under way at once only if the endless one has let go of the GIL.
    assert started.wait(timeout=120)
    assert flashweir.simulate(QUICK, set=SMALL_DRIVE)["requests"] == 20_000
    done.set()
    thread.join(timeout=120)
    assert not thread.is_alive()
