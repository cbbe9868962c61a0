"""Allocators in Python: what they are asked, what they may answer, and one clear line for all else."""

import io
import json
import math
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from conftest import flashweir as flashweir_command
from conftest import refused
from rich.console import Console

import flashweir
from flashweir import ConfigError, FlashweirError, _native
from flashweir.allocators import Features
from flashweir.summary import print_result

TENANTS = {
    "web": "random:span=8MiB,count=300,write=0.2,rate=2000,size=4KiB",
    "db": "random:span=8MiB,offset=8MiB,count=300,write=0.9,rate=2000,size=4KiB",
}
DRIVE = {
    "capacity": "16MiB",
    "channels": 4,
    "pages_per_block": 16,
    "op_ratio": 0.5,
    "host.mode": "open",
    "alloc.kind": "dynamic",
    "tenants.window_requests": 100,
}
SETTINGS = [f"--set={key}={value}" for key, value in DRIVE.items()]
STREAMS = [f"--workload={name}={spec}" for name, spec in TENANTS.items()]
ALL = {"web": [0, 1, 2, 3], "db": [0, 1, 2, 3]}


def run(allocator: Any, **options: Any) -> flashweir.Result:
    return flashweir.simulate(TENANTS, set=DRIVE, allocator=allocator, **options)


def halves(features: Features) -> dict[str, Any]:
    half = features["channels"] // 2
    return {"web": range(half), "db": range(half, features["channels"])}


def test_features_and_allocations_of_each_window() -> None:
    asked: list[Features] = []

    def allocator(features: Features) -> dict[str, Any]:
        asked.append(features)
        return halves(features)

    result = run(allocator, windows=True)
    answer = result["allocation"]
    assert (answer["windows"], answer["changes"]) == (6, 1)
    assert [one["window"] for one in asked] == list(range(6))
    assert 0 <= answer["longest_wall_s"] <= answer["wall_s"]
    for one, window in zip(asked, answer["each"], strict=True):
        assert {key: window[key] for key in one} == one
        assert one["channels"] == 4
        assert one["requests"] == one["reads"] + one["writes"] == 100
        assert sum(tenant["writes"] for tenant in one["tenants"].values()) == one["writes"]
        assert all(tenant["read_sectors"] == 8 * tenant["reads"] for tenant in one["tenants"].values())
    first, *others = (window["allocation"]["web"]["writes"] for window in answer["each"])
    assert first == {"channels": [0, 1, 2, 3], "placement": "dynamic"}
    assert all(other == {"channels": [0, 1], "placement": "dynamic"} for other in others)
    assert "each" not in run(halves)["allocation"]
    assert flashweir.simulate(TENANTS, set={"capacity": "64MiB"})["allocation"] is None


@pytest.mark.parametrize(
    "answer",
    [
        {"web": [0, 1], "db": [2, 3]},
        {"web": (0, 1), "db": {3, 2}},
        {"web": np.arange(2), "db": np.array([2, 3], dtype=np.int8)},
        {"web": [np.int64(0), 1], "db": frozenset({2, 3})},
        MappingProxyType({"web": range(2), "db": {"channels": range(2, 4), "placement": None}}),
        {"web": {"reads": [0, 1], "writes": {"channels": [0, 1]}}, "db": [2, 3]},
        {"tenants": {"web": [0, 1], "db": [2, 3]}, "turns": "arrival"},
    ],
    ids=str,
)
def test_answers_that_mean_the_same(answer: Any) -> None:
    assert run(lambda _: answer)["latency_us"] == run(halves)["latency_us"]


def raises(_: Features) -> dict[str, Any]:
    raise ValueError("no\n  channel  for you")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "the answer is null: expected {"),
        ([[0], [1]], "the answer is [[0],[1]]: expected {"),
        ("all", 'the answer is "all": expected {'),
        (7, "the answer is 7: expected {"),
        ({**ALL, "mail": [0]}, 'no tenant "mail": tenants are web, db'),
        ({"web": [0]}, 'no channels for tenant "db": expected some for each'),
        ({**ALL, "web": []}, "group 0 has no channel: expected at least one"),
        ({**ALL, "web": [4]}, "channel 4 in group 0: expected 0 to 3"),
        ({**ALL, "web": [1, 1]}, "group 0 names a channel twice: expected each once"),
        ({**ALL, "db": [-1]}, 'tenant "db" is given [-1]: expected {'),
        ({**ALL, "db": ["0"]}, 'tenant "db" is given ["0"]: expected {'),
        ({**ALL, "db": [0.0]}, 'tenant "db" is given [0.0]: expected {'),
        ({**ALL, "db": [True]}, 'tenant "db" is given [true]: expected {'),
        ({**ALL, "db": [None]}, 'tenant "db" is given [null]: expected {'),
        ({**ALL, "db": 2**40}, 'tenant "db" is given 1099511627776: expected {'),
        ({**ALL, "db": [2**40]}, 'tenant "db" is given [1099511627776]: expected {'),
        ({**ALL, "db": {"reads": [0]}}, 'tenant "db" is given {"reads":[0]}: expected {'),
        (
            {**ALL, "db": {"channels": [0], "placement": "best"}},
            'tenant "db" is given {"channels":[0],"placement":"best"}: ',
        ),
        (
            {"tenants": ALL, "turns": "mine"},
            '"turns": "mine": expected "tenants" and "turns", "arrival", "shortest" or "shortest-fair"',
        ),
        ({**ALL, "db": [math.nan]}, "ValueError: Out of range float values are not JSON compliant"),
        (
            {**ALL, "db": (at for at in range(2))},
            "TypeError: generator in an allocation: expected lists of channel numbers",
        ),
        ({**ALL, "db": Path()}, "TypeError: PosixPath in an allocation: expected lists of channel numbers"),
        ({**ALL, (1, 2): [0]}, "TypeError: keys must be str"),
    ],
    ids=lambda part: part if isinstance(part, str) else type(part).__name__,
)
def test_nonsense_is_one_clear_line(answer: Any, message: str) -> None:
    with pytest.raises(FlashweirError) as caught:
        run(lambda _: answer)
    text = str(caught.value)
    assert text.startswith(f"allocator, window 0: {message}")
    assert "\n" not in text
    assert len(text) < 400


def test_an_allocator_that_raises_is_the_cause() -> None:
    with pytest.raises(FlashweirError, match=r"^allocator, window 0: ValueError: no channel for you$") as caught:
        run(raises)
    assert isinstance(caught.value.__cause__, ValueError)


def test_ctrl_c_is_not_swallowed() -> None:
    def leave(_: Features) -> dict[str, Any]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(leave)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda _: "not JSON", r"^allocator, window 0: expected ident at line 1 column 2: expected \{"),
        (lambda _: 7, r"^allocator, window 0: TypeError: "),
    ],
)
def test_the_native_module_checks_what_it_gets(ask: Callable[[str], Any], message: str) -> None:
    workloads = [{"name": name, "spec": spec} for name, spec in TENANTS.items()]
    spec = {"workloads": workloads, "overrides": {**DRIVE, "tenants.channels": "external"}}
    with pytest.raises(FlashweirError, match=message):
        _native.simulate(json.dumps(spec), None, None, ask)


def test_an_allocator_and_its_use_need_each_other() -> None:
    with pytest.raises(ConfigError) as caught:
        flashweir.simulate(TENANTS, set={**DRIVE, "tenants.channels": "external"})
    assert str(caught.value) == (
        "tenants.channels=external: expected a function: tenants.channels_file=FILE.py:FUNCTION, or "
        "simulate(set={'tenants.channels': function})"
    )
    with pytest.raises(ConfigError) as caught:
        flashweir.simulate(
            TENANTS,
            set={**DRIVE, "tenants.channels": "external", "tenants.channels_file": "own.py:f"},
            allocator=halves,
        )
    assert str(caught.value) == (
        "an allocator: tenants.channels_file=own.py:f names another one: leave one of them out"
    )
    with pytest.raises(ConfigError) as caught:
        flashweir.simulate(TENANTS, set={**DRIVE, "tenants.channels": "ssdkeeper"}, allocator=halves)
    assert str(caught.value) == "an allocator: it is asked only with tenants.channels=external: set that"
    with pytest.raises(ConfigError, match=r"^3 tenants, channels = 2, tenants.channels=isolated: each tenant"):
        flashweir.simulate(
            dict.fromkeys("abc", "random:count=1"),
            set={"channels": 2, "alloc.kind": "dynamic", "tenants.channels": "isolated"},
        )
    both = "^allocator: tenants.channels is a function, too: expected one of them$"
    with pytest.raises(ConfigError, match=both):
        flashweir.simulate(TENANTS, set={**DRIVE, "tenants.channels": halves}, allocator=halves)
    with pytest.raises(ConfigError, match=both):
        flashweir.Drive(set={**DRIVE, "tenants.channels": halves}, allocator=halves)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (None, "absent.py:f", "expected FILE.py:FUNCTION, with a file that is there"),
        ("", "a.py", "expected FILE.py:FUNCTION, with a file that is there"),
        ("", "a.py:", "expected FILE.py:FUNCTION, with a file that is there"),
        ("", "a.py:f", "a.py has no function f"),
        ("f = 3", "a.py:f", "a.py has int, not a function, f"),
        ("def f(:", "a.py:f", "a.py does not run: SyntaxError: invalid syntax (a.py, line 1)"),
        (
            "import nothing_of_this_name",
            "a.py:f",
            "a.py does not run: ModuleNotFoundError: No module named 'nothing_of_this_name'",
        ),
        ("raise ValueError('a\\nb')", "a.py:f", "a.py does not run: ValueError: a b"),
        ("f = print", "a.txt:f", "a.txt is no Python file (expected a name that ends in .py)"),
    ],
)
def test_the_command_refuses_files_that_hold_no_allocator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, place: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path(place.split(":", maxsplit=1)[0]).write_text(text, encoding="utf-8")
    line = refused("simulate", *STREAMS, *SETTINGS, "--allocator", place)
    assert line == f"allocator {place!r}: {message}"


def test_the_command_stops_where_an_allocator_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("def f(features):\n    return features['nothing']\n", encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "flashweir",
            "simulate",
            *STREAMS,
            *SETTINGS,
            "--allocator",
            "a.py:f",
            "--json",
            "r.json",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode not in (0, 2)
    assert (done.stdout, done.stderr) == ("", "error: allocator, window 0: KeyError: 'nothing'\n")
    assert not Path("r.json").exists()


def test_ctrl_c_in_an_allocator_stops_the_run(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import pathlib, time\n\n\ndef f(features):\n    pathlib.Path('begun').touch()\n    time.sleep(60)\n",
        encoding="utf-8",
    )
    run = subprocess.Popen(
        [sys.executable, "-m", "flashweir", "simulate", *STREAMS, *SETTINGS, "--allocator", "a.py:f"],
        cwd=tmp_path,
        text=True,
        stdout=-1,
        stderr=-1,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    while not (tmp_path / "begun").exists():
        assert run.poll() is None, run.communicate()[1]
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=50)
    assert run.returncode == 130
    assert out == ""
    assert err.startswith("error: stopped by Ctrl-C")
    assert err.count("\n") == 1


def test_the_summary_says_what_the_allocator_did() -> None:
    console = Console(file=io.StringIO(), width=80)
    result = flashweir.simulate(TENANTS, set={**DRIVE, "tenants.channels": "ssdkeeper", "tenants.level_requests": 20})
    print_result(result.to_dict(), console)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(len(line) <= 80 for line in text.splitlines())
    (line,) = (line for line in text.splitlines() if line.startswith("allocation"))
    assert line.split(maxsplit=1)[1].startswith("6 windows, ")
    heads = text[text.index("level") :].splitlines()
    assert heads[0].split() == ["level", "windows", "write", "channels"]
    (level,) = result["allocation"]["levels"]
    row = next(line for line in heads if line.split()[:1] == ["5"])
    assert row.split() == ["5", "6", f"{level['write_channel_share']:.1%}"]


def test_numbers_of_allocations_are_metrics(tmp_path: Path) -> None:
    spec: dict[str, Any] = {
        "workloads": {"two": TENANTS},
        "set": {key: value for key, value in DRIVE.items() if key != "tenants.window_requests"},
        "axes": {"tenants.channels": ["shared", "ssdkeeper"]},
        "metrics": ["allocation.windows", "allocation.changes", "allocation.spilled_pages"],
    }
    frame = flashweir.sweep(spec, tmp_path / "sweep")
    assert frame["allocation.windows"].to_list() == [1, 1]
    assert frame["allocation.spilled_pages"].null_count() == 0


def test_short_writes_overtake_long_ones_and_fair_bounds_what_that_costs_a_tenant() -> None:
    tenants = {
        "bulk": "sequential:span=32MiB,size=1MiB,count=100,write=1,rate=50",
        "web": "random:span=16MiB,offset=32MiB,count=6000,write=1,rate=2500,size=8KiB",
    }

    def means(**turns: Any) -> dict[str, float]:
        drive = {**DRIVE, "capacity": "64MiB", "op_ratio": 2.0, "precondition": "empty"}
        drive = {key: value for key, value in drive.items() if key != "tenants.window_requests"}
        run = flashweir.simulate(tenants, set={**drive, **{f"tenants.{key}": value for key, value in turns.items()}})
        return {name: run[f"streams.{name}.latency_us.write.mean"] for name in tenants}

    arrival, shortest, fair = means(), means(turns="shortest"), means(turns="shortest-fair")
    strict, lax = (means(turns="shortest-fair", max_late_share=share) for share in (0.0, 1.0))
    assert shortest["web"] < 0.5 * arrival["web"]
    assert shortest["bulk"] > 1.1 * arrival["bulk"]
    # Bounded are pages placed; times follow them nearly.
    assert fair["bulk"] < 1.07 * arrival["bulk"]
    assert strict["bulk"] <= fair["bulk"] <= lax["bulk"]
    assert fair["web"] < arrival["web"]


def test_an_allocator_that_exits_or_is_async_is_a_failed_run(tmp_path: Path) -> None:
    def leaves(_: Features) -> dict[str, Any]:
        sys.exit(0)

    async def later(_: Features) -> dict[str, Any]:
        return ALL

    with pytest.raises(FlashweirError, match=r"the allocator called sys\.exit\(0\)"):
        run(leaves)
    with pytest.raises(FlashweirError, match="async"):
        run(later)
    (tmp_path / "own.py").write_text("import sys\nsys.exit(0)\n")
    with pytest.raises(ConfigError, match=r"own\.py does not run: it called sys\.exit\(0\)"):
        run(f"{tmp_path / 'own.py'}:f")


def test_the_order_of_channels_means_nothing() -> None:
    asked: list[int] = []

    def turned(_: Features) -> dict[str, Any]:
        asked.append(0)
        order = [0, 1, 2, 3] if len(asked) % 2 else [3, 1, 0, 2]
        return {"web": order, "db": order}

    assert run(turned)["allocation"]["changes"] <= 1


def test_a_mix_with_an_allocator_has_its_json(tmp_path: Path) -> None:
    (tmp_path / "mix.toml").write_text("\n".join(f'[tenants.{name}]\nworkload = "{TENANTS[name]}"' for name in TENANTS))
    (tmp_path / "own.py").write_text("def f(features):\n    return {name: [0, 1] for name in features['tenants']}\n")
    out = tmp_path / "r.json"
    assert (
        flashweir_command(
            "simulate",
            f"mix:{tmp_path / 'mix.toml'}",
            *SETTINGS,
            f"--allocator={tmp_path / 'own.py'}:f",
            "--windows",
            f"--json={out}",
        ).out
        == ""
    )
    assert json.loads(out.read_text())["allocation"]["windows"] == 6
