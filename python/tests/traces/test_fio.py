"""Job files of fio as workloads: what is read, what is refused, and what becomes of the jobs."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import flashweir, refused

import flashweir as package
from flashweir import ConfigError
from flashweir.fio.jobfile import read
from flashweir.fio.resolving import jobs_as_trace, resolve
from flashweir.sweeps.points import Planner, runs
from flashweir.sweeps.spec import load

DRIVE = {"capacity": "64MiB", "pages_per_block": 16}


def job_file(folder: Path, text: str, name: str = "jobs.fio") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def table(file: str) -> pl.DataFrame:
    return pl.read_parquet(jobs_as_trace(file, {}, 64 << 20)[0])


def streams(folder: Path, text: str) -> list[dict[str, Any]]:
    return resolve([{"name": None, "spec": f"fio:{job_file(folder, text)}"}], None, DRIVE).workloads


def test_sections_have_their_options_over_those_of_the_globals_before(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("DEPTH", "8")
    job_file(tmp_path, "bs=8k ; from a file\nrw=read\n", "more.inc")
    jobs = read(
        job_file(
            tmp_path,
            "; a comment\n[global]\nsize=1m # another\n[a]\ninclude more.inc\n"
            "[global]\niodepth=${DEPTH}\n[b]\nrw = write\n",
        )
    )
    assert [(job.name, {name: one.value for name, one in job.options.items()}) for job in jobs] == [
        ("a", {"size": "1m", "bs": "8k", "rw": "read"}),
        ("b", {"size": "1m", "iodepth": "8", "rw": "write"}),
    ]
    assert (Path(jobs[0].options["bs"].file).name, jobs[0].options["bs"].line) == ("more.inc", 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[j]\nrw=write\nsize=1m\nzonemode=zbd\n",
            "jobs.fio: line 4: zonemode=zbd: this option of fio has no",
        ),
        ("[j]\nsize=1m\nread_iolog=x\n", "line 3: read_iolog=x: this option"),
        ("[j]\nsize=1m\niodept=4\n", "did you mean iodepth?"),
        ("[j]\nsize=1q\n", "line 2: size=1q: expected a size such as 4k"),
        ("[j]\nsize=1m\nrw=randwrit\n", "line 3: rw=randwrit: expected one of read"),
        ("[j]\nsize=1m\nbssplit=4k/60:8k/60\n", "expected percentages that add up to 100"),
        ("[j]\nsize=1m\nrate=1m\nrate_iops=5\n", "expected rate or rate_iops, not both"),
        ("[j]\nsize=1m\nstartdelay=5\n", "[j] startdelay: expected rate_iops"),
        ("[j]\nsize=1m\n[k]\nsize=1m\nrate_iops=5\n", "[j] has no rate and [k] has one"),
        ("[j]\nsize=1m\nrandom_distribution=zipf:1\nrw=randread\n", "expected zipf above 0 to 5 but not 1"),
        ("[j]\nsize=1k\nbs=4k\nrw=randread\n", "size=1k: expected room for one request"),
        ("[j]\nwait_for=k\nsize=1m\n", "wait_for=k: expected the name of a job before it"),
        ("[j]\nnrfiles=2\nsize=1m\n", "nrfiles=2: expected 1"),
        ("[j]\nfilename=a:b\nsize=1m\n", "expected one file or device"),
        ("[j]\nsize=${NOT_SET_ANYWHERE}\n", "expected the environment to have NOT_SET_ANYWHERE"),
        ("[j]\ninclude nothing.inc\n", "expected a file, here or beside jobs.fio"),
        ("rw=read\n", "line 1: rw=read: expected a section such as [job] before it"),
        ("[global]\nrw=read\n", "no job: expected a section"),
        ("[j]\nrw=randwrite\nsize=100t\n", "expected at most 33,554,432: set number_ios"),
    ],
)
def test_what_has_no_counterpart_is_refused_in_one_line(text: str, said: str, tmp_path: Path) -> None:
    job_file(tmp_path, text)
    message = refused("simulate", "fio:jobs.fio", "--set", "capacity=64MiB", cwd=tmp_path)
    assert said in message


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    assert "fio:none.fio: No such file" in refused("simulate", "fio:none.fio", cwd=tmp_path)
    (tmp_path / "x.fio").write_bytes(b"[a]\n\xff\xfe\n")
    assert "is no UTF-8" in refused("simulate", "fio:x.fio", cwd=tmp_path)
    (tmp_path / "dir").mkdir()
    assert "Is a directory" in refused("simulate", "fio:dir", cwd=tmp_path)


def test_a_job_that_a_generator_describes_becomes_one(tmp_path: Path) -> None:
    for text, kind in (
        ("rw=write\nbs=64k", "sequential"),
        ("rw=randwrite\nnorandommap", "random"),
        ("rw=randread\nrandom_distribution=zipf:1.2", "zipf"),
        ("rw=randtrim\nnorandommap", "random"),
    ):
        (stream,) = streams(tmp_path, f"[j]\nsize=8m\n{text}\n")
        assert stream["spec"].startswith(f"{kind}:span=8388608B"), stream
        result = package.simulate(f"fio:{tmp_path / 'jobs.fio'}", set=DRIVE)
        assert result["requests"] == (128 if "64k" in text else 2048)


def test_other_jobs_become_tables(tmp_path: Path) -> None:
    (stream,) = streams(tmp_path, "[j]\nsize=8m\nrw=randwrite\n")
    written = pl.read_parquet(stream["spec"], glob=False)
    assert sorted(written["offset"]) == list(range(0, 8 << 20, 4096))
    assert Path(stream["spec"]).name == "jobs.fio[j]"


def test_files_lie_one_after_the_other_and_a_common_file_is_shared(tmp_path: Path) -> None:
    own = table(job_file(tmp_path, "[global]\nrw=write\nsize=1000k\n[a]\n[b]\nnumjobs=2\n"))
    assert sorted(own["offset"])[::250] == [0, 1 << 20, 2 << 20]
    shared = table(job_file(tmp_path, "[global]\nrw=write\nsize=1m\nfilename=/dev/x\n[a]\n[b]\noffset=4m\n"))
    assert (shared["offset"].min(), shared["offset"].max()) == (0, (5 << 20) - 4096)


def test_percentages_and_a_missing_size_are_of_the_drive(tmp_path: Path) -> None:
    parts = table(job_file(tmp_path, "[a]\nrw=write\nbs=1m\nsize=25%\noffset=50%\n"))
    assert (parts["offset"].min(), parts.height) == (32 << 20, 16)
    assert table(job_file(tmp_path, "[a]\nrw=write\nbs=1m\n")).height == 64
    with pytest.raises(ConfigError, match="no drive is known here"):
        package.trace_info(f"fio:{tmp_path / 'jobs.fio'}")


def test_clones_take_steps_of_offset_increment(tmp_path: Path) -> None:
    text = "[a]\nrw=write\nbs=64k\nsize=1m\nnumjobs=3\noffset_increment=2m\nfilename=x\n"
    found = table(job_file(tmp_path, text))
    assert sorted(set(found["offset"] // (1 << 20))) == [0, 2, 4]


def test_jobs_enter_in_proportion_to_their_depth(tmp_path: Path) -> None:
    text = "[global]\nrw=write\nbs=4k\nsize=1m\n[a]\niodepth=3\n[b]\niodepth=1\n"
    result = package.simulate(f"fio:{job_file(tmp_path, text)}", set=DRIVE)
    assert result["config.host.queue_depth"] == 4
    first = table(str(tmp_path / "jobs.fio"))["offset"][:128]
    assert (first < 1 << 20).sum() == pytest.approx(96, abs=2)


def test_a_job_waits_for_those_before_a_stonewall(tmp_path: Path) -> None:
    text = "[global]\nrw=write\nbs=4k\nsize=256k\n[a]\n[b]\n[c]\nstonewall\n[d]\nwait_for=c\n"
    with pytest.warns(package.FlashweirWarning, match="jobs follow in order"):
        order = (table(job_file(tmp_path, text))["offset"] // (1 << 20)).to_list()
    assert sorted(order[:128]) == [0] * 64 + [1] * 64
    assert order[128:] == [2] * 64 + [3] * 64


def test_rates_make_an_open_loop(tmp_path: Path) -> None:
    text = "[a]\nrw=randrw\nsize=1m\nrate_iops=1000,500\nruntime=2\ntime_based\nstartdelay=10ms\n"
    found = table(job_file(tmp_path, text))
    assert found.group_by("op").len().sort("op").rows() == [("read", 2000), ("write", 1000)]
    assert (found["time"].min(), found["time"].max()) == (10_000_000, 2_009_000_000)
    assert package.simulate(f"fio:{tmp_path / 'jobs.fio'}", set=DRIVE)["config.host.mode"] == "open"
    by_bytes = table(job_file(tmp_path, "[a]\nrw=write\nbs=8k\nsize=1m\nrate=800k\n"))
    assert by_bytes["time"][1] == 10_000_000
    poisson = streams(tmp_path, "[a]\nrw=write\nsize=1m\nrate_iops=100\nrate_process=poisson\n")
    assert "rate=100" in poisson[0]["spec"]


def test_pauses_are_gaps_between_arrivals(tmp_path: Path) -> None:
    text = "[a]\nrw=randwrite\nsize=64k\nthinktime=100\nthinktime_blocks=4\n"
    with pytest.warns(package.FlashweirWarning, match="requests arrive every 100 us"):
        found = table(job_file(tmp_path, text))
    assert found["time"].to_list() == [at // 4 * 100_000 for at in range(16)]


def test_trims_are_written_after(tmp_path: Path) -> None:
    found = table(job_file(tmp_path, "[a]\nrw=randtrimwrite\nsize=64k\n"))
    assert found["op"].to_list() == ["trim", "write"] * 16
    assert found["offset"][::2].to_list() == found["offset"][1::2].to_list()


def test_a_closed_loop_says_that_it_does_not_end_by_time(tmp_path: Path) -> None:
    job_file(tmp_path, "[a]\nsize=1m\nruntime=60\ntime_based\ndirect=1\nioengine=libaio\ngroup_reporting\n")
    run = flashweir("simulate", "fio:jobs.fio", "--set", "capacity=64MiB", "--json", "-", cwd=tmp_path)
    assert run.json()["requests"] == 256
    assert "note: fio:jobs.fio: [a] runtime: a closed loop ends by its number of requests: 1,048,576 bytes" in run.err
    assert "note: fio:jobs.fio: ignored: direct, group_reporting, ioengine\n" in run.err


def test_settings_of_the_caller_hold_against_the_job_file(tmp_path: Path) -> None:
    workload = "fio:" + job_file(tmp_path, "[a]\nsize=1m\niodepth=8\n")
    assert package.simulate(workload, set=DRIVE)["config.host.queue_depth"] == 8
    assert package.simulate(workload, set={**DRIVE, "host.queue_depth": 2})["config.host.queue_depth"] == 2


def test_sweeps_and_comparisons_take_job_files(tmp_path: Path) -> None:
    job_file(tmp_path, "[a]\nrw=randwrite\nsize=4m\n")
    spec = load(
        {"workloads": {"x": "fio:jobs.fio"}, "set": DRIVE, "axes": {"channels": [1, 2]}, "seeds": [1, 2]}, tmp_path
    )
    planner = Planner()
    keys = [planner.plan(run).key for run in runs(spec)]
    # Random blocks are others under another seed.
    assert len(set(keys)) == 4
    assert keys == [Planner().plan(run).key for run in runs(spec)]
    done = flashweir("compare", "fio:jobs.fio", "--policies", "greedy,random", "--seeds", "2",
                     "--threads", "1", "--set=capacity=64MiB", "--json", "-", cwd=tmp_path)  # fmt: skip
    assert [row["runs"] for row in done.json()["rows"]] == [2, 2]


def test_a_replay_takes_depth_and_times_of_the_jobs(tmp_path: Path) -> None:
    job_file(tmp_path, "[a]\nrw=randwrite\nsize=4m\niodepth=5\n")
    done = flashweir("replay", "fio:jobs.fio", "sim:tlc,capacity=2GiB", "--json", "-", cwd=tmp_path).json()
    assert (done["requests"], done["timing"], done["max_outstanding"]) == (1024, "closed", 5)
    job_file(tmp_path, "[a]\nrw=randwrite\nsize=1%\nrate_iops=1000\nnumber_ios=50\n")
    done = flashweir("replay", "fio:jobs.fio", "sim:tlc,capacity=2GiB", "--json", "-", cwd=tmp_path).json()
    assert (done["requests"], done["planned_s"]) == (50, 0.049)


def test_a_trace_is_made_of_a_job_file(tmp_path: Path) -> None:
    job_file(tmp_path, "[a]\nrw=write\nsize=1m\nfsync=16\nrate_iops=100\n")
    flashweir("trace", "convert", "fio:jobs.fio", "out.iolog3", cwd=tmp_path)
    info = json.loads(flashweir("trace", "info", "out.iolog3", "--json", "-", cwd=tmp_path).out)
    assert (info["writes"], info["flushes"], info["duration_s"]) == (256, 15, 2.55)
    assert package.trace_info(f"fio:{tmp_path / 'jobs.fio'}")["writes"] == 256
    assert "has no effect with fio:" in refused("trace", "info", "fio:jobs.fio", "--format", "msr", cwd=tmp_path)


def test_a_job_file_of_one_job_is_a_tenant_among_others(tmp_path: Path) -> None:
    file = job_file(tmp_path, "[a]\nrw=randwrite\nsize=1m\n")
    result = package.simulate({"x": f"fio:{file}", "y": "random:span=1MiB,count=10"}, set=DRIVE)
    assert (result["streams.x.requests"], result["streams.y.requests"]) == (256, 10)
    file = job_file(tmp_path, "[a]\nrw=randwrite\nsize=1m\n[b]\nsize=1m\n")
    with pytest.raises(ConfigError, match="2 jobs; expected one in a tenant"):
        package.simulate({"x": f"fio:{file}", "y": "random:span=1MiB,count=10"}, set=DRIVE)


def test_placement_identifiers_are_handles_of_writes(tmp_path: Path) -> None:
    job = "[a]\nrw=randrw\nsize=1m\nfdp=1\nfdp_pli=3,5\nfdp_pli_select=roundrobin\n"
    found = table(job_file(tmp_path, job))
    writes = found.filter(pl.col("op") == "write")["handle"].to_list()
    assert writes[:4] == [3, 5, 3, 5]
    assert set(found.filter(pl.col("op") == "read")["handle"]) == {0}
    drawn = table(job_file(tmp_path, job.replace("fdp_pli_select=roundrobin\n", ""), "b.fio"))
    assert 0.4 < (drawn.filter(pl.col("op") == "write")["handle"] == 3).mean() < 0.6  # type: ignore[operator]
    # Other draws stay as they were without handles.
    without = table(job_file(tmp_path, "[a]\nrw=randrw\nsize=1m\n", "c.fio"))
    assert found.drop("handle").equals(without)


def test_one_placement_identifier_is_that_of_the_generator(tmp_path: Path) -> None:
    job = "[a]\nrw=randwrite\nnorandommap\nsize=1m\ndataplacement=fdp\nplids=2\n"
    assert streams(tmp_path, job)[0]["spec"].endswith(",stream=2")
    assert "stream" not in streams(tmp_path, job.replace("dataplacement=fdp\n", ""))[0]["spec"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a]\nsize=1m\nfdp=1\n", "line 3: fdp=1: expected plids=... (fdp_pli) with it"),
        ("[a]\nsize=1m\nfdp=1\nfdp_pli=256\n", "line 4: fdp_pli=256: expected whole numbers from 0 to 255"),
        ("[a]\nsize=1m\nfdp=1\nfdp_pli=1\nfdp_pli_select=scheme\n", "expected random or roundrobin"),
    ],
)
def test_bad_placement_options_say_what_is_expected(tmp_path: Path, text: str, said: str) -> None:
    job_file(tmp_path, text)
    assert said in refused("simulate", "fio:jobs.fio", cwd=tmp_path)
