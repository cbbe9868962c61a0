"""`flashweir probe`: what it finds and writes, what it refuses, what an end before the end leaves."""

import os
import re
import shutil
import signal
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, flashweir
from started import start
from test_replay import loop

import flashweir as api
from flashweir.diagnosis.active import ratios
from flashweir.diagnosis.active.buffer import Buffer
from flashweir.diagnosis.active.session import Course
from flashweir.probing import learned, plausible
from flashweir.probing.calibrated import calibrated
from flashweir.probing.cells import Cells
from flashweir.probing.device_file import for_engine, in_file, spare_for, taken
from flashweir.probing.path import Path as PathTo
from flashweir.settings import flat, refusal

__all__ = ["loop"]

NO_HITS = ratios.Span(0.0, 0.0, 0.0)
SIM = "sim:slc-2006,capacity=24MiB,channels=2,dies=2,op_ratio=0.3125,buffer.bytes=128KiB"


def test_a_probed_drive_is_a_device_file(tmp_path: Path) -> None:
    answer = flashweir("probe", SIM, "-o", "drive.toml", cwd=tmp_path)
    assert re.search("pages_per_block +64 ", answer.out)
    drive = tomllib.loads((tmp_path / "drive.toml").read_text())
    assert (drive["channels"], drive["dies"], drive["page"], drive["buffer"]["bytes"]) == (2, 2, 2048, 131072)
    run = ("simulate", "random:span=20MiB,count=2000", "--set", "precondition=full", "--json", "-")
    found = flashweir(*run, "--device", "drive.toml", cwd=tmp_path).json()
    settings = [part for setting in SIM.split(",")[1:] for part in ("--set", setting)]
    truth = flashweir(*run, "--device", "slc-2006", *settings, cwd=tmp_path).json()
    assert found["iops"] == pytest.approx(truth["iops"], rel=0.01)
    assert [path.name for path in tmp_path.iterdir()] == ["drive.toml"]


def test_json_has_every_answer_and_a_seed_repeats_it(tmp_path: Path) -> None:
    file = tmp_path / "drive.toml"
    said = flashweir("probe", SIM, "-o", str(file), "--json", "-", "--seed", "3").json()
    assert said == flashweir("probe", SIM, "-o", str(file), "--force", "--json", "-", "--seed", "3").json()
    assert said["device_file"] == file.read_text()
    assert {"page", "channels", "op_ratio", "buffer.bytes"} <= {answer["key"] for answer in said["answers"]}
    assert all(0 <= answer["sure"] <= 1 and answer["how"] for answer in said["answers"])
    assert said["written_bytes"] > 24 << 20


def test_what_is_not_named_is_not_written(tmp_path: Path) -> None:
    image, file = tmp_path / "disk.img", tmp_path / "drive.toml"
    image.write_bytes(b"precious" * (1 << 19))
    before = image.read_bytes()
    for erase in ([], ["--erase", "other.img"]):
        refused = flashweir("probe", str(image), "-o", str(file), *erase, code=2)
        assert f"--erase {image}" in refused.err
        assert refused.err.count("\n") == 1
    assert image.read_bytes() == before
    assert not file.exists()


@pytest.mark.parametrize(
    ("target", "part"),
    [
        ("sim:nothing", "no such preset or file"),
        ("sim:slc-2006,capacity=1MiB,op_ratio=1", "expected at least 2097152"),
        ("sim:slc-2006,host.mode=open", "--depth or --timing"),
        ("/dev/null", "neither a block device nor a file"),
        ("none.img", "no such device or file"),
    ],
)
def test_bad_targets_are_one_line(tmp_path: Path, target: str, part: str) -> None:
    refused = flashweir("probe", target, "--erase", target, "-o", "drive.toml", cwd=tmp_path, code=2)
    assert part in refused.err
    assert refused.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_outputs_are_looked_at_before_the_drive(tmp_path: Path) -> None:
    assert "there is no folder" in flashweir("probe", SIM, "-o", str(tmp_path / "none" / "drive.toml"), code=2).err
    image = tmp_path / "disk.img"
    image.write_bytes(bytes(4 << 20))
    refused = flashweir("probe", str(image), "--erase", str(image), "-o", str(image), code=2)
    assert "expected a file of its own" in refused.err


def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    image = tmp_path / "disk.img"
    image.write_bytes(bytes(4 << 20))
    image.chmod(0o444)
    if os.geteuid() == 0:
        pytest.skip("root may write it")
    refused = flashweir("probe", str(image), "--erase", str(image), "-o", str(tmp_path / "drive.toml"), code=2)
    assert str(image) in refused.err


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    # Fills for longer than the test waits.
    run = start("probe", "sim:tlc,capacity=4TiB", "-o", str(tmp_path / "drive.toml"), stdout=-1, stderr=-1)
    with pytest.raises(Exception, match="timed out"):
        run.wait(timeout=3)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=60)
    assert (run.returncode, out) == (130, "")
    assert err.startswith("error: stopped by Ctrl-C")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_loop_device_is_probed(loop: str, tmp_path: Path) -> None:
    assert shutil.which("losetup")
    file = tmp_path / "drive.toml"
    assert "--erase" in flashweir("probe", loop, "-o", str(file), code=2).err
    said = flashweir("probe", loop, "--erase", loop, "-o", str(file), "--json", "-").json()
    capacity = next(answer for answer in said["answers"] if answer["key"] == "capacity")
    assert capacity["value"] == 64 << 20
    # Whatever memory looks like from outside, it is a device.
    assert api.simulate("random:span=1MiB,count=10", file)["requests"] == 10


def test_progress_tells_and_stops() -> None:
    states: list[dict[str, object]] = []

    def stop(state: dict[str, object]) -> bool:
        states.append(state)
        return False

    with pytest.raises(api.FlashweirError, match="there is no device file"):
        api.probe("sim:tlc,capacity=16GiB", progress=stop)
    assert states[0]["phase"] == "run"


def test_what_can_not_be_is_no_answer() -> None:
    for key, bad, good in (
        ("page", (524_800, 12_288, 256), (512, 16_384)),
        ("pages_per_block", (0.125, 69, 71, 1 << 20), (64, 96, 768, 1152, 1408)),
        ("op_ratio", (2.0, -0.1), (0.07, 1.0)),
    ):
        for value in (*bad, *good):
            answer = {"key": key, "value": value, "sure": 1.0, "how": "reads"}
            plausible.withdrawn({key: answer})
            kept = (answer["value"], answer["sure"]) == (value, 1.0)
            assert kept == (value in good), answer
    text = in_file("page = 524800 # sure: 1.0; reads\n", {"page": {"value": 4096, "sure": 0.0, "how": "none"}}, [])
    assert tomllib.loads(text) == {"page": 4096}


def test_a_device_file_has_spare_with_which_the_engine_takes_it() -> None:
    # 18 planes of 911 pages need nine blocks of 128 pages each.
    small = 'capacity = "64MiB"\nchannels = 9\nplanes = 2\npages_per_block = 128\nop_ratio = {}\n'
    assert spare_for(small.format(0.1)) == 0.15
    assert spare_for(small.format(0.15)) is None
    assert spare_for('capacity = "64MiB"\nchannels = 0\n') is None, "no share makes a drive of it"


def test_geometry_that_makes_no_drive_is_left_out_least_sure_first() -> None:
    text = 'capacity = "64MiB"\nchannels = 3\ndies = 341\nplanes = 2\npages_per_block = 128\nop_ratio = 0.1\n'
    known = answers_of(channels=3, dies=341, planes=2, pages_per_block=128, op_ratio=0.1)
    by_key = {answer["key"]: answer for answer in known}
    by_key["dies"]["sure"], by_key["channels"]["sure"] = 0.1, 0.9
    changed: dict[str, Any] = {}
    for_engine(text, changed, by_key)
    assert refusal(flat(tomllib.loads(in_file(text, changed, [])))) is None
    assert (by_key["dies"]["value"], by_key["dies"]["sure"], by_key["channels"]["value"]) == (1, 0.0, 3)
    assert "341 makes no drive" in by_key["dies"]["how"]


def test_a_file_that_plain_geometry_does_not_help_begins_with_the_reason() -> None:
    text = 'capacity = "1GiB"\nchannels = 3\nplanes = 2\nprecondition = "half"\n'
    known = {answer["key"]: answer for answer in answers_of(channels=3, planes=2)}
    changed: dict[str, Any] = {}
    file = taken(text, changed, known, [])
    assert set(changed) == {"channels", "planes"}, "all geometry was made plain before"
    reason = refusal(flat(tomllib.loads(file)))
    assert reason is not None
    assert "precondition" in reason
    assert file.splitlines()[0] == f"# Refused with plain geometry, too: {reason}"
    good = text.replace('"half"', '"empty"')
    assert taken(good, {}, {}, []) == in_file(good, {}, []), "a file that it takes has no such line"


def test_a_time_below_that_of_the_path_is_at_most_half_sure() -> None:
    answers = answers_of(page=4096, **{"timing.read": "60000ns", "timing.program": "800000ns"}, planes=1)
    calibrated(answers, path(overhead_ns=50_000, jitter_ns=20_000), buffer_of(0), NO_HITS, cells())
    assert answers[0]["sure"] == 0.5
    assert answers[1]["sure"] <= 0.5
    assert "is below the 70 us" not in str(answers[2].get("how"))
    assert "timing.read is below the 70 us of the path" in answers[0]["how"]


def test_times_of_a_drive_whose_pages_move_are_those_of_its_dies() -> None:
    answers = answers_of(page=4096, **{"timing.read": "193000ns", "timing.program": "9ns", "timing.bus": 0.0})
    answers[0]["sure"] = 0.3
    seen = cells(page=16_384, die_ns=400_000.0, read_ns=400_000.0, transfer_ns=40_960.0, program_ns=1_040_960.0)
    changed = calibrated(answers, path(), buffer_of(0), NO_HITS, seen)
    assert [answer["value"] for answer in answers] == [16_384, "400000ns", "1000000ns", 2.5]
    assert set(changed) == {"page", "timing.read", "timing.program", "timing.bus"}
    # Times that can't be separated widen the interval to both.
    answers = answers_of(**{"timing.read": "193000ns"})
    times = {"host_read_ns": 110_000.0, "nothing_ns": 10_000.0, "die_ns": 60_000.0, "read_ns": 60_000.0}
    exchanged = cells(**times, transfer_ns=40_000.0, parts=0.4)
    calibrated(answers, path(), buffer_of(0), NO_HITS, exchanged)
    assert (answers[0]["low"], answers[0]["high"]) == ("40000ns", "60000ns")


@pytest.mark.parametrize(
    ("distinguished", "evidence"),
    [
        (False, ["read or transfer, quiet", "bus or array, quiet"]),
        (True, ["read, distinguished, quiet", "bus, distinguished, quiet"]),
    ],
)
def test_times_that_reads_tell_apart_are_one_time_each(*, distinguished: bool, evidence: list[str]) -> None:
    answers = answers_of(page=4096, **{"timing.read": "60000ns", "timing.bus": 1.0})
    times = {"host_read_ns": 110_000.0, "nothing_ns": 10_000.0, "die_ns": 60_000.0, "read_ns": 60_000.0}
    seen = cells(**times, transfer_ns=40_000.0, parts=0.4, distinguished=distinguished)
    calibrated(answers, path(), buffer_of(0), NO_HITS, seen)
    assert [answer["evidence"] for answer in answers[1:]] == evidence
    assert (answers[1]["low"] == answers[1]["high"]) == distinguished
    assert ("tell it from the transfer" in answers[1]["how"]) == distinguished


def test_two_measurements_of_a_buffer() -> None:
    sures = []
    for other in (1 << 20, 4 << 20):
        answers = answers_of(**{"buffer.bytes": 1 << 20})
        calibrated(answers, path(), buffer_of(other), NO_HITS, cells())
        sures.append(answers[0]["sure"])
    assert sures[0] > sures[1]


def test_a_buffer_that_is_read_back_replaces_that_of_bursts() -> None:
    answers = answers_of(**{"buffer.bytes": 4 << 20})
    changed = calibrated(answers, path(), buffer_of(1 << 20), ratios.Span(1e6, 0.9e6, 1.1e6), cells())
    assert changed["buffer.bytes"]["value"] == 1_000_000
    assert (answers[0]["low"], answers[0]["high"]) == (900_000, 1_100_000)
    assert answers[0]["evidence"] == "read back, one agrees, quiet"
    # Bursts that lie within the interval are finer than it.
    answers = answers_of(**{"buffer.bytes": 1 << 20})
    calibrated(answers, path(), buffer_of(4 << 20), ratios.Span(1e6, 0.9e6, 1.1e6), cells())
    assert (answers[0]["value"], answers[0]["low"], answers[0]["high"]) == (1 << 20, 900_000, 1_100_000)


def test_a_part_that_is_read_back_replaces_no_bursts_of_a_regular_drive() -> None:
    answers = answers_of(planes=1, **{"buffer.bytes": 1 << 20})
    for sure, value in ((0.9, 1 << 20), (0.3, 100_000)):
        answers[0]["sure"] = sure
        calibrated(answers, path(), buffer_of(1 << 20), ratios.Span(1e5, 1e5, 1e5), cells())
        assert answers[1]["value"] == value


def test_sure_is_the_share_that_was_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned, "RIGHT", {"page": {"dies": (19, 19), "sizes": (1, 5)}})
    assert learned.sure_of("page", "dies", 0.3) > 0.95
    assert learned.sure_of("page", "sizes", 0.9) < 0.4
    assert learned.sure_of("page", "never seen", 0.9) <= 0.5
    assert learned.sure_of("other", "dies", 0.7) == 0.7


class Memory:
    """A target that behaves like a file in memory."""

    size_bytes, block_bytes, depth, now = 16 << 20, 4096, 1, 0

    def submit(self, requests: dict[str, Any]) -> dict[str, Any]:
        begin = np.maximum.accumulate(np.maximum(requests["due_ns"], self.now))
        issue = begin + 1000 * np.arange(len(begin))
        self.now = int(issue[-1]) + 1000
        return {"issue_ns": issue.astype(np.int64), "complete_ns": issue.astype(np.int64) + 1000}


NO_FLASH = "py:research/probing/no_flash.py:"


def test_what_is_no_flash_is_said_first(tmp_path: Path) -> None:
    found = api.probe(Memory())
    assert found.admissible is False
    assert found.not_flash.startswith("a read takes 1 us")
    assert all(one["sure"] <= 0.3 for one in found.answers if one["key"] != "capacity")
    source = Path(__file__).read_text().split("class Memory:")[1].split("\n\n\nNO_FLASH")[0]
    (tmp_path / "memory.py").write_text(f"import numpy as np\nAny = object\nclass Memory:{source}")
    out = flashweir("probe", "py:memory.py:Memory", "-o", "drive.toml", cwd=tmp_path).out
    assert out.startswith("no flash: a read takes 1 us")
    out = flashweir("diagnose", "py:memory.py:Memory", "--active", "--html", "d.html", cwd=tmp_path).out
    # The page says why once, and has no section of what was not measured.
    page = (tmp_path / "d.html").read_text().split("</header>")[-1]
    assert page.count("no flash: a read takes 1 us") == 1
    assert "Advice" not in page
    assert out.startswith("no flash: a read takes 1 us")
    assert "ill" not in out.split()


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("Store,read_us=60,write_us=40,ways=8,noise=0.2", "never slow down"),
        ("Limited,limit_mbps=100,limit_iops=3000", "a limit before the drive"),
        ("Limited,limit_mbps=50,limit_iops=2000,burst_s=2", "fall to 2,000 a second"),
    ],
)
def test_files_and_limits_are_no_flash(target: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    found = api.diagnose(NO_FLASH + target, active=True)
    assert found["admissible"] is False
    assert why in found["not_flash"]
    assert set(found["drive"].values()) == {None}
    assert {one["verdict"] for one in found["symptoms"].values()} == {"unknown"}


def test_further_questions_say_what_showed_them() -> None:
    found = api.probe(SIM)
    answers = {answer["key"]: answer for answer in found.answers}
    assert answers["mapping_unit_bytes"]["value"] == 4096
    assert answers["flush_waits"]["value"] is True
    assert {"map_cache_bytes", "slc_cache_bytes", "buffer_empties_s", "reads_overtake_programs", "link"} <= set(answers)
    assert all(answer["showed_by"] for answer in found.answers)
    assert "# mapping_unit_bytes = 4096" in found.device_file


def answers_of(**values: object) -> list[dict[str, Any]]:
    return [{"key": key, "value": value, "sure": 0.8, "how": "reads"} for key, value in values.items()]


def cells(**known: Any) -> Cells:
    seen: dict[str, Any] = dict.fromkeys(("nothing_ns", "die_ns", "read_ns", "transfer_ns", "page", "program_ns"))
    seen |= {"host_read_ns": 6e4, "agree": 1.0, "stepped": False, "spread": 0.0, "parts": 0.0}
    return Cells(**seen | known)


def path(*, overhead_ns: float = 0.0, jitter_ns: float = 0.0, parallel: float = 1.0) -> PathTo:
    course = Course(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    return PathTo(overhead_ns, jitter_ns, ratios.Span(6e4, 6e4, 6e4), parallel, True, "", course)


def buffer_of(size: float) -> Buffer:
    return Buffer(
        ratios.Span(size, size, size), False, None, True, None, ratios.Test("buffer", 1.0, 1.0, 1.0, "good"), ""
    )
