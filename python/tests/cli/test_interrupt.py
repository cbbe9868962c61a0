"""Ctrl-C: the run stops, says what was done, and leaves nothing half-written."""

import gzip
import os
import pty
import re
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import ENDLESS, QUICK, SMALL_DRIVE, SMALL_SETTINGS
from started import start

import flashweir

# The line of a command that was stopped: how much was done, of how much, or which share of the file.
STOPPED = re.compile(
    rb"error: stopped by Ctrl-C: stopped while [^:]*: (?P<done>\d+) (of (?P<total>\d+) )?[a-z ]+"
    rb"(, (?P<percent>\d+)% of the file,)? done; nothing was written\r\n$"
)

SIMULATE = ("simulate", ENDLESS, *SMALL_SETTINGS)


def wait_for(path: Path, run: subprocess.Popen[str]) -> None:
    """Waits until the run has begun to write `path` or a part of it; gives up when the run has ended."""
    while not any(path.parent.iterdir()):
        assert run.poll() is None, run.communicate()[1]
        threading.Event().wait(0.05)


def test_interrupted_run_stops_cleanly_and_says_what_was_done(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    run = start(*SIMULATE, "--requests", str(log), "--json", str(tmp_path / "r.json"), stdout=-1, stderr=-1)
    wait_for(log, run)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=120)
    assert run.returncode == 130
    assert out == ""
    assert err.startswith("error: stopped by Ctrl-C: ")
    assert err.count("\n") == 1
    assert any(character.isdigit() for character in err)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def endless_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hours of lines in a small file, since they are all the same."""
    trace = tmp_path_factory.mktemp("endless") / "endless.spc.gz"
    trace.write_bytes(gzip.compress(b"0,0,512,r,0.0\n" * 100_000) * 20_000)
    return trace


@pytest.fixture(scope="module")
def endless_trace_of_two_devices(endless_trace: Path) -> Path:
    """The same, but it is read for its devices first: the second one comes at once."""
    trace = endless_trace.with_name("two.spc.gz")
    trace.write_bytes(gzip.compress(b"0,0,512,r,0.0\n1,0,512,r,0.0\n") + endless_trace.read_bytes())
    return trace


@pytest.mark.parametrize(
    "command",
    [
        SIMULATE,
        ("simulate", "TRACE", *SMALL_SETTINGS),
        ("trace", "info", "TRACE"),
        ("trace", "info", "TWO"),
        ("trace", "convert", "TRACE", "out.parquet"),
        ("trace", "convert", "TWO", "out.msr.csv.zst"),
        ("trace", "generate", ENDLESS, "out.spc"),
    ],
    ids=lambda command: " ".join(command[:3]),
)
def test_progress_is_drawn_on_a_terminal_and_ctrl_c_stops_it(
    command: tuple[str, ...], endless_trace: Path, endless_trace_of_two_devices: Path, tmp_path: Path
) -> None:
    files = {"TRACE": str(endless_trace), "TWO": str(endless_trace_of_two_devices)}
    reader, writer = pty.openpty()
    command = tuple(files.get(word, word) for word in command)
    run = start(*command, stdout=subprocess.DEVNULL, stderr=writer, cwd=tmp_path)
    os.close(writer)
    seen = b""
    while b"/s" not in seen or b"left" not in seen or b"0%" not in seen:
        seen += os.read(reader, 4096)
    run.send_signal(signal.SIGINT)
    message = b""
    try:
        while chunk := os.read(reader, 4096):
            message += chunk
    except OSError:  # how Linux says that the other side has closed
        pass
    assert run.wait(timeout=120) == 130
    assert message.count(b"error: ") == 1
    stopped = STOPPED.search(message)
    assert stopped is not None, message
    # It ended at the next report of its progress, and not with its work.
    share = int(stopped["done"]) / int(stopped["total"]) if stopped["total"] else int(stopped["percent"]) / 100
    assert share < 0.5
    assert list(tmp_path.iterdir()) == []
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
    assert states[0].keys() == {"phase", "done", "total", "fraction", "elapsed_s"}
    assert states[0]["phase"] in ("precondition", "run")


def test_progress_of_a_trace_is_how_much_of_its_file_was_read(endless_trace_of_two_devices: Path) -> None:
    states: list[dict[str, Any]] = []

    def stop(state: dict[str, Any]) -> bool:
        states.append(state)
        return len(states) < 5

    with pytest.raises(flashweir.FlashweirError, match="stopped while going through the trace"):
        flashweir.trace_info(endless_trace_of_two_devices, progress=stop)
    fractions = [state["fraction"] for state in states]
    assert all(0 < fraction < 0.5 for fraction in fractions)
    assert fractions == sorted(fractions)
    assert {state["phase"] for state in states} == {"trace"}
    assert {state["total"] for state in states} == {None}


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
    # Both calls are in progress at once only if the endless one has let go of the GIL.
    assert started.wait(timeout=120)
    assert flashweir.simulate(QUICK, set=SMALL_DRIVE)["requests"] == 20_000
    done.set()
    thread.join(timeout=120)
    assert not thread.is_alive()
