"""`flashweir compare --matrix`: a frozen policy against its rivals, on workloads that it has seen and others."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import flashweir, refused

import flashweir as package
from flashweir.policies.trial import load

TRIAL = """
name = "a trial"
candidate = "ours"
rivals = ["gc.victim=fifo", "other", "greedy:timing.multi_plane=true"]
seeds = 3
sources = ["code.py"]
[set]
capacity = "64MiB"
channels = 2
pages_per_block = 64
precondition = "full"
[policies]
ours = { gc.victim = "greedy" }
other = "d-choices:gc.choices=1"
[seen]
uniform = "random:span=32MiB,size=4KiB,count=4000"
[unseen]
skewed = "zipf:span=32MiB,size=4KiB,count=4000"
roomy = { workload = "random:span=4MiB,size=4KiB,count=500", set = { op_ratio = 1.0 } }
"""


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    path = tmp_path / "trial.toml"
    path.write_text(TRIAL)
    (tmp_path / "code.py").write_text("K = 8\n")
    return path


def git(folder: Path, *args: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *args]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_who_won_where(trial: Path) -> None:
    found = package.judge(trial)
    uniform, skewed, roomy = found.verdicts
    assert (uniform.seen, skewed.seen, roomy.seen) == (True, False, False)
    assert (uniform.outcome, uniform.rival) == ("win", "gc.victim=fifo")
    assert uniform.change is not None
    assert uniform.low is not None
    assert uniform.low > 0
    assert uniform.p999 is not None
    # Nothing is collected there, so nothing differs.
    assert (roomy.outcome, roomy.change, roomy.collected) == ("tie", 0.0, False)
    assert roomy.cells()[0] == ("tie, no collection", "")
    assert uniform.collected
    totals = found.totals()
    assert (totals["seen"]["win"], totals["unseen"]["tie"], totals["unseen"]["loss"]) == (1, 1, 0)
    assert totals["unseen"]["worst"] == "roomy"
    assert totals["unseen"]["without_collection"] == 1
    assert "(1 without a collection decides nothing)" in found.totals_said[1]
    assert list(found.refused) == ["greedy:timing.multi_plane=true"]
    assert found.frame.height == 3 * 3 * 3
    config = {row["workload"]: result["config"]["op_ratio"] for row, result in found.frame.results()}
    assert config == {"uniform": 0.1, "skewed": 0.1, "roomy": 1.0}


def test_the_other_side_loses(trial: Path) -> None:
    trial.write_text(TRIAL.replace('"ours"', '"other"').replace('"other", "greedy:', '"ours", "greedy:'))
    found = package.judge(trial)
    assert [one.outcome for one in found.verdicts] == ["loss", "loss", "tie"]
    assert found.verdicts[0].rival == "ours"
    assert found.totals()["unseen"]["worst_change"] == found.verdicts[1].change
    trial.write_text(TRIAL.replace("seeds = 3", "seeds = 3\nlimit = 0.99"))
    assert "loss" not in {one.outcome for one in package.judge(trial).verdicts}


@pytest.mark.usefixtures("trial")
def test_the_command_and_its_files(tmp_path: Path) -> None:
    files = ["--markdown", "m.md", "--html", "m.html", "-o", "runs"]
    out = flashweir("compare", "--matrix", "trial.toml", *files, cwd=tmp_path).out
    assert "ours against the best of gc.victim=fifo, other on each workload" in out
    assert "Workloads that it never saw" in out
    assert "Seen: 1 workload: 1 won, 0 tied, 0 lost; " in out
    assert "Unseen: 2 workloads: " in out
    assert "The settings of ours are not committed" in out
    text = (tmp_path / "m.md").read_text(encoding="utf-8")
    assert text.startswith("# a trial\n")
    assert "| uniform | win |" in text
    assert text.index("## Workloads that it was designed on") < text.index("## Workloads that it never saw")
    page = (tmp_path / "m.html").read_text(encoding="utf-8")
    assert "Wins and losses" in page
    resumed = flashweir("compare", "--matrix", "trial.toml", "-o", "runs", "--resume", "--json", "-", cwd=tmp_path)
    found = resumed.json()
    assert found["rows"][0]["outcome"] == "win"
    assert found["totals"]["seen"]["win"] == 1
    assert found["frozen"]["commit"] is None


def test_since_when_a_policy_is_frozen(trial: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "one")
    first = git(tmp_path, "rev-parse", "HEAD").strip()
    trial.write_text(TRIAL + 'late = "sequential:span=4MiB,count=100"\n')
    git(tmp_path, "commit", "--quiet", "-am", "another workload")
    found = package.judge(trial).frozen
    assert found.commit == first
    assert found.sources[0].commit == first
    assert f"unchanged since commit {first[:10]}" in found.said[0]
    (tmp_path / "code.py").write_text("K = 9\n")
    trial.write_text(TRIAL.replace('ours = { gc.victim = "greedy" }', 'ours = { gc.victim = "cost-benefit" }'))
    found = package.judge(trial).frozen
    assert found.commit is None
    assert found.sources[0].commit is None
    assert "has changes that are not committed" in found.said[1]
    git(tmp_path, "commit", "--quiet", "-am", "another policy")
    found = package.judge(trial).frozen
    assert found.commit == git(tmp_path, "rev-parse", "HEAD").strip() != first


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seeds = 3", "nonsense = 3", "nonsense: unknown key"),
        ('candidate = "ours"', "", "candidate: expected a policy"),
        ('candidate = "ours"', 'candidate = "our"', "'our' is no choice of any key"),
        ('candidate = "ours"', 'candidate = "other"', "rivals: other is the candidate"),
        ('"other", ', '"other", "other", ', "rivals: 'other' is listed twice"),
        ("seeds = 3", "seeds = 3\nlimit = 2", "limit: 2: expected a share"),
        ("skewed =", "uniform =", "unseen.uniform: there is a workload of that name already"),
        ("roomy = {", "roomy = { what = 3,", "unseen.roomy: expected a trace file"),
        ('["code.py"]', '["absent.py"]', "absent.py: there is no such file"),
        ('["code.py"]', '"code.py"', "sources: 'code.py': expected a list of texts"),
        ('ours = { gc.victim = "greedy" }', "ours = { timing.multi_plane = true }", "baseline ours: makes no drive"),
        ("op_ratio = 1.0", "op_rato = 1.0", "set_for.roomy.op_rato: no key of a drive; did you mean op_ratio?"),
        ('"gc.victim=fifo", "other", ', "", "rivals: none makes a drive; greedy:timing.multi_plane=true: "),
    ],
)
def test_what_is_no_trial_is_said(trial: Path, old: str, new: str, message: str) -> None:
    assert old in TRIAL
    trial.write_text(TRIAL.replace(old, new, 1))
    with pytest.raises(package.ConfigError) as refusal:
        load(trial)
    assert str(refusal.value).startswith(f"{trial}: ")
    assert message in str(refusal.value)


def test_no_file_and_no_workloads(tmp_path: Path) -> None:
    assert refused("compare", "--matrix", "absent.toml", cwd=tmp_path).startswith("absent.toml: No such file")
    (tmp_path / "t.toml").write_text('candidate = "greedy"\nrivals = ["cost-benefit"]\nunseen = 3\n')
    assert "t.toml: unseen: 3: expected a table" in refused("compare", "--matrix", "t.toml", cwd=tmp_path)
    (tmp_path / "t.toml").write_text('candidate = "greedy"\nrivals = ["cost-benefit"]\n')
    assert "t.toml: seen, unseen: expected tables" in refused("compare", "--matrix", "t.toml", cwd=tmp_path)


def test_a_workload_that_fails_has_no_winner(trial: Path) -> None:
    trial.write_text(TRIAL.replace("span=4MiB", "span=4GiB"))
    found = package.judge(trial)
    assert [one.outcome for one in found.verdicts] == ["win", "win", "failed"]
    assert found.totals()["unseen"]["failed"] == 1
    rows: list[Any] = found.as_json()["rows"]
    assert rows[2]["iops"] is None
