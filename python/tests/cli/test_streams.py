"""Standard streams that are closed, full or have no reader: one line or none, an exit code, and no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import QUICK, SMALL_SETTINGS

COMMAND = [str(Path(sys.executable).with_name("flashweir"))]
SIMULATE = [*COMMAND, "simulate", QUICK, *SMALL_SETTINGS]


def shell(text: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Runs `"$@"` with the redirections of `text`."""
    return subprocess.run(
        ["/bin/sh", "-c", f'"$@" {text}', "sh", *args], capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("args", [SIMULATE, [*SIMULATE, "--json", "-"], [*COMMAND, "schema"], [*COMMAND, "--help"]])
@pytest.mark.parametrize(
    ("redirection", "reason"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")]
)
def test_output_that_can_not_be_written_is_one_line(args: list[str], redirection: str, reason: str) -> None:
    done = shell(redirection, *args)
    assert (done.returncode, done.stderr) == (1, f"error: standard output: {reason}\n")


def test_messages_that_can_not_be_written_are_lost_and_the_exit_code_is_not() -> None:
    for redirection in ("2>&-", "2>/dev/full", ">&- 2>&-"):
        done = shell(redirection, *COMMAND, "simulate", "nowhere.csv")
        assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_closed_messages_take_no_place_of_a_file(tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    done = shell("2>&-", *SIMULATE, "--json", str(target))
    assert (done.returncode, done.stdout) == (0, "")
    assert target.read_text().startswith("{")


def test_a_reader_that_has_gone_ends_it_without_a_word() -> None:
    for args in (
        [*COMMAND, "schema"],
        [*SIMULATE, "--json", "-"],
        [*SIMULATE, "--requests", "-", "--quiet"],
        [*COMMAND, "trace", "generate", QUICK, "-", "--to", "msr", "--quiet"],
        [*COMMAND, "lifetime", QUICK, *SMALL_SETTINGS, "--seed", "1", "--html", "-", "--quiet"],
    ):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as gone:
            done = subprocess.run(args, stdout=gone, stderr=subprocess.PIPE, timeout=300, check=False)
        assert (done.returncode, done.stderr) == (1, b"")
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as gone:
            done = subprocess.run([*args, "--nonsense"], stdout=subprocess.PIPE, stderr=gone, timeout=300, check=False)
        assert (done.returncode, done.stdout) == (2, b"")
