"""Results of fio, of several versions, read beside ours: units, percentiles, jobs, refusals."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from block_devices import tool
from conftest import flashweir, refused

import flashweir as package

PERCENTILES = {"50.000000": 2000, "95.000000": 3000, "99.000000": 4000, "99.900000": 5000, "99.990000": 6000}


def side3(**more: Any) -> dict[str, Any]:
    """An operation as fio 3 writes it."""
    times = {"min": 1000, "max": 9000, "mean": 2500.0, "stddev": 1.0, "N": 10, "percentile": PERCENTILES}
    return {"io_bytes": 40960, "bw_bytes": 2097152, "bw": 2048, "iops": 512.0, "runtime": 2000, "total_ios": 10,
            "clat_ns": times, "lat_ns": {"min": 0, "max": 0, "mean": 0.0, "N": 10}, **more}  # fmt: skip


def empty3() -> dict[str, Any]:
    return side3(iops=0.0, bw_bytes=0, bw=0, runtime=0, total_ios=0,
                 clat_ns={"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0})  # fmt: skip


def side2(**more: Any) -> dict[str, Any]:
    """An operation as fio 2 writes it: us, KiB."""
    times = {
        "min": 1,
        "max": 9,
        "mean": 2.5,
        "stddev": 1.0,
        "percentile": {key: at // 1000 for key, at in PERCENTILES.items()},
    }
    return {"io_bytes": 40, "bw": 2048, "iops": 512.0, "runtime": 2000, "total_ios": 10, "clat": times,
            "lat": {"min": 0, "max": 0, "mean": 0.0}, **more}  # fmt: skip


def written(folder: Path, data: object, name: str = "fio.json", before: str = "") -> Path:
    (folder / name).write_text(before + json.dumps(data, indent=2))
    return folder / name


def three(*jobs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"fio version": "fio-3.36", "timestamp": 1, "jobs": list(jobs), **more}


@pytest.mark.parametrize(("version", "side"), [("fio-3.1", side3()), ("fio-2.21", side2())])
def test_units_of_both_versions_come_out_the_same(version: str, side: dict[str, Any], tmp_path: Path) -> None:
    file = written(tmp_path, {"fio version": version, "jobs": [{"jobname": "a", "read": side}]})
    run = package.read_fio(file)["a"]
    expected = {
        "count": 10, "mean": 2.5, "p50": 2.0, "p95": 3.0, "p99": 4.0, "p999": 5.0, "p9999": 6.0,
        "max": 9.0}  # fmt: skip
    assert run["latency_us"]["read"].to_dict() == expected
    assert (run["iops"], run["bandwidth_mib_s"], run["simulated_s"]) == (512.0, 2.0, 2.0)
    assert (run["version"], run["measured.latency"]) == (version, "completion")


def test_both_directions_of_a_job_add_up_and_jobs_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    job = {"jobname": "a", "read": side3(), "write": side3(), "trim": empty3()}
    runs = package.read_fio(written(tmp_path, three(job, job), before="fio: a note\n"))
    assert list(runs) == ["a", "a-2"]
    assert (runs["a"]["iops"], runs["a"]["requests"], runs["a"]["bandwidth_mib_s"]) == (1024.0, 20, 4.0)
    assert runs["a"]["latency_us.trim.count"] == 0


def test_bins_of_json_plus_are_a_histogram_and_fill_in_for_percentiles(tmp_path: Path) -> None:
    times = {"min": 1000, "max": 9000, "mean": 2500.0, "N": 100, "bins": {"1000": 50, "3000": 49, "9000": 1}}
    run = package.read_fio(written(tmp_path, three({"jobname": "a", "write": side3(clat_ns=times)})))["a"]
    assert run["latency_histogram_ns"]["write"] == [[1000, 50], [3000, 49], [9000, 1]]
    assert [run[f"latency_us.write.{name}"] for name in ("p50", "p99", "p999")] == [1.0, 3.0, 9.0]


def test_total_latencies_are_taken_where_only_they_have_percentiles(tmp_path: Path) -> None:
    plain = {"min": 1, "max": 2, "mean": 1.0, "N": 10}
    total = {"min": 1000, "max": 9000, "mean": 2600.0, "N": 10, "percentile": PERCENTILES}
    run = package.read_fio(written(tmp_path, three({"jobname": "a", "read": side3(clat_ns=plain, lat_ns=total)})))["a"]
    assert (run["latency_us.read.mean"], run["measured.latency"]) == (2.6, "total")


def test_results_of_a_server_are_those_of_its_clients(tmp_path: Path) -> None:
    jobs = [{"jobname": "a", "hostname": "h", "read": side3()}, {"jobname": "All clients", "read": side3()}]
    runs = package.read_fio(written(tmp_path, {"fio version": "fio-3.36", "client_stats": jobs}))
    assert list(runs) == ["a@h"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"fio version": "fio-3.36"}, "jobs: expected a list of jobs"),
        (three(), "jobs: expected one job at least"),
        (three({"jobname": "a"}), "jobs[0]: expected read, write or trim"),
        (three({"jobname": "a", "mixed": side3()}), "expected a job without unified_rw_reporting"),
        (three({"jobname": "a", "read": side3(iops="x")}), 'jobs[0].read.iops: expected a number, found "x"'),
        (three({"jobname": "a", "read": side3(clat_ns=None, lat_ns=None)}), "jobs[0].read: expected latencies"),
        (three({"jobname": "a", "read": side3(iops=float("inf"))}), "jobs[0].read.iops: expected a number"),
        ({"jobs": []}, "not a result of flashweir simulate --json: expected"),
    ],
)
def test_bad_files_are_refused_in_one_line(data: object, said: str, tmp_path: Path) -> None:
    written(tmp_path, data)
    assert said in refused("report", "fio.json", "-o", "x.html", cwd=tmp_path)
    assert not (tmp_path / "x.html").exists()


def test_a_report_shows_fio_beside_a_simulation(tmp_path: Path) -> None:
    written(tmp_path, three({"jobname": "job", "read": side3(), "job options": {"rw": "read"}}))
    drive = ["--set", "capacity=64MiB"]
    flashweir("simulate", "random:span=8MiB,count=500,write=0", *drive, "--json", "ours.json", cwd=tmp_path)
    flashweir("report", "fio.json", "ours.json", "-o", "x.html", cwd=tmp_path)
    page = (tmp_path / "x.html").read_text()
    assert "fio: job" in page
    assert "fio-3.36" in page
    package.report({**package.read_fio(tmp_path / "fio.json")}, tmp_path / "y.html")
    assert "fio-3.36" in (tmp_path / "y.html").read_text()


def test_compare_sets_results_side_by_side(tmp_path: Path) -> None:
    written(tmp_path, three({"jobname": "a", "read": side3()}, {"jobname": "b", "read": side3(iops=256.0)}))
    found = flashweir("compare", "fio.json", "--json", "-", cwd=tmp_path).json()
    assert found["baseline"] == "fio: a"
    iops = found["metrics"][0]
    assert (iops["metric"], iops["values"]) == ("iops", {"fio: a": 512.0, "fio: b": 256.0})
    assert iops["ratios"] == {"fio: a": 1.0, "fio: b": 0.5}
    assert "256.0 (0.50x)" in flashweir("compare", "fio.json", cwd=tmp_path).out
    assert "--seeds: has no effect on results" in refused("compare", "fio.json", "--seeds", "3", cwd=tmp_path)
    assert "--baseline c: expected one of fio: a, fio: b" in refused(
        "compare", "fio.json", "--baseline", "c", cwd=tmp_path
    )


def test_jobs_of_several_files_are_paired_by_name(tmp_path: Path) -> None:
    """The order of jobs differs, and each file has one that the other lacks."""
    written(tmp_path, three({"jobname": "a", "read": side3()}, {"jobname": "b", "read": side3(iops=100.0)},
                            {"jobname": "c", "read": side3()}), "one.json")  # fmt: skip
    written(tmp_path, three({"jobname": "b", "read": side3(iops=50.0)}, {"jobname": "a", "read": side3()},
                            {"jobname": "d", "read": side3()}), "two.json")  # fmt: skip
    run = flashweir("compare", "one.json", "two.json", "--json", "-", cwd=tmp_path)
    found = run.json()
    ratios = found["metrics"][0]["ratios"]
    assert (ratios["two: a"], ratios["two: b"], ratios["two: d"]) == (1.0, 0.5, None)
    assert found["baseline"] == "one"
    assert found["compared_with"] == {"one: a": "one: a", "one: b": "one: b", "one: c": "one: c", "two: b": "one: b",
                                      "two: a": "one: a", "two: d": None}  # fmt: skip
    assert run.err == "note: compared with no other: two: d, one: c: no job of this name is in the other file\n"
    other = flashweir("compare", "one.json", "two.json", "--baseline", "two", "--json", "-", cwd=tmp_path).json()
    assert other["metrics"][0]["ratios"]["one: b"] == 2.0
    # A run by name is the baseline of all, and so is a file with one job.
    named = flashweir("compare", "one.json", "two.json", "--baseline", "one: b", "--json", "-", cwd=tmp_path)
    assert named.json()["metrics"][0]["ratios"]["two: d"] == 5.12
    assert named.err == ""
    written(tmp_path, three({"jobname": "x", "read": side3(iops=256.0)}), "single.json")
    single = flashweir("compare", "single.json", "one.json", "--json", "-", cwd=tmp_path)
    assert single.json()["metrics"][0]["ratios"]["one: a"] == 2.0
    assert single.err == ""
    out = flashweir("compare", "one.json", "two.json", cwd=tmp_path).out
    assert "\u2026" not in out
    assert "50.0" in out
    assert max(map(len, out.splitlines())) <= 80


def test_what_fio_writes_here_is_read(tmp_path: Path) -> None:
    options = ["--name=j", "--rw=randrw", "--bs=4k", "--size=1m", "--filename=data", "--fsync=32"]
    subprocess.run([tool("fio"), *options, "--output-format=json+", "--output=fio.json"], cwd=tmp_path, check=True,
                   capture_output=True, timeout=120)  # fmt: skip
    run = package.read_fio(tmp_path / "fio.json")["j"]
    assert run["requests"] == 256
    assert sum(count for _, count in run["latency_histogram_ns"]["read"]) == run["latency_us.read.count"]
    assert run["latency_us.flush.count"] > 0
    assert run["latency_us.read.p50"] <= run["latency_us.read.p99"] <= run["latency_us.read.max"] * 1.01
