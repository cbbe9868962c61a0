"""Tenants with options and mixes, from Python, on the command line, and in sweeps."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import flashweir
from flashweir import ConfigError
from flashweir.sweeps.points import Planner, resolved, runs
from flashweir.sweeps.spec import load
from flashweir.tenants import OPTIONS

DRIVE = {"capacity": "64MiB", "pages_per_block": 16, "host.mode": "open"}
MIX = """
[tenants.web]
workload = "a.csv"
[tenants.db]
workload = "random:span=4MiB,count=50,rate=1000"
time_scale = "1/2"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    trace(tmp_path / "a.csv")
    (tmp_path / "m.toml").write_text(MIX)
    return tmp_path


def trace(path: Path, count: int = 100) -> None:
    lines = (
        f"{128116512000000000 + at * 10000},h,0,{('Write', 'Read')[at % 2]},{at * 81920},8192,1" for at in range(count)
    )
    path.write_text("\n".join(lines) + "\n")


def sweep_of(workloads: object, folder: Path, **more: Any) -> Any:
    return load({"workloads": workloads, "set": DRIVE, **more}, folder)


def keys(workloads: object, folder: Path) -> list[str]:
    planner = Planner()
    return [planner.plan(run).key for run in runs(sweep_of(workloads, folder))]


def test_a_tenant_may_be_a_mapping(folder: Path) -> None:
    workload = {
        "web": {"workload": folder / "a.csv", "limit": 30, "time_scale": "1/100"},
        "db": "random:span=1MiB,count=9,rate=10",
    }
    result = flashweir.simulate(workload, set=DRIVE)
    assert result["streams.web.latency_us.write.count"] == 15
    assert result.workloads[0]["options"] == {"limit": 30, "time_scale": "1/100"}


def test_a_mix_is_a_workload(folder: Path) -> None:
    result = flashweir.simulate(f"mix:{folder / 'm.toml'}", set=DRIVE)
    assert list(result.streams) == ["web", "db"]


@pytest.mark.parametrize(("given", "message"), [
    ({"workload": "random", "tiem_scale": 2}, "workload web: tiem_scale: unknown key; did you mean time_scale"),
    ({"time_scale": 2}, "workload web: expected a trace file, a generator, or a table with one as workload"),
    ({"workload": "random", "limit": "3"}, "workload web.limit: '3': expected a whole number"),
    ({"workload": "random", "start": [1]}, "workload web.start: \\[1\\]: expected a text or a number"),
    ({"workload": "random:rate=1", "time_scale": 0}, 'workload web: time_scale "0": expected a number above 0'),
    ("mix:m.toml", "mix:m.toml: expected the mix alone and without a name"),
])  # fmt: skip
def test_what_is_no_tenant_is_named(given: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        flashweir.simulate({"web": given})


def test_the_command_line_takes_a_mix(folder: Path) -> None:
    from flashweir.cli import application

    settings = [part for key, value in DRIVE.items() for part in ("--set", f"{key}={value}")]
    done = CliRunner().invoke(application(), ["simulate", f"mix:{folder / 'm.toml'}", *settings, "--json", "-"])
    assert list(json.loads(done.stdout)["streams"]) == ["web", "db"]
    refused = CliRunner().invoke(application(), ["simulate", "--workload", f"x=mix:{folder / 'm.toml'}"])
    assert refused.exit_code
    assert "a mix is the whole WORKLOAD" in str(refused.exception or refused.output)


def test_a_result_never_replaces_a_trace_of_the_mix(folder: Path) -> None:
    from flashweir.cli import application

    for taken in ("a.csv", "m.toml"):
        before = (folder / taken).read_bytes()
        arguments = ["simulate", f"mix:{folder / 'm.toml'}", "--json", str(folder / taken)]
        refused = CliRunner().invoke(application(), arguments)
        assert "is read or written already" in str(refused.exception or refused.output)
        assert (folder / taken).read_bytes() == before


def test_what_a_mix_holds(folder: Path) -> None:
    found = flashweir.trace_info(f"mix:{folder / 'm.toml'}")
    assert (found.requests, found["tenants.web.requests"], found["tenants.db.share"]) == (150, 100, 1 / 3)


def test_a_run_of_a_mix_is_what_its_tenants_are(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    before = keys("mix:m.toml", folder)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    trace(elsewhere / "a.csv")
    (elsewhere / "m2.toml").write_text("# The same, with a comment.\n" + MIX)
    assert keys("mix:m2.toml", elsewhere) == before
    for change in (MIX.replace("1/2", "1/3"), 'volumes = "shared"\n' + MIX, MIX.replace("tenants.db", "tenants.mail")):
        (folder / "m.toml").write_text(change)
        assert keys("mix:m.toml", folder) != before
    (folder / "m.toml").write_text(MIX)
    assert keys("mix:m.toml", folder) == before
    trace(folder / "a.csv", 101)
    assert keys("mix:m.toml", folder) != before


def test_what_was_planned_is_what_is_run(folder: Path) -> None:
    (run,) = runs(sweep_of("mix:m.toml", folder))
    planned = Planner().plan(run)
    assert planned.traces == [str(folder / "a.csv")]
    (folder / "m.toml").unlink()
    spec = resolved(planned)
    assert [one["name"] for one in spec["workloads"]] == ["web", "db"]
    assert spec["workloads"][0]["content"] == planned.contents[str(folder / "a.csv")].digest
    assert spec["workloads"][1]["offset"] == "32MiB"


def test_sweeps_run_mixes_and_tenants_with_options(folder: Path) -> None:
    web = {"workload": "a.csv", "time_scale": "{speed}"}
    two = {"web": web, "db": "random:span=1MiB,count=9,rate=9"}
    spec = {"workloads": {"mixed": "mix:m.toml", "two": two}, "set": DRIVE, "axes": {"speed": ["1", "1/2"]}}
    (folder / "s.toml").write_text(
        '[workloads]\nmixed = "mix:m.toml"\n[workloads.two]\ndb = "random:span=1MiB,count=9,rate=9"\n'
        'web = {workload = "a.csv", time_scale = "{speed}"}\n[set]\ncapacity = "64MiB"\nhost.mode = "open"\n'
        '[axes]\nspeed = ["1", "1/2"]\n'
    )  # fmt: skip
    for given in (folder / "s.toml", spec):
        sweep = load(given, folder)
        assert len(list(runs(sweep))) == 3
    frame = flashweir.sweep(folder / "s.toml", folder / "out")
    assert frame["error"].null_count() == 3
    seconds = frame.filter(frame["workload"] == "two")["simulated_s"].to_list()
    assert seconds[0] > 0


def test_a_run_of_a_sweep_is_that_of_simulate_with_its_seed(tmp_path: Path) -> None:
    one = "random:span=4MiB,count=300,rate=1000,write=0.5"
    (tmp_path / "m.toml").write_text(f'[tenants.a]\nworkload = "{one}"\n[tenants.b]\nworkload = "{one}"\n')
    mix = f"mix:{tmp_path / 'm.toml'}"
    rows = flashweir.sweep({"workloads": mix, "set": DRIVE, "seeds": [1, 7]})
    for row in rows.iter_rows(named=True):
        result = flashweir.simulate(mix, set=DRIVE, seed=row["seed"])
        assert row["latency_us.read.mean"] == result["latency_us.read.mean"]
        # The tenants draw from seeds of their own.
        reads = [result[f"streams.{name}.latency_us.read.count"] for name in "ab"]
        assert reads[0] != reads[1]


def test_a_wrong_tenant_of_a_sweep_is_named(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"workloads\.w\.web: sped: unknown key"):
        sweep_of({"w": {"web": {"workload": "a.csv", "sped": 1}}}, folder)


def test_options_are_those_of_the_engine() -> None:
    with pytest.raises(ConfigError) as found:
        flashweir._native.plan(json.dumps({"workloads": [{"spec": "random", "nonsense": 1}]}))
    listed = str(found.value)
    assert all(f"`{option}`" in listed for option in OPTIONS)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "\x1b[31mred"])
def test_names_that_a_table_can_not_show_are_refused(name: str) -> None:
    with pytest.raises(flashweir.ConfigError, match="workload name") as caught:
        flashweir.simulate(
            {name: "random:span=1MiB,count=5", "b": "random:span=1MiB,count=5"}, set={"capacity": "64MiB"}
        )
    assert str(caught.value).isprintable()
