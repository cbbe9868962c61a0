"""Requests of a job file against those that fio itself logs: counts, sizes, addresses, and the order of sequences."""

import itertools
import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from block_devices import tool

from flashweir.fio.resolving import jobs_as_trace

GLOBAL = "[global]\nioengine=psync\nfilename=data\ninvalidate=0\nfallocate=none\nwrite_iolog=log\n"


class Request(NamedTuple):
    op: str
    offset: int
    length: int


def of_fio(options: str, folder: Path) -> list[Request]:
    """The requests that fio makes of a job."""
    (folder / "data").write_bytes(bytes(4 << 20))
    (folder / "log").unlink(missing_ok=True)
    (folder / "job.fio").write_text(f"{GLOBAL}[job]\n{options}\n")
    subprocess.run([tool("fio"), "job.fio"], cwd=folder, check=True, capture_output=True, timeout=120)
    found = []
    for line in (folder / "log").read_text().splitlines()[1:]:
        words = line.split()
        action = next((place for place, word in enumerate(words) if word in {"read", "write", "trim"}), None)
        if action is not None:
            found.append(Request(words[action], int(words[action + 1]), int(words[action + 2])))
        elif "sync" in words or "datasync" in words:
            found.append(Request("flush", 0, 0))
    return found


def of_ours(folder: Path) -> list[Request]:
    path, _, _ = jobs_as_trace(str(folder / "job.fio"), {}, None)
    table = pl.read_parquet(path)
    return [Request(*row) for row in table.select("op", "offset", "length").iter_rows()]


@pytest.mark.parametrize(
    "options",
    [
        "rw=write\nbs=4k\nsize=1m",
        "rw=read\nbs=8kib\nsize=1m",
        "rw=write\nbs=16k\nsize=1000k\noffset=64k",
        "rw=write\nbs=4k\nsize=1m\nnumber_ios=100",
        "rw=write\nbs=4k\nsize=512k\nio_size=1m",
        "rw=write\nbs=4k\nsize=256k\nio_size=128k",
        "rw=write\nbs=4k\nsize=256k\nfsync=7",
        "rw=write\nbs=4k\nsize=256k\nfdatasync=8\nend_fsync=1",
        "rw=write:4k\nbs=4k\nsize=256k\nnumber_ios=30",
        "readwrite=read\nblocksize=4K\nsize=256KB",
        "rw=trim\nioengine=null\nsize=256k",
        "rw=trimwrite\nioengine=null\nsize=256k",
        "rw=trimwrite\nioengine=null\nbs=8k\nsize=256k\nnumber_ios=11",
    ],
)
def test_sequential_jobs_are_the_same_requests_in_the_same_order(options: str, tmp_path: Path) -> None:
    theirs = of_fio(options, tmp_path)
    assert theirs
    assert of_ours(tmp_path) == theirs


@pytest.mark.parametrize(
    "options",
    [
        "rw=randwrite\nbs=4k\nsize=1m",
        "rw=randtrim\nioengine=null\nsize=1m",
        "rw=randtrimwrite\nioengine=null\nsize=1m",
        "rw=randread\nbs=4k\nsize=1m\nnumber_ios=64",
        "rw=randrw\nbs=4k\nsize=2m\nrwmixread=70",
        "rw=randrw\nbs=4k\nsize=2m\nrwmixwrite=20\nnorandommap",
        "rw=randwrite\nbs=4k\nsize=1m\nio_size=3m",
        "rw=rw\nbs=8k\nsize=2m\nrwmixread=25",
    ],
)
def test_random_jobs_of_one_size_have_as_many_requests_to_the_same_blocks(options: str, tmp_path: Path) -> None:
    theirs, ours = of_fio(options, tmp_path), of_ours(tmp_path)
    assert len(ours) == len(theirs)
    assert {one.length for one in ours} == {one.length for one in theirs}
    if "norandommap" not in options and "number_ios" not in options:
        kinds = {one.op for one in theirs}
        if kinds != {"read", "write"}:
            assert sorted(ours) == sorted(theirs)
    if "randtrimwrite" in options:
        for some in (ours, theirs):
            assert [(one.op, one.offset) for one in some[1::2]] == [("write", one.offset) for one in some[::2]]
    reads = [sum(one.op == "read" for one in some) / len(some) for some in (ours, theirs)]
    assert reads[0] == pytest.approx(reads[1], abs=0.1)


@pytest.mark.parametrize(
    ("sizes", "tolerance"),
    [("bssplit=4k/60:64k/40", 0.05), ("bssplit=4k/10:8k/:32k/", 0.05), ("bsrange=4k-16k", 0.05)],
)
def test_sizes_are_drawn_as_by_fio(sizes: str, tolerance: float, tmp_path: Path) -> None:
    options = f"rw=randwrite\nnorandommap\n{sizes}\nsize=4m\nio_size=30m"
    theirs, ours = of_fio(options, tmp_path), of_ours(tmp_path)
    shares = [Counter(one.length for one in some) for some in (theirs, ours)]
    assert shares[0].keys() == shares[1].keys()
    for size in shares[0]:
        assert shares[1][size] / len(ours) == pytest.approx(shares[0][size] / len(theirs), abs=tolerance)
    assert len(ours) == pytest.approx(len(theirs), rel=0.1)


@pytest.mark.parametrize("sizes", ["bssplit=4k/60:64k/40", "bsrange=4k-32k"])
def test_a_map_of_random_blocks_cuts_requests_at_blocks_that_were_hit(sizes: str, tmp_path: Path) -> None:
    options = f"rw=randwrite\n{sizes}\nsize=4m"
    theirs, ours = of_fio(options, tmp_path), of_ours(tmp_path)
    for some in (theirs, ours):
        blocks = sorted(block for one in some for block in range(one.offset // 4096, (one.offset + one.length) // 4096))
        assert blocks == list(range(1024))
    assert len(ours) == pytest.approx(len(theirs), rel=0.15)


@pytest.mark.parametrize(
    "distribution",
    ["zipf:1.2", "zipf:0.8", "pareto:0.3", "normal:20", "zoned:60/10:30/20:10/70", "zoned_abs:50/1m:50/3m", "random"],
)
def test_popularity_is_that_of_fio(distribution: str, tmp_path: Path) -> None:
    options = f"rw=randread\nnorandommap\nbs=4k\nsize=4m\nio_size=40m\nrandom_distribution={distribution}"
    theirs, ours = of_fio(options, tmp_path), of_ours(tmp_path)
    assert len(ours) == len(theirs) == 10_240
    if distribution.startswith("zoned"):

        def inside(some: list[Request]) -> float:
            return sum(one.offset < (4 << 20) // (10 if "abs" not in distribution else 4) for one in some) / len(some)

        assert inside(ours) == pytest.approx(inside(theirs), abs=0.03)
        return
    ranked = [sorted(Counter(one.offset for one in some).values(), reverse=True) for some in (ours, theirs)]
    for top in (1, 10, 100):
        assert sum(ranked[0][:top]) / 10_240 == pytest.approx(sum(ranked[1][:top]) / 10_240, abs=0.03)


@pytest.mark.parametrize("options", ["rw=randread:8", "rw=randread\npercentage_random=30\nrandseed=2"])
def test_sequences_and_shares_of_random_addresses_are_those_of_fio(options: str, tmp_path: Path) -> None:
    given = f"{options}\nnorandommap\nbs=4k\nsize=4m\nio_size=16m"
    theirs, ours = of_fio(given, tmp_path), of_ours(tmp_path)
    following = [
        sum(one.offset == before.offset + 4096 for before, one in itertools.pairwise(some)) / len(some)
        for some in (theirs, ours)
    ]
    assert following[1] == pytest.approx(following[0], abs=0.04)
    assert len(ours) == len(theirs)
