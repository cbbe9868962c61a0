"""Folders of traces on a Dask cluster of two processes on this machine."""

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest
from characters import drawn, table

from flashweir import ConfigError, FlashweirError
from flashweir.character import characterize_all
from flashweir.character.places import engine, there


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
            silence_logs=100,
        )
    yield made
    made.close()


@pytest.fixture
def volumes(tmp_path: Path) -> Path:
    folder = tmp_path / "volumes"
    folder.mkdir()
    for seed in range(6):
        (folder / f"volume-{seed}.ssdsim").write_text(table(drawn(seed, 200)))
    return folder


def test_a_cluster_finds_what_threads_find(cluster: Any, volumes: Path, tmp_path: Path) -> None:
    (volumes / "bad.ssdsim").write_text("1 2 3\n")
    here = characterize_all(volumes, tmp_path / "here.jsonl")
    there = characterize_all(volumes, tmp_path / "there.jsonl", on=cluster.scheduler_address)
    assert [(row["trace"], row["character"], row["error"]) for row in here] == [
        (row["trace"], row["character"], row["error"]) for row in there
    ]
    assert len((tmp_path / "there.jsonl").read_text().splitlines()) == 7


def test_a_worker_says_that_it_has_not_the_trace_and_takes_it(tmp_path: Path) -> None:
    content = table(drawn(1, 50)).encode()
    place, spec = str(tmp_path / "gone.ssdsim"), json.dumps({"workload": "gone.ssdsim"})
    assert there(engine(), place, len(content), spec, None)["missing"]
    found = there(engine(), place, len(content), spec, content)
    assert json.loads(found["text"])["workload"] == "gone.ssdsim"
    bad = there(engine(), place, 4, spec, b"1 2\n")
    assert bad["error"].startswith(f"{place}, line 1")
    assert there("other", place, 4, spec, None)["engine"] == engine()


def test_what_is_no_cluster_is_refused(volumes: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="on here: expected local"):
        characterize_all(volumes, tmp_path / "a.jsonl", on="here")
    with pytest.raises(ConfigError, match="its workers have threads of their own"):
        characterize_all(volumes, tmp_path / "a.jsonl", on="tcp://127.0.0.1:1", threads=2)
    with pytest.raises(FlashweirError, match="no Dask scheduler answers there"):
        characterize_all(volumes, tmp_path / "a.jsonl", on="tcp://127.0.0.1:1")
