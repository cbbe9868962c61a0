"""Command lines of flashweir in fences `sh`: those that a test runs, and the reasons why others are not run.

A line is run by `sh`, with pipes, variables that its fence sets, and the files that readers are meant to have.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conftest import ROOT

FENCE = re.compile(r"^```(?:sh|bash)(?: \S+)?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
FOLDERS = ("docs", "experiments", "research", "benches", "traces")
PAGES = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])
_ASSIGNED = re.compile(r"^\w+=[^$`]*$|^\w+=\"[^$`]*\"$")
_COMMAND = re.compile(r"(?:^|[|;&(]\s*)(?:sudo )?flashweir [a-z]")
# A limit for a test that hangs, and no measure.
_LIMIT_S = 300

# Lines that are not run: what is in them, and why.
EXCEPTIONS: dict[str, str] = {
    r"/dev/": "needs a drive: python/tests/devices has drives of its own",
    r"flashweir (serve|watch|ctl)\b": "serves until it is stopped: python/tests/serve",
    r"flashweir (reproduce|sweep)\b|compare --matrix": "runs for minutes to hours: python/tests/paper runs less of it",
    r"flashweir report figure-18": "is of a sweep that is not run",
    r"flashweir fit\b": "takes half a minute to minutes: python/tests/search/test_fit.py",
    r"compare traces/package-build": "compares for half a minute: python/tests/compare",
    r"--recover": "needs a replay that was killed: python/tests/devices/test_replay.py",
    r"trace\.parquet\.blktrace": "needs a collection that was stopped: python/tests/devices/test_collect.py",
    r"check-bundle .* DIR": "names a folder of the reader: python/tests/cli/test_bundle.py",
    r"flashweir completion": "is for a shell that reads it at its start",
    r"real\.json|fio:job\.fio": "needs fio: python/tests/devices/test_fio_results.py",
    r"--health-before": "needs nvme-cli: python/tests/devices/test_health.py",
    r"--save-state aged": "makes ten million requests: python/tests/serve/test_save_state.py",
    r"\$design": "is of a database on a served drive: python/tests/serve/test_guide_postgresql.py",
    r"\.\.\.": "leaves something out",
}  # fmt: skip

_WORK = "random:span=64MiB,size=4KiB,count=2000,write=0.5"
# Files that the reader has by then: the arguments that make one.
GIVEN: dict[str, list[str]] = {
    "trace.parquet": ["simulate", _WORK, "--requests", "trace.parquet"],
    "live.parquet": ["simulate", _WORK, "--requests", "live.parquet"],
    "log.parquet": ["replay", _WORK, "sim:slc-2006,capacity=64MiB", "--timing", "asap", "-o", "log.parquet"],
    **{f"{name}.json": ["bench", "sim:slc-2006,capacity=200MB", "--scale", "0.01", "--suite", "mapping", "-o",
                        f"{name}.json"] for name in "xy"},
}  # fmt: skip


@dataclass(frozen=True)
class Line:
    """A command line with what its fence sets before it, and the exception that holds for it."""

    text: str
    settings: tuple[str, ...]
    exception: str | None


def lines_of(page: Path) -> Iterator[Line]:
    """The lines of a page that call flashweir, in their order."""
    for fence in FENCE.finditer(page.read_text(encoding="utf-8")):
        settings: list[str] = []
        for line in re.sub(r"\\\n\s*", " ", fence["body"]).splitlines():
            text = line.strip()
            if _ASSIGNED.match(text):
                settings.append(text)
            elif _COMMAND.search(text):
                exception = next((one for one in EXCEPTIONS if re.search(one, text)), None)
                yield Line(text, tuple(settings), exception)


def run(line: Line, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Runs a line in a folder, with `flashweir` as the package that is tested."""
    tools = folder / ".tools"
    if not tools.exists():
        tools.mkdir()
        (tools / "flashweir").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m flashweir "$@"\n', encoding="utf-8")
        (tools / "flashweir").chmod(0o755)
    script = "\n".join(['PATH="$PWD/.tools:$PATH"', "set -e", *line.settings, line.text])
    return subprocess.run(
        ["/bin/sh", "-c", script], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=_LIMIT_S, check=False,
    )  # fmt: skip
