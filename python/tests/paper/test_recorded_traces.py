"""Specs that need recorded traces: exit code 3 without them, and a document that says where each is from."""

import re
from pathlib import Path

import pytest
from conftest import ROOT, flashweir

from flashweir._native import ConfigError
from flashweir.sweeps.recorded import TracesMissingError, require

NAME = re.compile(r"shared/traces/([A-Za-z0-9_.-]+)\.zst")
SPECS = [path for path in sorted((ROOT / "experiments").rglob("*.toml")) if NAME.search(path.read_text("utf-8"))]
SWEEP = 'traces = "{}"\nworkloads = "random:span=8MiB,count=100"\nset.capacity = "64MiB"\n'


def test_a_sweep_without_its_traces_is_not_begun(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP.format("recorded"), encoding="utf-8")
    done = flashweir("sweep", str(tmp_path / "sweep.toml"), "-o", str(tmp_path / "out"), code=3)
    assert done.err == (
        f"error: {tmp_path / 'sweep.toml'}: needs recorded traces, which do not ship: expected them in "
        f"{tmp_path / 'recorded'} (docs/reference/recorded-traces.md names where to get them)\n"
    )
    assert not (tmp_path / "out").exists()
    (tmp_path / "recorded").mkdir()
    assert flashweir("sweep", str(tmp_path / "sweep.toml"), "-o", str(tmp_path / "out")).code == 0


def test_a_trial_without_its_traces_is_not_begun(tmp_path: Path) -> None:
    trial = 'traces = "recorded"\ncandidate = "gc.victim=fifo"\nrivals = ["greedy"]\nunseen.a = "random:span=8MiB"\n'
    (tmp_path / "trial.toml").write_text(trial, encoding="utf-8")
    assert "needs recorded traces" in flashweir("compare", "--matrix", str(tmp_path / "trial.toml"), code=3).err


@pytest.mark.parametrize("given", [5, "", ["a"]])
def test_traces_is_the_name_of_a_folder(given: object, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"traces: .*: expected the folder of the recorded traces"):
        require({"traces": given}, tmp_path)


def test_no_key_needs_no_folder(tmp_path: Path) -> None:
    require({}, tmp_path)
    with pytest.raises(TracesMissingError):
        require({"traces": "none"}, tmp_path)


def test_each_trace_of_an_experiment_has_its_source() -> None:
    page = (ROOT / "docs/reference/recorded-traces.md").read_text(encoding="utf-8")
    listed = {found[1]: found[2] for found in re.finditer(r"^\| `([^`]+)` \|.*\| ([0-9, ]+) \|$", page, re.MULTILINE)}
    used: dict[str, set[str]] = {}
    for spec in SPECS:
        for name in NAME.findall(spec.read_text(encoding="utf-8")):
            used.setdefault(name, set()).add(spec.relative_to(ROOT / "experiments").parts[0][:2])
    assert SPECS
    assert listed == {name: ", ".join(sorted(places)) for name, places in used.items()}


def test_own_experiments_name_their_traces() -> None:
    for spec in SPECS:
        content = spec.read_text(encoding="utf-8")
        if spec.name in ("sweep.toml", "traces.toml", "traces-unbuffered.toml") and "shared/traces/" in content:
            assert re.search(r"^traces = ", content, re.MULTILINE), spec
