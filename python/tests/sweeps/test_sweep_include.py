"""Sweeps that stand on others: `include` and `only`."""

from pathlib import Path

import pytest

from flashweir import ConfigError
from flashweir.sweeps.points import count_points, runs
from flashweir.sweeps.spec import load

BASE = """
workloads = "{requests}"
device = "femu"
set = { op_ratio = 0.1, channels = 4 }

[axes]
gc.free_blocks = [1, 2, 4]

[axes.trace]
small = { requests = "random:span=32MiB,count=100", capacity = "64MiB" }
large = { requests = "random:span=64MiB,count=200", capacity = "128MiB" }
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_tables_are_joined_and_all_else_replaced(tmp_path: Path) -> None:
    write(tmp_path, "base.toml", BASE)
    over = write(
        tmp_path,
        "sub/over.toml",
        'include = "../base.toml"\nset = { channels = 8 }\n'
        'only = { trace = ["small"] }\n[axes]\ngc.free_blocks = [8]\n'
        '[axes.trace.small]\nrequests = "random:span=16MiB,count=50"\n',
    )
    (run,) = runs(load(over))
    assert run.spec["workloads"] == [{"name": None, "spec": "random:span=16MiB,count=50"}]
    assert run.spec["device"] == "femu"
    assert run.spec["overrides"] == {"op_ratio": 0.1, "channels": 8, "gc.free_blocks": 8, "capacity": "64MiB"}
    assert load(over).name == "over"
    assert "include" not in load(over).source


def test_later_files_lie_over_earlier_ones_and_the_spec_over_all(tmp_path: Path) -> None:
    write(tmp_path, "base.toml", BASE)
    write(tmp_path, "one.toml", "set = { channels = 1, dies = 1 }\n")
    write(tmp_path, "two.toml", 'include = ["one.toml"]\nset = { channels = 2 }\n')
    spec = load(write(tmp_path, "spec.toml", 'include = ["base.toml", "two.toml"]\nset = { op_ratio = 0.2 }\n'))
    assert spec.settings == {"op_ratio": 0.2, "channels": 2, "dies": 1}


def test_files_are_relative_to_the_one_that_names_them(tmp_path: Path) -> None:
    write(tmp_path, "lib/drive.json", "{}")
    write(tmp_path, "lib/t.csv", "")
    write(tmp_path, "lib/base.toml", 'device = "drive.json"\nworkloads = ["t.csv"]\naxes = { channels = [1] }\n')
    spec = write(tmp_path, "spec.toml", 'include = "lib/base.toml"\n')
    assert load(spec).device == str(tmp_path / "lib" / "drive.json")
    assert list(load(spec).workloads.values()) == [{None: {"name": None, "spec": str(tmp_path / "lib" / "t.csv")}}]


def test_only_picks_values_in_its_order(tmp_path: Path) -> None:
    path = write(tmp_path, "base.toml", BASE + '\n[only]\n"gc.free_blocks" = [4, 1]\ntrace = ["large"]\n')
    spec = load(path)
    assert [list(axis.labels) for axis in spec.axes] == [[4, 1], ["large"]]
    assert count_points(spec) == 2
    assert [run.spec["overrides"]["capacity"] for run in runs(spec)] == ["128MiB"] * 2


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ('only = { trace = ["smal"] }', "only.trace: 'smal' is no value of this axis: expected some of small, large"),
        ('only = { trace = "small" }', "only.trace: 'small': expected a list of values: some of small, large"),
        ("only = { trace = [] }", "only.trace: []: expected a list"),
        ('only = { trace = ["small", "small"] }', "expected each value once"),
        ('only = { trac = ["small"] }', "only: 'trac' is no axis; did you mean trace?"),
        ("only = 3", "only: 3: expected a table"),
    ],
)
def test_a_wrong_choice_is_refused(tmp_path: Path, added: str, message: str) -> None:
    write(tmp_path, "base.toml", BASE)
    path = write(tmp_path, "spec.toml", f'include = "base.toml"\n{added}\n')
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


def test_what_can_not_be_included_is_refused(tmp_path: Path) -> None:
    circle = write(tmp_path, "a.toml", 'include = "b.toml"\n')
    write(tmp_path, "b.toml", 'include = "a.toml"\n')
    with pytest.raises(ConfigError, match=r"a\.toml: includes itself"):
        load(circle)
    with pytest.raises(ConfigError, match=r"none\.toml: No such file or directory: expected a sweep in TOML"):
        load(write(tmp_path, "c.toml", 'include = "none.toml"\n'))
    with pytest.raises(ConfigError, match="include: 3: expected a file or a list of files"):
        load(write(tmp_path, "d.toml", "include = 3\n"))
    write(tmp_path, "broken.toml", "[")
    with pytest.raises(ConfigError, match=r"broken\.toml: "):
        load(write(tmp_path, "e.toml", 'include = "broken.toml"\n'))


def test_a_mapping_includes_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "base.toml", BASE)
    monkeypatch.chdir(tmp_path)
    assert count_points(load({"include": "base.toml", "only": {"trace": ["small"]}})) == 3
