"""Placement handles by rules: `--hint` on the command line, in Python, in mixes and sweeps."""

from pathlib import Path

import polars as pl
import pytest
from conftest import flashweir, refused

import flashweir as package
from flashweir import ConfigError, TraceError

IOLOG = "fio version 3 iolog\n0 hot add\n" + "".join(
    f"{10 * turn} {'hot' if turn % 3 else 'cold'} write {4096 * (turn % 64)} 4096\n" for turn in range(600)
)
HINT = "file=hot->1"
# Room for three groups on each of the eight planes.
DRIVE = {"capacity": "64MiB", "pages_per_block": 32, "ftl.classifier": "stream"}


@pytest.fixture
def iolog(tmp_path: Path) -> Path:
    path = tmp_path / "two.iolog3"
    path.write_text(IOLOG)
    return path


def handles(path: Path) -> dict[int, int]:
    counts = pl.read_parquet(path).group_by("handle").len()
    return dict(counts.sort("handle").iter_rows())


def test_a_converted_trace_has_the_handles(iolog: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    run = flashweir("trace", "convert", str(iolog), str(out), "--hint", HINT, "--hint", "address=..8KiB->5")
    assert handles(out) == {0: 193, 1: 400, 5: 7}
    assert run.code == 0


def test_the_first_rule_counts_and_one_that_is_not_met_is_named(iolog: Path) -> None:
    info = package.trace_info(iolog, hint=[f"{HINT};file=*->2", "proc=nobody->3"])
    found = [(one["hint"], one["requests"]) for one in info["hints"]]
    assert found == [("file=hot->1", 400), ("file=*->2", 200), ("proc=nobody->3", 0)]
    run = flashweir("trace", "info", str(iolog), "--hint", "proc=nobody->3")
    assert "hint proc=nobody->3: no request meets it" in run.out


def test_a_drive_places_by_the_handles(iolog: Path) -> None:
    drive = {**DRIVE, "ftl.groups": 2}
    result = package.simulate(iolog, hint=HINT, set=drive)
    assert [group["written_pages"] for group in result.placement.host_groups] == [200, 400]
    plain = package.simulate(iolog, set=drive)
    assert [group["written_pages"] for group in plain.placement.host_groups] == [600, 0]


def test_a_tenant_and_a_sweep_have_hints_of_their_own(iolog: Path, tmp_path: Path) -> None:
    drive = {**DRIVE, "ftl.groups": 3}
    two = {"a": {"workload": iolog, "hint": "file=hot->1;file=cold->2"}, "b": {"workload": iolog}}
    result = package.simulate(two, hint="file=*->0", set=drive, wrap=True)
    assert [group["written_pages"] for group in result.placement.host_groups] == [600, 400, 200]
    (tmp_path / "sweep.toml").write_text(
        'name = "s"\nhint = "file=hot->1"\n[workloads]\nw = "two.iolog3"\n[set]\ncapacity = "64MiB"\n'
        'pages_per_block = 32\n"ftl.classifier" = "stream"\n"ftl.groups" = 2\n'
    )
    frame = package.sweep(tmp_path / "sweep.toml", tmp_path / "out", threads=1)
    (_, found), *_ = frame.results()
    assert found["placement"]["host_groups"][1]["written_pages"] == 400


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("proc=x", "CONDITION[&CONDITION...]->HANDLE"),
        ("proc=x->256", "a handle from 0 to 255 after ->"),
        ("user=x->1", "with proc=PATTERN, file=PATTERN or address=FROM..TO"),
        ("address=1..2->1", "an address range FROM..TO of whole sectors"),
    ],
)
def test_a_bad_rule_is_one_line(iolog: Path, rule: str, said: str) -> None:
    assert said in refused("trace", "info", str(iolog), "--hint", rule)
    with pytest.raises((TraceError, ConfigError)) as error:
        package.simulate(iolog, hint=rule)
    assert said in str(error.value)


def test_a_generator_has_handles_of_its_own() -> None:
    said = refused("simulate", "random:count=10", "--hint", HINT)
    assert "a generator has no format" in said
    with pytest.raises(ConfigError, match="hint: 3: expected a text"):
        package.trace_info("x", hint=3)  # type: ignore[arg-type]


def test_a_life_keeps_the_handles_of_its_trace(iolog: Path) -> None:
    drive = {**DRIVE, "pages_per_block": 16, "ftl.groups": 2}

    def most_worn(hint: str) -> float:
        life = package.lifetime(iolog, set=drive, hint=hint, seeds=1, wrap=True, cycles=20)
        return float(life.curve[-1]["wear_max"])

    # Two in three writes are hot, so blocks of their own are erased more often than those that all writes share.
    assert most_worn("file=hot->1") > 1.2 * most_worn("file=*->1")
