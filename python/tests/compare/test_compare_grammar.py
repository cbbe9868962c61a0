"""Grammar of policies, and those of them that make a drive."""

from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL_DRIVE

from flashweir import ConfigError
from flashweir.policies import grammar
from flashweir.policies.grammar import DEFAULT, completed, crossed, parse, read
from flashweir.policies.setup import spec_of

WORK = "random:span=32MiB,size=4KiB,count=500"


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("greedy", {"gc.victim": "greedy"}),
        ("page+greedy", {"ftl.kind": "page", "gc.victim": "greedy"}),
        ("page+d-choices:gc.choices=3", {"ftl.kind": "page", "gc.victim": "d-choices", "gc.choices": "3"}),
        ("d-choices+gc.choices=3", {"gc.victim": "d-choices", "gc.choices": "3"}),
        ("buffer.bytes=1MiB:read-first", {"buffer.bytes": "1MiB", "sched.kind": "read-first"}),
        (" greedy : gc.choices = 3 ", {"gc.victim": "greedy", "gc.choices": "3"}),
    ],
)
def test_a_policy_is_words_and_settings(text: str, settings: dict[str, object]) -> None:
    assert parse(text) == settings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("gredy", "policy gredy: 'gredy' is no choice of any key; did you mean greedy?"),
        (
            "fifo",
            (
                "policy fifo: 'fifo' is a value of several keys: expected gc.victim=fifo or buffer.replacement=fifo or "
                "sched.kind=fifo"
            ),
        ),
        ("greedy+cost-benefit", "sets gc.victim twice, to greedy and cost-benefit"),
        ("greedy:gc.choces=3", "policy greedy:gc.choces=3: gc.choces: no key of a drive; did you mean gc.choices?"),
        ("greedy:gc.choices=", "expected a value after it"),
        ("greedy,,page", "expected policies separated by commas"),
        ("greedy,greedy", "'greedy' is listed twice"),
        ([], "expected at least one"),
        (5, "policies: 5: expected policies such as"),
        ({"a": 5}, "policies.a: 5: expected settings, or a text"),
        ({"a": {"gc": {"victm": "fifo"}}}, "policy a: gc.victm: no key of a drive; did you mean gc.victim?"),
        ("absent.toml", "absent.toml: No such file or directory: expected a TOML file with [policies]"),
    ],
)
def test_what_is_no_policy_is_said(given: Any, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(given)
    assert message in str(refused.value)


def test_every_default_policy_is_read() -> None:
    assert list(read("default")) == list(DEFAULT)


def test_policies_come_as_texts_mappings_and_files(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[policies.old]\ngc.victim = "fifo"\n[policies]\nnew = "page+greedy"\n')
    mine = {"old": {"gc.victim": "fifo"}, "new": {"ftl.kind": "page", "gc.victim": "greedy"}}
    assert read(str(file)) == read(file) == mine
    assert list(read(f"greedy,{file}")) == ["greedy", "old", "new"]
    assert read({"old": {"gc": {"victim": "fifo"}}, "new": "page+greedy"}) == mine
    assert read(["greedy", "cost-benefit,page"]) == read("greedy,cost-benefit,page")
    file.write_text("[policies]\nold = 3\n")
    with pytest.raises(ConfigError, match=r"mine.toml: policies.old: 3: expected settings"):
        read(file)
    file.write_text("seeds = 3\n[policies]\nold = 'greedy'\n")
    with pytest.raises(ConfigError, match=r"mine.toml: seeds: unknown key"):
        read(file)
    file.write_text("[policies")
    with pytest.raises(ConfigError, match=r"mine\.toml: Expected"):
        read(file)


def test_lists_are_crossed_with_each_other_and_with_policies() -> None:
    lists = {"ftl": ["page", "direct"], "buffer": ["0", "1MiB"]}
    found, common = crossed({}, lists)
    assert common == {}
    assert list(found) == ["page:buffer.bytes=0", "page:buffer.bytes=1MiB", "direct:buffer.bytes=0",
                           "direct:buffer.bytes=1MiB"]  # fmt: skip
    assert all(parse(name) == settings for name, settings in found.items())
    found, common = crossed(read("greedy,cost-benefit"), {"buffer": ["0", "1MiB"], "ftl": ["page"]})
    assert common == {"ftl.kind": "page"}
    assert list(found)[1] == "greedy:buffer.bytes=1MiB"
    assert found["cost-benefit:buffer.bytes=0"] == {"gc.victim": "cost-benefit", "buffer.bytes": "0"}
    assert crossed({}, {"buffer": ["1MiB"]}) == ({"buffer.bytes=1MiB": {"buffer.bytes": "1MiB"}}, {})
    with pytest.raises(ConfigError, match="--buffer: '0' is listed twice"):
        crossed({}, {"buffer": ["0", "0"]})
    with pytest.raises(ConfigError, match=r"--ftl: policy page sets ftl.kind as well"):
        crossed(read("page"), {"ftl": ["direct"]})


def test_a_planner_brings_its_clock_unless_something_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammar, "_keys", lambda: {"clock": [], "gc.planner": []})
    stealing = {"gc.planner": "cycle-stealing"}
    assert completed(stealing, {}) == {**stealing, "clock": "lock-step"}
    assert completed({"gc.planner": "forwarding"}, {}) == {"gc.planner": "forwarding", "clock": "async"}
    assert completed({}, stealing) == {"clock": "lock-step"}
    assert completed(stealing, {"clock": "async"}) == stealing
    assert completed({**stealing, "clock": "async"}, {}) == {**stealing, "clock": "async"}
    assert completed({"gc.planner": "none"}, {}) == {"gc.planner": "none"}


def test_what_makes_no_drive_is_put_aside_with_the_reason() -> None:
    policies = read("greedy,greedy:timing.multi_plane=true,page:buffer.bytes=1B")
    spec = spec_of({"w": WORK}, policies, SMALL_DRIVE, seeds=2)
    assert spec.about["refused"].keys() == {"greedy:timing.multi_plane=true", "page:buffer.bytes=1B"}
    assert "a die has one plane" in spec.about["refused"]["greedy:timing.multi_plane=true"]
    (axis,) = spec.axes
    assert (axis.name, axis.labels, spec.baseline) == ("policy", ("greedy",), "greedy")
    with pytest.raises(ConfigError, match=r"baseline page:buffer.bytes=1B: makes no drive"):
        spec_of({"w": WORK}, policies, SMALL_DRIVE, seeds=2, baseline="page:buffer.bytes=1B")
    with pytest.raises(ConfigError, match=r"policy greedy: .*one plane"):
        spec_of({"w": WORK}, read({"greedy": "timing.multi_plane=true"}), SMALL_DRIVE, seeds=2)
    # A workload with settings of its own may make the drive that the others do not.
    both = {"w": WORK, "v": WORK + ",seed=2"}
    spec = spec_of(both, policies, SMALL_DRIVE, seeds=2, set_for={"v": {"planes": 2}})
    assert spec.about["refused"].keys() == {"page:buffer.bytes=1B"}
    with pytest.raises(ConfigError, match=r"latency trim: expected write or read"):
        spec_of({"w": WORK}, policies, SMALL_DRIVE, seeds=2, latency="trim")
    with pytest.raises(ConfigError, match=r"axes.policy: chanels is no key of a drive"):
        spec_of({"w": WORK}, {"a": {"chanels": 3}}, SMALL_DRIVE, seeds=2)
