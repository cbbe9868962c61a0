"""Sweeps whose workers are jobs of a batch system: commands that look like Slurm's start and end real processes."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask_jobqueue  # noqa: F401 - adds its defaults to the configuration once and for all
import pytest
from conftest import SMALL_DRIVE

from flashweir import ConfigError, FlashweirError
from flashweir.sweeps import sweep

SBATCH = """#!/bin/sh
cp "$1" {jobs}/script.$$
setsid sh {jobs}/script.$$ >{jobs}/log.$$ 2>&1 </dev/null &
touch {jobs}/job.$!
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
touch {jobs}/cancelled.$1
kill -TERM -- -$1
"""
REFUSES = """#!/bin/sh
echo "sbatch: error: invalid partition specified: fast" >&2
exit 1
"""
SWEEP = {"workloads": "random:span=32MiB,size=4KiB,count=2000000", "set": {**SMALL_DRIVE, "precondition": "empty"}}
SECTION = {"cores": 1, "memory": "1GB", "scheduler-options": {"host": "127.0.0.1"}}


def jobs(folder: Path) -> list[int]:
    return [int(path.suffix[1:]) for path in folder.glob("job.*")]


def is_alive(group: int) -> bool:
    """True if a process of this group is left; a zombie is none."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z" and int(fields[2]) == group:
            return True
    return False


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Commands of Slurm on PATH; gives the folder in which they note the jobs."""
    commands, folder = tmp_path / "bin", tmp_path / "jobs"
    commands.mkdir()
    folder.mkdir()
    for name, text in {"sbatch": SBATCH, "scancel": SCANCEL, "squeue": "#!/bin/sh\n"}.items():
        (commands / name).write_text(text.format(jobs=folder))
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    changes = {f"jobqueue.slurm.{key}": value for key, value in SECTION.items()}
    with dask.config.set({**changes, "distributed.deploy.lost-worker-timeout": "1s"}):
        yield folder
    for job in jobs(folder):
        if is_alive(job):
            os.killpg(job, signal.SIGKILL)


def test_jobs_are_started_and_ended(slurm: Path, capfd: pytest.CaptureFixture[str]) -> None:
    frame = sweep({**SWEEP, "seeds": 12}, on="slurm:2")
    assert frame.select("seed").to_series().to_list() == list(range(1, 13))
    assert frame["error"].null_count() == 12
    assert len(jobs(slurm)) == 2
    deadline = time.monotonic() + 30
    while any(is_alive(job) for job in jobs(slurm)):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert capfd.readouterr().err == "flashweir: slurm:2 has no workers yet: waiting for them\n"


def test_a_job_that_ends_early_is_replaced(slurm: Path) -> None:
    killed: list[int] = []

    def kill(state: Any) -> bool:
        if state.done >= 2 and not killed:
            killed.extend(jobs(slurm))
            os.killpg(killed[0], signal.SIGKILL)
        return True

    frame = sweep({**SWEEP, "seeds": 12}, on="slurm:1", progress=kill)
    assert frame.select("seed").to_series().to_list() == list(range(1, 13))
    assert frame["error"].null_count() == 12
    assert len(jobs(slurm)) >= 2


def test_a_refused_job_ends_the_sweep(slurm: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / "sbatch").write_text(REFUSES)
    refused = "on slurm: sbatch failed: sbatch: error: invalid partition specified: fast"
    with pytest.raises(FlashweirError) as caught:
        sweep({**SWEEP, "seeds": 4}, on="slurm")
    assert str(caught.value) == refused
    assert not jobs(slurm)


@pytest.mark.usefixtures("slurm")
def test_a_section_without_sizes_is_refused() -> None:
    expected = r"on slurm: expected jobqueue.slurm.cores and jobqueue.slurm.memory in ~/.config/dask/jobqueue.yaml"
    with dask.config.set({"jobqueue.slurm.cores": None}), pytest.raises(ConfigError, match=expected):
        sweep(SWEEP, on="slurm")


@pytest.mark.usefixtures("slurm")
def test_a_batch_system_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="on slurm:3: sbatch is not on PATH: expected to run where jobs"):
        sweep(SWEEP, on="slurm:3")
