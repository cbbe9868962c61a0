"""Bundles: each kind is packed, checked by running it again, and a change is found."""

import json
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from bundle_samples import DRIVE, MIX, TRACE, members, packed_again
from conftest import flashweir as command
from conftest import refused

import flashweir
from flashweir.bundles import toml
from flashweir.bundles.differences import of_results

if TYPE_CHECKING:
    from collections.abc import Mapping


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a trace, a mix and a device; it is the current one."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TRACE, encoding="utf-8")
    Path("mix.toml").write_text(MIX, encoding="utf-8")
    Path("small.toml").write_text(DRIVE, encoding="utf-8")
    return tmp_path


def simulated(name: str, workload: Any, **options: Any) -> str:
    """Runs a workload on the small drive; the result lies in the file."""
    result = flashweir.simulate(workload, "small.toml", **{"latency_parts": True, **options})
    Path(name).write_text(result.to_json(), encoding="utf-8")
    return name


def checked(path: str, *, traces: str | None = None) -> Any:
    found = flashweir.check_bundle(path, traces)
    assert found["equal"], found["differences"]
    assert not found["versions"]
    return found


@pytest.mark.parametrize(
    ("workload", "options"),
    [
        ("random:count=300,span=16MiB,seed=3", {}),
        ("random:count=300,span=16MiB", {"seed": 0}),
        ("random:count=300,span=16MiB", {"seed": 7, "warmup": "requests=20", "verify": True}),
        ("random:count=300,span=16MiB", {"warmup": "mser-5", "explain": "p99"}),
        ("random:count=300,span=16MiB", {"activity": True, "power_cut": 4}),
        ("random:count=300,span=16MiB", {"activity": "1ms..2ms", "power_cut": ["1ms", "2ms"]}),
        ("random:count=300,span=16MiB", {"set": {"sched.write_bound": "5ms", "op_raw": 0.2}, "latency_parts": False}),
        ("t.csv", {"format": "msr"}),
        ("random:count=100", {"wrap": True}),
        ("t.csv", {"format": "msr", "wrap": True, "set": {"capacity": "16MiB"}}),
        ({"a": "random:span=16MiB,count=100", "b": "random:span=16MiB,count=100,write=0"}, {"alone": True}),
        (["random:span=16MiB,count=100", "t.csv"], {}),
        ({"a": {"workload": "t.csv", "time_scale": "1/10", "format": "msr"}}, {"set": {"host.mode": "open"}}),
        ("mix:mix.toml", {"alone": True, "set": {"host.mode": "open"}}),
        ("mix:mix.toml", {"windows": True, "set": {"tenants.channels": "shared", "alloc.kind": "dynamic"}}),
    ],
    ids=str,
)
@pytest.mark.usefixtures("here")
def test_a_result_is_made_again_from_what_it_says(workload: Any, options: dict[str, Any]) -> None:
    flashweir.bundle(simulated("run.json", workload, **options), "run.tar.zst", traces=True)
    assert checked("run.tar.zst")["runs"] == 1


def test_the_command_of_the_manifest_makes_the_result(here: Path) -> None:
    run = simulated("a b.json", "mix:mix.toml", seed=5, warmup="requests=1", power_cut=["1ms"], activity=True)
    manifest = flashweir.bundle(run, "b.tar.zst", traces=True)
    for path, content in members(Path("b.tar.zst")).items():
        place = here / "unpacked" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    words = manifest["runs"][0]["command"].split()
    assert words[:2] == ["flashweir", "simulate"]
    command(*words[1:], cwd=here / "unpacked")
    again = json.loads((here / "unpacked" / "again.json").read_text())
    assert not list(of_results(json.loads(Path(run).read_text()), again))


@pytest.mark.usefixtures("here")
def test_several_results_are_one_bundle() -> None:
    runs = [simulated(name, f"random:span=16MiB,count={count}") for name, count in (("a.json", 100), ("b.json", 200))]
    flashweir.bundle(runs, "both.tar.zst")
    assert checked("both.tar.zst")["runs"] == 2


def sweep_of(folder: Path, **more: Any) -> Path:
    """A sweep in another folder than the current one, over a trace, a mix, streams and devices."""
    spec = {
        "workloads": {"trace": "t.csv", "mixed": "mix:mix.toml", "some": "random:span=16MiB,count=100,write={write}",
                      "two": {"a": {"workload": "t.csv", "limit": 2}, "b": "random:span=16MiB,count=50"}},
        "axes": {"device": ["small.toml", "mqsim-mlc"], "write": [0.2, 1]},
        "derived": {"twice": "2 * iops"},
        "format": "msr",
        **more,
    }  # fmt: skip
    Path("sweep-source.toml").write_text(toml.dumps(spec), encoding="utf-8")
    flashweir.sweep("sweep-source.toml", folder / "swept", threads=1)
    return folder / "swept"


def test_a_sweep_is_packed_with_all_that_it_names(here: Path) -> None:
    (here / "recorded").mkdir()
    swept = sweep_of(here, format=None, traces="recorded")
    manifest = flashweir.bundle(swept, "s.tar.zst", traces=True)
    assert b'traces = "traces"' in members(Path("s.tar.zst"))["sweep.toml"]
    assert checked("s.tar.zst")["runs"] == 10
    assert manifest["kind"] == "sweep"
    assert [(one["name"], one["requests"], one["included"]) for one in manifest["traces"]] == [("t.csv", 3, True)]
    files = members(Path("s.tar.zst"))
    assert files["devices/small.toml"] == DRIVE.encode()
    assert b'"mix:mix-mix.toml"' in files["sweep.toml"]
    assert str(here).encode() not in files["sweep.toml"] + files["mix-mix.toml"] + files["MANIFEST.json"]


def test_paths_of_a_sweep_start_from_base(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep_of(here / "results", format=None)
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    with pytest.raises(flashweir.ConfigError, match="small"):
        flashweir.bundle(here / "results" / "swept", "s.tar.zst")
    flashweir.bundle(here / "results" / "swept", "s.tar.zst", base=here)
    checked("s.tar.zst", traces=str(here))


def test_a_comparison_with_refused_policies(here: Path) -> None:
    policies = {"fifo": {"gc.victim": "fifo"}, "d": {"gc.victim": "d-choices"}, "none": {"gc.choices": 4}}
    flashweir.compare(["t.csv", "random:span=16MiB,count=300"], policies,
                      device="small.toml", seeds=2, directory=here / "cmp", threads=1)  # fmt: skip
    flashweir.bundle("cmp", "cmp.tar.zst")
    assert checked("cmp.tar.zst", traces=".")["kind"] == "sweep"


def test_failed_runs_are_results_too(here: Path) -> None:
    spec = {"workloads": "random:span=16MiB,count=100", "axes": {"channels": [2, 10**9]}}
    flashweir.sweep(spec, here / "some", threads=1)
    flashweir.bundle("some", "some.tar.zst")
    checked("some.tar.zst")


@pytest.mark.usefixtures("here")
def test_reports_go_with_their_source() -> None:
    run = simulated("run.json", "random:span=16MiB,count=300")
    flashweir.report([run], "page.html")
    flashweir.bundle(run, "r.tar.zst", report="page.html")
    assert checked("r.tar.zst")["report"] == "equal"
    other = simulated("other.json", "random:span=16MiB,count=200")
    with pytest.raises(flashweir.ConfigError, match=r"report page\.html: is not the page of this source"):
        flashweir.bundle(other, "r.tar.zst", report="page.html")


@pytest.mark.usefixtures("here")
def test_the_machine_of_a_report_is_any_and_nothing_but_text() -> None:
    """A page that another machine wrote belongs to the same source, but nothing is hidden in its last section."""
    run = simulated("run.json", "random:span=16MiB,count=300")
    flashweir.report([run], "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    host = f"<dd>host: {platform.node()}</dd>"
    assert page.count(host) == 1
    for text, fits in (("<dd>host: elsewhere</dd>", True), ("<dd><b>elsewhere</b></dd>", False)):
        Path("page.html").write_text(page.replace(host, text), encoding="utf-8")
        if fits:
            flashweir.bundle(run, "r.tar.zst", report="page.html")
            assert checked("r.tar.zst")["report"] == "equal"
        else:
            with pytest.raises(flashweir.ConfigError, match="is not the page of this source"):
                flashweir.bundle(run, "r.tar.zst", report="page.html")


@pytest.mark.usefixtures("here")
def test_a_report_of_a_sweep() -> None:
    flashweir.sweep({"workloads": "random:span=16MiB,count=100", "axes": {"channels": [1, 2]}}, "s", threads=1)
    flashweir.read_sweep("s").report("page.html")
    flashweir.bundle("s", "s.tar.zst", report="page.html")
    assert checked("s.tar.zst")["report"] == "equal"


def changed(path: str, change: Any, file: str = "results/run.json") -> None:
    """A bundle whose result is another one, with hashes that fit."""

    def edit(files: dict[str, bytes]) -> None:
        result = json.loads(files[file])
        change(result)
        files[file] = json.dumps(result).encode()

    packed_again(Path(path), edit)


@pytest.mark.usefixtures("here")
def test_a_wrong_result_is_found() -> None:
    flashweir.bundle(simulated("run.json", "random:span=16MiB,count=300"), "r.tar.zst")
    iops = json.loads(Path("run.json").read_text())["iops"]
    changed("r.tar.zst", lambda result: result.update(iops=iops + 1))
    found = flashweir.check_bundle("r.tar.zst")
    assert (found["equal"], found["differing_runs"]) == (False, 1)
    assert found["differences"] == [{"run": "run", "field": "iops", "packed": iops + 1, "here": iops}]
    run = command("check-bundle", "r.tar.zst", code=1)
    assert run.out == f"iops: {iops + 1} in the bundle, {iops} here\n"
    assert run.err.splitlines()[-1] == "error: r.tar.zst: 1 of 1 runs gave another result"


@pytest.mark.usefixtures("here")
def test_a_wrong_row_of_a_sweep_is_found() -> None:
    flashweir.sweep(
        {"workloads": "random:span=16MiB,count=100", "axes": {"channels": [1, 2]}, "seeds": 2}, "s", threads=1
    )
    flashweir.bundle("s", "s.tar.zst")

    def edit(files: dict[str, bytes]) -> None:
        rows = [json.loads(line) for line in files["results/runs.jsonl"].splitlines()]
        rows[1]["iops"] = 1.5
        rows[2]["result"]["counters"]["collections"] = 99
        files["results/runs.jsonl"] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    packed_again(Path("s.tar.zst"), edit)
    found = flashweir.check_bundle("s.tar.zst")
    assert (found["runs"], found["differing_runs"]) == (4, 2)
    fields = {one["field"]: one["packed"] for one in found["differences"]}
    assert fields == {"column iops": "1.5", "counters.collections": 99}


@pytest.mark.usefixtures("here")
def test_a_large_sweep_is_compared_whatever_its_files_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of a sweep has a thousand runs; here the first fifty are one, and the others are in no part yet."""
    spec = {"workloads": "random:count=10,span=1MiB", "axes": {"host.queue_depth": [1, 2]}, "seeds": 25}
    with monkeypatch.context() as smaller:
        smaller.setattr("flashweir.sweeps.store.PART_ROWS", 50)
        flashweir.sweep(spec, "s", threads=1)
    assert [path.name for path in Path("s").glob("*.parquet")] == ["runs-00000.parquet"]
    assert not Path("s/runs.jsonl").stat().st_size
    flashweir.sweep(spec | {"seeds": 51}, "s", threads=1, resume=True)
    assert Path("s/runs.jsonl").stat().st_size
    flashweir.bundle("s", "s.tar.zst")
    assert checked("s.tar.zst")["runs"] == 102


@pytest.mark.usefixtures("here")
def test_other_versions_are_named_first() -> None:
    flashweir.bundle(simulated("run.json", "random:span=16MiB,count=300"), "r.tar.zst")

    def edit(files: dict[str, bytes]) -> None:
        manifest = json.loads(files["MANIFEST.json"])
        manifest["versions"]["build"] = "0123"
        files["MANIFEST.json"] = json.dumps(manifest).encode()

    packed_again(Path("r.tar.zst"), edit)
    lines = command("check-bundle", "r.tar.zst").out.splitlines()
    assert lines[0].startswith("build: 0123 in the bundle, ")
    assert lines[1] == "equal: 1 run made again, with the same result"


@pytest.mark.usefixtures("here")
def test_missing_traces_are_named_with_their_hashes(tmp_path: Path) -> None:
    manifest = flashweir.bundle(simulated("run.json", "t.csv", format="msr"), "r.tar.zst")
    sha256 = manifest["traces"][0]["sha256"]
    assert "traces/t.csv" not in members(Path("r.tar.zst"))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "t.csv").write_text(TRACE.replace("Read", "Rea "), encoding="utf-8")
    for more in ([], ["--traces", "other"]):
        run = command("check-bundle", "r.tar.zst", *more, code=3)
        assert run.out == f"missing trace t.csv: sha256 {sha256}, {len(TRACE)} bytes\n"
        assert run.err.count("\n") == 1
    # Found by what is in it.
    (tmp_path / "other" / "deep").mkdir()
    (tmp_path / "other" / "deep" / "renamed").write_text(TRACE, encoding="utf-8")
    found = command("check-bundle", "r.tar.zst", "--traces", "other", "--json", "-").json()
    assert found["equal"]
    assert not found["missing"]


@pytest.mark.usefixtures("here")
def test_the_same_input_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    run = simulated("run.json", "mix:mix.toml")
    for name in ("a", "b"):
        manifest = flashweir.bundle(run, f"{name}.tar.zst", traces=True)
        os.utime("t.csv", (1, 1))
    assert manifest["created"] == "2023-11-14T22:13:20+00:00"
    assert Path("a.tar.zst").read_bytes() == Path("b.tar.zst").read_bytes()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    with pytest.raises(flashweir.ConfigError, match="SOURCE_DATE_EPOCH soon: expected seconds since 1970"):
        flashweir.bundle(run, "c.tar.zst")
    assert not Path("c.tar.zst").exists()


@pytest.mark.usefixtures("here")
def test_the_command_packs_and_keeps_what_is_there() -> None:
    simulated("run.json", "t.csv", format="msr")
    run = command("bundle", "run.json", "--traces")
    assert run.out.startswith("run.tar.zst: a result, ")
    assert refused("bundle", "run.json") == "-o run.tar.zst: is there already: --force replaces it"
    command("bundle", "run.json", "--force")
    Path("mine.tar.zst").write_text("mine", encoding="utf-8")
    expected = "-o mine.tar.zst: is there already, and is no bundle of flashweir: expected another name"
    assert refused("bundle", "run.json", "-o", "mine.tar.zst", "--force") == expected


@pytest.mark.usefixtures("here")
def test_columns_of_a_table_are_given() -> None:
    Path("table.csv").write_text("0.1,W,0,4096\n0.2,R,8192,4096\n", encoding="utf-8")
    columns = "time=0:s,op=1,lba=2:bytes,size=3:bytes"
    run = simulated("run.json", "table.csv", columns=columns)
    with pytest.raises(flashweir.ConfigError, match="columns"):
        flashweir.bundle(run, "r.tar.zst")
    flashweir.bundle(run, "r.tar.zst", columns=columns, traces=True)
    checked("r.tar.zst")


def test_toml_is_read_as_it_was_written() -> None:
    table: Mapping[str, Any] = {
        "a": 1, "b.c": [1.5, "x\x7f\n\"é", True, {"in": [], "deep er": "y"}], "big": 2**64 - 1, "small": 1e-7,
        "empty": {},
        "t": {"order": {"one": {"a": {"b": 1}}, "two": 2, "three": {"c": 3}}, "u": {"v": 1},
                        "w": {"x": {"y": "z"}}}, "last": {"q": False, "r": {"s": ""}},
    }  # fmt: skip
    import tomllib

    found = tomllib.loads(toml.dumps({**table, "none": None}))
    assert found == table
    # Axes cross in their order.
    assert list(found["t"]["order"]) == ["one", "two", "three"]


def test_the_package_starts_without_bundles() -> None:
    code = "import flashweir.cli, sys; print([name for name in sys.modules if 'zstd' in name or 'bundles' in name])"
    import subprocess

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
