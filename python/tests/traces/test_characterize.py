"""Characterization: numbers against a model, traces one by one and by the folder, and refusals."""

import contextlib
import json
import os
import pty
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from characters import Request, drawn, shares, table
from conftest import ENDLESS, ROOT, SHIPPED_TRACE, flashweir, refused
from started import start

import flashweir as package
from flashweir import ConfigError, FlashweirError, TraceError
from flashweir.character import characterize_all
from flashweir.character.kept import Kept

CASES = [(1, 10, "4KiB", 4096), (2, 0, "512B", 512), (3, 3, "64KiB", 65536)]
# Public traces that a developer may have beside the project; nothing depends on them.
OTHERS = sorted((ROOT.parent / "shared" / "traces").glob("msr-*1000.msr.csv.zst"))


@pytest.fixture
def volumes(tmp_path: Path) -> Path:
    folder = tmp_path / "volumes"
    folder.mkdir()
    for seed in range(5):
        (folder / f"volume-{seed}.ssdsim").write_text(table(drawn(seed, 300)))
    (folder / "README.md").write_text("no trace")
    return folder


@pytest.mark.parametrize(("seed", "gap", "small", "small_bytes"), CASES)
def test_shares_are_those_of_the_definition(tmp_path: Path, seed: int, gap: int, small: str, small_bytes: int) -> None:
    requests = drawn(seed, 800)
    trace = tmp_path / "drawn.ssdsim"
    trace.write_text(table(requests))
    found = package.characterize(trace, gap=gap, small=small)
    for op, side in (("W", found.writes), ("R", found.reads)):
        for name, value in shares(requests, op, gap, small_bytes).items():
            assert side[name] == pytest.approx(value, abs=1e-12), name
        assert sum(part["requests"] for part in side["sizes"]) == side["requests"]
    assert sum(segment["requests"] for segment in found["segments"]) == len(requests)


@pytest.mark.parametrize("trace", [SHIPPED_TRACE, *OTHERS], ids=lambda path: path.name)
def test_real_traces_are_those_of_the_definition(tmp_path: Path, trace: Path) -> None:
    """Of a real trace, converted to a table that Python reads by itself."""
    target = tmp_path / "plain.ssdsim"
    package.trace_convert(trace, target)
    requests = []
    for line in target.read_text().splitlines():
        time_ns, _, lba, sectors, read = (int(word) for word in line.split())
        requests.append(Request(time_ns, "R" if read else "W", lba, sectors))
    requests = requests[:3000]
    target.write_text(table(requests))
    found = package.characterize(target, macroscopic=True)
    for op, side in (("W", found.writes), ("R", found.reads)):
        if side["requests"]:
            for name, value in shares(requests, op, 10, 4096).items():
                assert side[name] == pytest.approx(value, abs=1e-12), name


def test_the_macroscopic_view_is_the_same_alone(tmp_path: Path) -> None:
    spec = "hotcold:span=256MiB,count=20000,write=0.6"
    alone, everything = package.characterize(spec, macroscopic=True), package.characterize(spec)
    assert alone["writes"] == everything["writes"]
    assert "reuse" not in alone
    assert everything["reuse"]["error"] == 0
    target = tmp_path / "generated.ssdsim"
    package.trace_generate(spec, target)
    blocks = {int(line.split()[2]) // 8 for line in target.read_text().splitlines()}
    assert everything["working_set"]["so_far_bytes"][-1] == 4096 * len(blocks)


def test_a_large_workload_says_how_far_off_it_may_be() -> None:
    found = package.characterize("zipf:span=4GiB,count=200000", sample=4096)
    assert 0 < found["reuse"]["error"] < 0.3
    assert found["reuse"]["followed_share"] < 0.2
    assert found["reuse"]["followed_blocks"] <= 4096


def test_only_reads_belong_to_no_suite() -> None:
    found = package.characterize("random:count=1000,write=0")
    assert found.suite.name is None
    assert found["writes"]["sequential_share"] is None


def test_an_empty_trace_is_refused(tmp_path: Path) -> None:
    trace = tmp_path / "empty.ssdsim"
    trace.write_text("")
    page = tmp_path / "empty.html"
    said = refused("trace", "characterize", str(trace), "--html", str(page))
    assert said == f"{trace}: it is empty; expected a trace of requests"
    assert not page.exists()


def test_a_trace_of_headings_alone_is_refused(tmp_path: Path) -> None:
    trace = tmp_path / "heading.csv"
    trace.write_text("time,op,lba,size\n")
    columns = ("--columns", "time=time:us,op=op,lba=lba:bytes,size=size:bytes")
    for command in (("simulate",), ("trace", "characterize"), ("trace", "info")):
        said = refused(*command, str(trace), *columns)
        assert said == f"{trace}: it has no requests; expected a trace of requests"
    trace.write_text("x\ny\n")
    said = refused("simulate", str(trace), "--format", "msr", "--skip-bad", "2")
    skipped = "bad lines or records that were skipped: 2"
    assert said == f"{trace}: it has no requests ({skipped}); expected a trace of requests"


def test_random_writes_have_a_sentence_without_a_share_of_nothing() -> None:
    found = package.characterize("random:count=1000,span=1GiB")
    assert "and none of the data comes one piece after the other" in found.suite.reason


def test_the_command_says_it_in_words_and_in_json(tmp_path: Path) -> None:
    target = tmp_path / "character.json"
    said = flashweir("trace", "characterize", str(SHIPPED_TRACE)).out
    assert "suite: " in said
    flashweir("trace", "characterize", str(SHIPPED_TRACE), "--json", str(target))
    answer = json.loads(target.read_text())
    assert answer["suite"]["reason"].split()[0] in said
    assert answer == package.characterize(SHIPPED_TRACE).to_dict()


def test_figures_are_files_too(tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    spec = "hotcold:span=64MiB,count=3000,write=0.5,rate=1000"
    flashweir("trace", "characterize", spec, "--figures", str(folder), "--segments", "3")
    names = {path.name for path in folder.iterdir()}
    assert {"where-writes.png", "life-writes.png", "miss-ratio.png", "working-set.png", "sizes.png"} <= names
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in folder.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["random:count=10", "--small", "1000"], 'small "1000": expected a positive multiple of 512 bytes'),
        (["random:count=10", "--small", "x"], 'small = "x": expected a size such as 4KiB, or a whole number of bytes'),
        (["random:count=10", "--gap", "1001"], 'gap "1001": expected a number of requests from 0 to 1000'),
        (["random:count=10", "--segments", "5000"], 'segments "5000": expected a number from 1 to 1000'),
        (["random:count=10", "--unit", "4KiB"], 'unit "4096": expected a positive multiple of 128 KiB'),
        (["random:count=10", "--resume"], "--resume: expected a folder of traces: random:count=10 is none"),
        (["random:count=10", "--figure-format", "png"], "--figure-format goes with --figures DIR"),
        (["nothing.here"], "nothing.here: No such file or directory; expected a trace of requests"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    assert refused("trace", "characterize", *arguments, cwd=tmp_path) == message


def test_a_damaged_trace_is_refused_with_its_line(tmp_path: Path) -> None:
    trace = tmp_path / "bad.ssdsim"
    trace.write_text("0 0 8 8 1\n1 0 18446744073709551615 8 0\n")
    assert "bad.ssdsim, line 2: " in refused("trace", "characterize", str(trace))


def test_a_folder_is_a_table_and_lines(volumes: Path, tmp_path: Path) -> None:
    page = tmp_path / "all.html"
    run = flashweir("trace", "characterize", str(volumes), "--threads", "2", "--html", str(page), cwd=tmp_path)
    assert "volume-3.ssdsim" in run.out
    lines = [json.loads(line) for line in (tmp_path / "volumes.jsonl").read_text().splitlines()]
    assert sorted(line["trace"] for line in lines) == [f"volume-{seed}.ssdsim" for seed in range(5)]
    one = next(line for line in lines if line["trace"] == "volume-3.ssdsim")
    assert one["character"]["writes"] == package.characterize(volumes / "volume-3.ssdsim").to_dict()["writes"]
    assert "volume-4.ssdsim" in page.read_text()
    message = refused("trace", "characterize", str(volumes), cwd=tmp_path)
    assert message == "-o volumes.jsonl: is there already: --resume goes on with it, --force replaces it"


def test_lines_are_written_by_one_process_at_a_time(volumes: Path, tmp_path: Path) -> None:
    output = tmp_path / "kept.jsonl"
    with Kept(output, resume=False), pytest.raises(FlashweirError, match=rf"process {os.getpid()} .* is writing"):
        characterize_all(volumes, output, macroscopic=True)
    assert output.read_bytes() == b""


def test_a_folder_goes_on_where_it_was(volumes: Path, tmp_path: Path) -> None:
    output = tmp_path / "kept.jsonl"
    characterize_all(volumes, output, macroscopic=True)
    lines = output.read_bytes().splitlines(keepends=True)
    # Two lines, and a third that was being written when the machine stopped.
    output.write_bytes(b"".join(lines[:2]) + lines[2][:50])
    seen: list[dict[str, Any]] = []
    rows = characterize_all(volumes, output, macroscopic=True, resume=True, progress=seen.append)
    assert [row["trace"] for row in rows] == [f"volume-{seed}.ssdsim" for seed in range(5)]
    assert output.read_bytes().splitlines(keepends=True)[:2] == lines[:2]
    assert len(output.read_bytes().splitlines()) == 5
    assert seen[-1]["done"] == 5
    # Other settings are other lines.
    characterize_all(volumes, output, macroscopic=True, resume=True, gap=3)
    assert len(output.read_bytes().splitlines()) == 10


def test_a_trace_that_cant_be_read_is_told_apart(volumes: Path, tmp_path: Path) -> None:
    (volumes / "bad.ssdsim").write_text("1 2 3\n")
    message = refused_after_table("trace", "characterize", str(volumes), "--json", "table.json", cwd=tmp_path)
    assert message.startswith("volumes.jsonl: 1 of 6 traces can't be read, the first: ")
    table_rows = json.loads((tmp_path / "table.json").read_text())
    assert [row["trace"] for row in table_rows if row["error"]] == ["bad.ssdsim"]
    # Failed traces are tried again.
    (volumes / "bad.ssdsim").write_text("1 0 3 8 0\n")
    flashweir("trace", "characterize", str(volumes), "--resume", cwd=tmp_path)


def refused_after_table(*arguments: str, cwd: Path) -> str:
    run = flashweir(*arguments, cwd=cwd, code=2)
    (error,) = (line for line in run.err.splitlines() if not line.startswith("note: "))
    assert error.startswith("error: ")
    return error.removeprefix("error: ")


def test_lines_of_something_else_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text('{"a": 1}\n')
    with pytest.raises(ConfigError, match="line 1: expected a line that trace characterize wrote"):
        Kept(other, resume=True)


def test_a_folder_without_traces_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected traces; there is no file that matches"):
        characterize_all(tmp_path, tmp_path / "out.jsonl")


def test_progress_stops_it(volumes: Path, tmp_path: Path) -> None:
    with pytest.raises(FlashweirError, match="stopped"):
        package.characterize("random:count=2000000000", progress=lambda _: False)
    with pytest.raises(TraceError, match="traces are done"):
        characterize_all(volumes, tmp_path / "out.jsonl", progress=lambda _: False)


def test_ctrl_c_stops_it(tmp_path: Path) -> None:
    reader, writer = pty.openpty()
    process = start("trace", "characterize", ENDLESS, stdout=subprocess.DEVNULL, stderr=writer, cwd=tmp_path)
    os.close(writer)
    # Progress is drawn once requests are read.
    seen = b""
    while b"/s" not in seen:
        seen += os.read(reader, 4096)
    process.send_signal(signal.SIGINT)
    errors = b""
    with contextlib.suppress(OSError):  # how Linux says that the other side has closed
        while chunk := os.read(reader, 4096):
            errors += chunk
    os.close(reader)
    assert process.wait(timeout=30) == 130
    assert b"error: stopped by Ctrl-C" in errors
