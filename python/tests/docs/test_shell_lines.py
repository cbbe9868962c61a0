"""Lines of fences `sh` run, in the order of their page and in one folder, but for those that can't in a test."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, flashweir
from shell_lines import EXCEPTIONS, GIVEN, PAGES, Line, lines_of, run

BY_PAGE = {page: list(lines_of(page)) for page in PAGES}
WITH_LINES = [page for page, lines in BY_PAGE.items() if any(line.exception is None for line in lines)]


@pytest.mark.parametrize("page", WITH_LINES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_run(page: Path, tmp_path: Path) -> None:
    for name in ("traces", "experiments", "research", "scripts"):
        (tmp_path / name).symlink_to(ROOT / name)
    for line in BY_PAGE[page]:
        if line.exception is not None:
            continue
        for name, arguments in GIVEN.items():
            if name in line.text and not (tmp_path / name).exists():
                flashweir(*arguments, cwd=tmp_path)
        done = run(line, tmp_path)
        assert done.returncode == 0, f"{line.text}\n{done.stderr}"


def test_every_exception_holds_for_a_line_and_most_pages_have_one_that_runs() -> None:
    every = [line for lines in BY_PAGE.values() for line in lines]
    unused = set(EXCEPTIONS) - {line.exception for line in every}
    assert unused == set()
    assert sum(line.exception is None for line in every) >= 15


@pytest.mark.parametrize(
    "text", ["flashweir simulate random:count=10 --set chanels=2", "flashweir trace info none.msr | cat; false"]
)
def test_a_line_that_fails_is_found(text: str, tmp_path: Path) -> None:
    assert run(Line(text, (), None), tmp_path).returncode != 0


def test_settings_of_a_fence_hold_for_its_lines(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```sh\nwork=random:span=8MiB,count=10\nall=\"--set channels=2 \\\n  --set capacity=64MiB\"\n"
        "device=$(losetup --find --show x)\nflashweir simulate $work $all --json - > out.json\n"
        "sudo flashweir collect /dev/sdx -o t.parquet  # a drive\n```\n",
        encoding="utf-8",
    )  # fmt: skip
    first, second = lines_of(page)
    assert (first.exception, second.exception) == (None, "/dev/")
    assert first.settings == ("work=random:span=8MiB,count=10", 'all="--set channels=2  --set capacity=64MiB"')
    done = run(first, tmp_path)
    assert done.returncode == 0, done.stderr
    assert '"channels": 2' in (tmp_path / "out.json").read_text(encoding="utf-8")


def test_the_command_of_a_line_is_the_package_that_is_tested(tmp_path: Path) -> None:
    done = run(Line("flashweir --version; command -v flashweir", (), None), tmp_path)
    version = subprocess.run(
        [sys.executable, "-m", "flashweir", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{version.stdout}{tmp_path}/.tools/flashweir\n"
