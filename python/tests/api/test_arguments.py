"""Arguments of the functions: errors in the words of Python, and names of files that are not UTF-8."""

import json
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from conftest import QUICK, SMALL_DRIVE, flashweir, refused

import flashweir as package
from flashweir import ConfigError, FlashweirError, TraceError
from flashweir.arguments import in_words

WHOLE = "expected a whole number from 0 to 18446744073709551615"
LINE = b"128166372003061629,h,0,Write,4096,4096,1\n"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: package.simulate(QUICK, seed=-1), f"seed: -1: {WHOLE}"),
        (lambda: package.simulate(QUICK, seed=2**64), f"seed: {2**64}: {WHOLE}"),
        (lambda: package.simulate(QUICK, seed=1.5), f"seed: 1.5: {WHOLE}"),
        (lambda: package.simulate(QUICK, skip_bad=True), f"skip_bad: True: {WHOLE}"),
        (lambda: package.simulate(QUICK, verify="yes"), "verify: 'yes': expected True or False"),
        (lambda: package.simulate(QUICK, warmup=5), "warmup: 5: expected a text such as mser-5"),
        (lambda: package.simulate(QUICK, format=3), "format: 3: expected a text such as msr"),
        (lambda: package.simulate(QUICK, device=5), "device: 5: expected a path"),
        (lambda: package.simulate(QUICK, set=5), "set: 5: expected a mapping of keys to values"),
        (lambda: package.simulate(QUICK, allocator=5), "allocator: 5: expected a function, or FILE.py:FUNCTION"),
        (
            lambda: package.simulate(5),
            "workload: 5: expected a trace file, a generator such as random:count=100000, or a mapping or list of them",
        ),
        (lambda: package.simulate(QUICK, chanels=4), "unknown key `chanels`; did you mean `channels`?"),
        (lambda: package.simulate(QUICK, {"chanels": 4}), "device: unknown key `chanels`; did you mean `channels`?"),
        (lambda: package.characterize(QUICK, seed=-1), f"seed: -1: {WHOLE}"),
        (lambda: package.characterize(5), "workload: 5: expected a trace file or a generator"),
        (lambda: package.replay(QUICK, "sim:tlc", seed=-1), f"seed: -1: {WHOLE}"),
        (lambda: package.replay(5, "sim:tlc"), "trace: 5: expected a path"),
        (lambda: package.bench("sim:tlc", suites=["x"]), "suites x: expected"),
        (lambda: package.probe("sim:tlc", seed=-1), f"seed: -1: {WHOLE}"),
        (lambda: package.simulate(QUICK, power_cut=[{}]), "power cut {}: expected"),
        (lambda: package.trace_generate(5, "x.parquet"), "spec: 5: expected a generator such as random:count=100000"),
        (lambda: package.sweep(5), "spec: 5: expected a TOML file or a mapping"),
        (lambda: package.recover_log(5), "log: 5: expected a path"),
        (lambda: package.judge(5), "file: 5: expected a path"),
        (lambda: package.read_sweep(5), "directory: 5: expected a path"),
        (lambda: package.simulate(QUICK, op_ratio=Decimal("0.2")), "op_ratio: Decimal('0.2'): expected a number, a"),
        (lambda: package.simulate(QUICK, timing={"read": [1, {2}]}), "timing.read: {2}: expected a number, a text or"),
        (
            lambda: package.simulate(QUICK, {"gc": {"victim": b"x"}}),
            "victim: b'x': expected a number, a text or a list",
        ),
        (lambda: package.simulate(QUICK, op_ratio=np.float32("nan")), "op_ratio: nan: expected a finite number"),
        (lambda: package.simulate(QUICK, channels=10**30), "channels: a whole number of 100 bits: expected at most 64"),
        (lambda: package.simulate(QUICK, channels=10**5000), "channels: a whole number of 16610 bits: expected at mo"),
        (lambda: package.simulate(QUICK, channels=-(2**63) - 1), "channels: a whole number of 64 bits: expected at "),
        (lambda: package.simulate(QUICK, channels=2**64 - 1), "`channels` = 18446744073709551615: expected"),
    ],
)
def test_errors_name_the_argument(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        call()
    assert str(raised.value).startswith(message)


def test_numbers_of_numpy_are_numbers() -> None:
    given = {"capacity": np.int64(1 << 26), "op_ratio": np.float32(0.25), "timing": {"read": np.array(30_000)}}
    usual = {"capacity": 1 << 26, "op_ratio": 0.25, "timing": {"read": 30_000}}
    found = package.simulate(QUICK, seed=np.int64(3), verify=np.bool_(True), set=given)  # type: ignore[arg-type]
    assert found.seed == 3
    assert found == package.simulate(QUICK, seed=3, verify=True, set=usual)
    assert found == package.simulate(QUICK, given, seed=3, verify=True)
    with package.Drive(capacity=np.int64(1 << 26), seed=np.int64(3)) as drive:  # type: ignore[arg-type]
        assert drive.config["capacity"] == "64MiB"
    # Another value of NumPy is none.
    with pytest.raises(ConfigError, match=r"channels: array\(\[1, 2\]\): expected a number"):
        package.simulate(QUICK, channels=np.array([1, 2]))


def test_errors_speak_of_parameters_and_not_of_options(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"name one with to, or end it in \.parquet"):
        package.trace_generate(QUICK, tmp_path / "x")
    with pytest.raises(ConfigError, match="or wrap=True to fold addresses"):
        package.simulate("random:span=1TiB,count=10")
    frame = package.sweep({"workloads": QUICK, "set": SMALL_DRIVE, "axes": {"op_ratio": [0.1, -1]}})
    assert "--" not in frame["error"][1]
    assert "--wrap to fold" in refused("simulate", "random:span=1TiB,count=10")
    assert refused("simulate", QUICK, "--set", "chanels=4").startswith("--set: unknown key")


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("expected --erase /dev/x, its name once more", "expected erase=/dev/x, its name once more"),
        ("(--buffer-kb), or allow it (--allow-drops)", "(buffer_kb), or allow it (allow_drops=True)"),
        (
            "--timeline-from: expected --timeline with it, the file",
            "timeline_from: expected timeline with it, the file",
        ),
        ("expected --recover /data/x.parquet first", "expected recover_log=/data/x.parquet first"),
        ("data/--set/a.csv: no", "data/--set/a.csv: no"),
    ],
)
def test_options_become_parameters(message: str, said: str) -> None:
    assert in_words(message) == said


def test_names_need_not_be_utf_8(tmp_path: Path) -> None:
    def name(raw: bytes) -> str:
        return os.fsdecode(os.fsencode(tmp_path) + b"/" + raw)

    trace, device, log, page = (name(raw) for raw in (b"a\xff.msr.csv", b"d\xff.toml", b"l\xff.parquet", b"p\xff.html"))
    Path(trace).write_bytes(LINE * 3)
    Path(device).write_text("channels = 2\n")
    result = package.simulate(trace, device, requests=log, timeline=name(b"t\xff"))
    assert (result["requests"], result.requests.height, result.config["channels"]) == (3, 3, 2)
    assert result["workloads"][0]["workload"] == "a\ufffd.msr.csv"
    assert package.characterize(trace)["workload"] == "a\ufffd.msr.csv"
    flashweir("simulate", trace, "--device", device, "--json", name(b"r\xff.json"))
    assert Path(name(b"r\xff.json")).is_file()
    flashweir("trace", "characterize", trace, "--html", page)
    assert "a\ufffd.msr.csv" in Path(page).read_text()
    assert "No such file" in refused("simulate", name(b"none\xff"))
    assert "expected a text in UTF-8" in refused("simulate", "--workload", os.fsdecode(b"\xff=") + trace)
    with pytest.raises(FlashweirError, match="expected a text in UTF-8"):
        package.replay(trace, "sim:tlc")


def test_a_json_device_is_refused_in_words_of_json(tmp_path: Path) -> None:
    for text, said in (
        ("", "not JSON: EOF"),
        ("channels = 4", "not JSON: expected value at line 1 column 1"),
        ("[4]", 'expected an object of keys, such as {"channels": 8}'),
        ('{"channels": 4,}', "not JSON: trailing comma at line 1 column 16"),
    ):
        device = tmp_path / "d.json"
        device.write_text(text)
        assert refused("simulate", QUICK, "--device", str(device)).startswith(f"{device}: {said}"), text
    (tmp_path / "marked.json").write_text('\ufeff{"channels": 4}')
    assert package.simulate(QUICK, tmp_path / "marked.json").config["channels"] == 4
    (tmp_path / "d.toml").write_text("[4]\n")
    assert "JSON" not in refused("simulate", QUICK, "--device", str(tmp_path / "d.toml"))


def test_folders_lives_and_bundles_of_names_that_are_not_utf_8(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/d\xff"))
    folder.mkdir()
    trace, result, packed = (os.fsdecode(raw) for raw in (b"t\xff.parquet", b"r\xff.json", b"b\xff.tar.zst"))
    drive = ("--set=capacity=16MiB", "--set=pages_per_block=64", "--set=channels=2")
    flashweir("trace", "generate", "random:count=3000,span=8MiB,rate=1000", trace, cwd=folder)
    flashweir("trace", "characterize", str(folder), "-o", "lines.jsonl", "-q", cwd=tmp_path)
    (line,) = (tmp_path / "lines.jsonl").read_text().splitlines()
    assert json.loads(line)["error"] is None
    life = flashweir("lifetime", trace, *drive, "--cycles", "5", "--seeds", "1", "--json", "-", cwd=folder).json()
    assert life["workload"] == "t\ufffd.parquet"
    flashweir("simulate", trace, *drive, "--json", result, cwd=folder)
    flashweir("bundle", result, "-o", packed, "-q", cwd=folder)
    flashweir("check-bundle", packed, "-q", "--traces", ".", cwd=folder)
    (folder / trace).rename(folder / os.fsdecode(b"t\xfe.parquet"))
    (folder / packed).unlink()
    flashweir("bundle", result, "-o", packed, "-q", cwd=folder)
    (folder / os.fsdecode(b"t\xfd.parquet")).write_bytes(b"")
    (folder / result).rename(folder / "r.json")
    assert "there is no such file" in refused("bundle", "r.json", "-o", "other.tar.zst", cwd=folder)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: package.reproduce(5), "paper: 5: expected the name of a paper"),
        (lambda: package.fit(5), "path: 5: expected a path"),
        (lambda: package.read_fio(5), "file: 5: expected a path"),
        (lambda: package.health(5, 6), "before: 5: expected a path, or a list of them"),
        (lambda: package.health("a", [6]), r"after: \[6\]: expected a path, or a list of them"),
        (lambda: package.bundle(5, "o"), "source: 5: expected a path, or a list of them"),
        (lambda: package.bundle("a", 6), "output: 6: expected a path"),
        (lambda: package.check_bundle(5), "path: 5: expected a path"),
    ],
)
def test_arguments_of_another_kind_are_refused_by_name(call: Callable[[], object], message: str) -> None:
    with pytest.raises(FlashweirError, match=message):
        call()
