"""The guide that puts PostgreSQL on a served drive, run as it stands, where this machine has what it needs."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from conftest import ROOT

PAGE = ROOT / "docs" / "guide" / "postgresql.md"
FENCE = re.compile(r"^```sh\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
# Ends the disk and the drive of a script that failed in between.
TRAP = """\
tidy() {
  [ -e mounted/cluster/postmaster.pid ] && kill -QUIT "$(head -n 1 mounted/cluster/postmaster.pid)" && sleep 1
  mountpoint -q mounted && umount -l mounted
  [ -n "$device" ] && losetup --detach "$device"
  [ -e shown/disk ] && fusermount3 -u -z shown
  kill $(jobs -p)
}
trap 'code=$?; [ $code = 0 ] || tidy 2> /dev/null; exit $code' EXIT
"""
_LIMIT_S = 600


@pytest.mark.alone
def test_the_guide_runs_from_top_to_bottom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "13-live"))
    for name in ("disks", "postgres"):
        sys.modules.pop(name, None)
    postgres = importlib.import_module("postgres")
    lacks = importlib.import_module("disks").missing() or postgres.missing()
    path = f"{os.environ['PATH']}{os.pathsep}{postgres.programs()}"
    lacks = lacks or ", ".join(name for name in ("pgbench", "runuser") if shutil.which(name, path=path) is None)
    if lacks:
        pytest.skip(f"not run: this machine lacks {lacks}")
    fences = FENCE.findall(PAGE.read_text(encoding="utf-8"))
    assert len(fences) == 5
    # PostgreSQL's user must reach it.
    with tempfile.TemporaryDirectory(prefix="flashweir-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "flashweir").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m flashweir "$@"\n', encoding="utf-8")
        (folder / "flashweir").chmod(0o755)
        script = "".join(['PATH="$PWD:$PATH:/usr/sbin:/sbin"\nset -e\n', TRAP, *fences])
        done = subprocess.run(
            ["/bin/sh", "-c", script], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=_LIMIT_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]
        before, after, live, again = (
            json.loads((folder / f"{one}.json").read_text(encoding="utf-8"))
            for one in ("before", "after", "live", "again")
        )
        assert "number of transactions actually processed: 1000/1000" in done.stdout
        assert '"percent_used"' in done.stdout
        assert live["verdict"].startswith("valid")
        assert live["config"]["op_ratio"] == 0.28
        assert live["config"]["buffer"]["bytes"] == "16MiB"
        # It collected, and the transactions wrote and flushed.
        assert after["write_amplification"] > 1
        assert after["flash"]["gc"]["programs"] > 0
        assert after["latency_us"]["flush"]["count"] - before["latency_us"]["flush"]["count"] > 200
        assert after["latency_us"]["write"]["p999"] > 0
        assert after["simulated_s"] > before["simulated_s"]
        assert again["flash"] == live["flash"]
        assert "drive writes a day" in (folder / "life.txt").read_text(encoding="utf-8")
        assert "gc.victim=fifo" in (folder / "compared.txt").read_text(encoding="utf-8")
        assert not any(folder.joinpath("shown").iterdir())
