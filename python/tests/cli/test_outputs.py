"""Outputs: no option for one writes to a drive, or to what the command reads."""

import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import forked
import polars as pl
import pytest
from conftest import QUICK, SHIPPED_TRACE, flashweir, refused
from import_samples import sample

from flashweir import whole

DRIVE = "sim:slc-2006,capacity=16MiB"


def test_a_text_is_whole_or_absent_and_a_link_is_followed(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    link.symlink_to(file)
    whole.write(link, "new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    with pytest.raises(OSError, match="No such file") as refused:
        whole.write(tmp_path / "nowhere" / "file", "text")
    assert refused.value.filename == str(tmp_path / "nowhere" / "file")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_files_are_the_same_under_other_names(tmp_path: Path) -> None:
    file, linked = tmp_path / "file", tmp_path / "linked"
    assert whole.same_file(file, tmp_path / "." / "file")
    file.touch()
    os.link(file, linked)
    assert whole.same_file(file, linked)
    assert not whole.same_file(file, tmp_path / "other")


@pytest.fixture
def block_device(tmp_path: Path) -> Path:
    """A node of a block device, which nothing need be behind: none of these commands may open it."""
    node = tmp_path / "device"
    try:
        os.mknod(node, 0o600 | stat.S_IFBLK, os.makedev(7, 250))
    except PermissionError:
        pytest.skip("only root makes device nodes")
    return node


@pytest.mark.parametrize(
    "command",
    [
        ("probe", DRIVE, "-o"),
        ("simulate", QUICK, "--json"),
        ("simulate", QUICK, "--requests"),
        ("replay", QUICK, DRIVE, "--timing", "asap", "--json"),
        ("replay", QUICK, DRIVE, "--timing", "asap", "-o"),
        ("bench", DRIVE, "--scale", "0.01", "-o"),
        ("bench", DRIVE, "--scale", "0.01", "--html"),
        ("trace", "characterize", QUICK, "--html"),
        ("trace", "convert", "--to", "msr", str(SHIPPED_TRACE)),
    ],
    ids=lambda command: "-".join(part for part in command if part.isalpha()),
)
def test_no_output_goes_to_a_block_device(command: tuple[str, ...], block_device: Path) -> None:
    run = flashweir(*command, str(block_device), code=None)
    assert run.code in (1, 2)
    assert "block device" in run.err
    assert run.err.count("\n") == 1, run.err


def test_no_output_replaces_what_is_read(tmp_path: Path) -> None:
    device, odd = tmp_path / "d.toml", tmp_path / "x=1.parquet"
    device.write_text('capacity = "64MiB"\n')
    target = f"sim:{device},channels=2"
    assert "a file of its own" in refused("probe", target, "-o", str(device))
    replay = ("replay", QUICK, target, "--timing", "asap")
    assert "a file of its own" in refused(*replay, "--json", str(device))
    assert "a file of its own" in refused(*replay, "-o", str(device))
    flashweir("simulate", "random:span=8MiB,count=2000", "--requests", str(odd))
    before = odd.read_bytes()
    assert "a file of its own" in refused("diagnose", str(odd), "--json", str(odd))
    assert odd.read_bytes() == before
    assert device.read_text() == 'capacity = "64MiB"\n'


def test_a_trace_is_not_replayed_to_itself_under_another_name(tmp_path: Path) -> None:
    trace, linked = tmp_path / "trace.parquet", tmp_path / "linked.img"
    flashweir("trace", "generate", "random:span=8MiB,count=2000,rate=1000", str(trace))
    os.link(trace, linked)
    before = trace.read_bytes()
    message = refused("replay", str(trace), str(linked), "--erase", str(linked), "--wrap")
    assert "another file than the trace" in message
    assert trace.read_bytes() == before


def test_a_drive_is_not_probed_for_an_answer_that_can_not_be_kept(tmp_path: Path) -> None:
    drive = tmp_path / "drive.img"
    drive.write_bytes(b"kept" * 1_048_576)
    run = flashweir("probe", str(drive), "--erase", str(drive), "-o", "/proc/drive.toml", code=None)
    assert run.code in (1, 2)
    assert run.err.startswith("error: /proc/drive.toml: ")
    assert drive.read_bytes() == b"kept" * 1_048_576


SMALL = "random:span=8MiB,count=200"
COMMAND = str(Path(sys.executable).with_name("flashweir"))


def piped(*args: str, given: bytes = b"", code: int = 0) -> tuple[bytes, str]:
    """Runs the command with `given` in a pipe as standard input; its output as bytes, and its messages."""
    done = forked.run_piped(args, given)
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr.decode()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep and a result to report on, and a trace."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "s.toml").write_text(f'workloads = "{SMALL}"\n[axes]\ngc.victim = ["fifo", "greedy"]\n')
    flashweir("sweep", "s.toml", "-o", "s2", cwd=folder)
    flashweir("simulate", SMALL, "--json", "run.json", cwd=folder)
    flashweir("trace", "generate", SMALL, "t.msr.csv", cwd=folder)
    return folder


OUTPUTS = [
    (("simulate", SMALL, "--json"), "r.json"),
    (("simulate", SMALL, "--requests"), "r.parquet"),
    (("simulate", SMALL, "--timeline"), "r.pftrace"),
    (("compare", SMALL, "--policies", "page+none", "--seeds", "1", "--json"), "c.json"),
    (("compare", SMALL, "--policies", "page+none", "--seeds", "1", "--html"), "c.html"),
    (("compare", SMALL, "--policies", "page+none", "--seeds", "1", "--markdown"), "c.md"),
    (("report", "run.json", "-o"), "p.html"),
    (("sweep", "s.toml", "--dry-run", "--json"), "d.json"),
    (("sweep", "s.toml", "-o", "s2", "--resume", "--json"), "rows.json"),
    (("trace", "generate", SMALL), "g.msr.csv"),
    (("trace", "convert", "t.msr.csv"), "g.spc"),
    (("trace", "info", "t.msr.csv", "--json"), "i.json"),
    (("trace", "characterize", "t.msr.csv", "--macroscopic", "--json"), "k.json"),
    (("trace", "characterize", "t.msr.csv", "--html"), "k.html"),
    (("presets", "--json"), "presets.json"),
    (("replay", SMALL, DRIVE, "--timing", "asap", "-o"), "log.parquet"),
    (("replay", SMALL, DRIVE, "--timing", "asap", "--json"), "replay.json"),
    (("replay", SMALL, DRIVE, "--timing", "asap", "--dry-run", "--json"), "dry.json"),
]


@pytest.mark.parametrize(("command", "name"), OUTPUTS, ids=lambda part: part if isinstance(part, str) else part[0])
def test_outputs_are_replaced_with_force_and_files_of_others_never(
    command: tuple[str, ...], name: str, made: Path
) -> None:
    run = (*command, name)
    flashweir(*run, cwd=made)
    before = (made / name).stat().st_ino
    assert "is there already: " in (said := refused(*run, cwd=made))
    assert "--force replaces it" in said
    flashweir(*run, "--force", cwd=made)
    assert (made / name).stat().st_ino != before
    for content in (b"notes of mine\n", b'{"name": "mine"}\n', b"\x89PNG\r\n\x1a\n", b"PAR1 and more"):
        (made / name).write_bytes(content)
        assert "expected another name" in refused(*run, "--force", cwd=made)
        assert (made / name).read_bytes() == content
    (made / name).write_bytes(b"")
    flashweir(*run, cwd=made)
    assert (made / name).stat().st_size


@pytest.mark.parametrize("suffix", ["msr.csv", "spc", "blktrace.0"])
def test_a_trace_of_others_is_never_replaced_by_other_content(suffix: str, tmp_path: Path) -> None:
    """Only Parquet and MSR traces say that flashweir wrote them; the others are replaced by the same bytes."""
    name = f"t.{suffix}"
    flashweir("trace", "generate", SMALL, name, cwd=tmp_path)
    other = ("trace", "generate", SMALL.replace("200", "300"), name, "--force")
    if suffix == "msr.csv":
        flashweir(*other, cwd=tmp_path)
        original = (tmp_path / name).read_bytes().replace(b"flashweir", b"hm")
        (tmp_path / name).write_bytes(original)
    before = (tmp_path / name).read_bytes()
    assert "would get other content: expected another name" in refused(*other, cwd=tmp_path)
    assert "would get other content" in refused("trace", "convert", str(SHIPPED_TRACE), name, "--force", cwd=tmp_path)
    assert "by the same bytes only" in refused(*other[:-1], cwd=tmp_path)
    assert (tmp_path / name).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [name]
    odd = tmp_path / "odd"
    odd.write_bytes(before)
    unknown = ("trace", "generate", SMALL, "odd", "--force")
    assert ".flashweir-" not in flashweir(*unknown, cwd=tmp_path, code=None).err


def test_a_specification_is_no_report(made: Path) -> None:
    before = (made / "s.toml").read_bytes()
    for more in ((), ("--force",)):
        assert "is no report of flashweir" in refused("report", "s2", "-o", "s.toml", *more, cwd=made)
    assert (made / "s.toml").read_bytes() == before


def test_an_empty_name_is_no_name(made: Path) -> None:
    before = sorted(made.iterdir())
    for args in (("report", "s2", "-o", ""), ("report", "s2", "--figures="), ("sweep", "s.toml", "-o", "")):
        assert "expected a value, and not an empty text" in refused(*args, cwd=made)
    assert sorted(made.iterdir()) == before


def test_figures_are_replaced_with_force(made: Path) -> None:
    for kind in ("svg", "png", "pdf"):
        run = ("report", "run.json", "--figures", f"f-{kind}", "--format", kind)
        flashweir(*run, cwd=made)
        assert "holds figures already" in refused(*run, cwd=made)
        flashweir(*run, "--force", cwd=made)
        figure = next((made / f"f-{kind}").iterdir())
        figure.write_bytes(b"drawn by hand")
        assert "expected another name" in refused(*run, "--force", cwd=made)
        assert figure.read_bytes() == b"drawn by hand"


def test_a_sweep_begins_anew_with_force_and_loses_nothing(made: Path) -> None:
    run = ("sweep", "s.toml", "-o", "anew")
    flashweir(*run, cwd=made)
    kept = flashweir("sweep", "s.toml", "-o", "anew", "--resume", "--json", "-", cwd=made).json()
    assert "--force puts it aside" in refused(*run, cwd=made)
    flashweir(*run, "--force", cwd=made)
    earlier = [json.loads(line) for line in (made / "anew" / "earlier-1" / "runs.jsonl").read_text().splitlines()]
    assert [row["wall_s"] for row in earlier] == [row["wall_s"] for row in kept]
    anew = flashweir("sweep", "s.toml", "-o", "anew", "--resume", "--json", "-", cwd=made).json()
    assert [row["wall_s"] for row in anew] != [row["wall_s"] for row in kept]


def test_standard_input_and_output_stand_for_files(made: Path) -> None:
    msr, said = piped("trace", "convert", str(made / "t.msr.csv"), "-", "--to", "msr")
    assert msr == (made / "t.msr.csv").read_bytes()
    assert "written_as" in said
    result = json.loads(piped("simulate", "-", "--format", "msr", "--json", "-", given=msr)[0])
    assert result["requests"] == 200
    assert result["workloads"][0]["workload"] == "-"
    log, said = piped("simulate", "-", "--format", "msr", "--requests", "-", given=msr)
    assert pl.read_parquet(io.BytesIO(log)).height == 200
    assert "200 requests" in said
    assert json.loads(piped("trace", "info", "-", "--format", "msr", "--json", "-", given=msr)[0])["requests"] == 200
    found = piped("trace", "characterize", "-", "--format", "msr", "--macroscopic", "--json", "-", given=msr)[0]
    assert json.loads(found)["trace"]["requests"] == 200
    page = piped("report", "-", "-o", "-", given=(made / "run.json").read_bytes())[0]
    assert page.startswith(b"<!DOCTYPE html>")
    counts = piped("sweep", "-", "--dry-run", "--json", "-", given=(made / "s.toml").read_bytes())[0]
    assert json.loads(counts)["runs"] == 2
    device = piped("simulate", SMALL, "--device", "-", "--json", "-", given=b"channels = 2\n")[0]
    assert json.loads(device)["config"]["channels"] == 2
    generated = piped("trace", "generate", SMALL, "-", "--to", "parquet")[0]
    assert pl.read_parquet(io.BytesIO(generated)).height == 200
    assert piped("compare", SMALL, "--policies", "page+none", "--seeds", "1", "--markdown", "-")[0].startswith(b"#")
    bundle, said = piped("bundle", str(made / "run.json"), "-o", "-")
    assert said.startswith("-: a result, ")
    assert b"equal: " in piped("check-bundle", "-", given=bundle)[0]


def test_what_can_not_go_through_a_pipe_says_so(made: Path) -> None:
    msr = (made / "t.msr.csv").read_bytes()
    for args, message in (
        (("simulate", "-"), "it is a pipe or a device, whose content can't be looked at beforehand"),
        (("simulate", SMALL, "--json", "-", "--requests", "-"), "another output goes to standard output already"),
        (("replay", SMALL, DRIVE, "-o", "-"), "-o -: expected the name of a file: it is written bit by bit; --json -"),
        (("replay", SMALL, DRIVE, "--log", "-"), "error: --log -: expected the name of a file: it is written bit by"),
        (("replay", SMALL, DRIVE, "--log=-"), "error: --log -: expected the name of a file: it is written bit by bit"),
        (("bench", DRIVE, "-o", "-"), "-o -: expected the name of a file: it is written bit by bit; --json - writes"),
        (("check-bundle", "-"), "-: damaged or no bundle of flashweir"),
        (("fit", "-"), "-: "),
        (("import", "mqsim", "-"), "-: "),
        (("import", "mqsim", "-", "-", "--mix", "m.toml"), "both files can't be standard input"),
        (("compare", "-", "--policies", "page+none"), "what runs several times reads its traces several times"),
        (("sweep", "-"), "expected -o DIR with it"),
        (("sweep", str(made / "s.toml"), "-o", "-"), "-o -: expected the name of a folder"),
        (("report", str(made / "run.json"), "--figures", "-"), "--figures -: expected the name of a folder"),
        (("compare", SMALL, "--policies", "page+none", "-o", "-"), "-o -: expected the name of a folder"),
        (("reproduce", "zhu2017", "-o", "-"), "-o -: expected the name of a folder"),
    ):
        assert message in piped(*args, given=msr, code=2)[1], args


def test_files_that_are_read_whole_come_through_a_pipe(made: Path) -> None:
    flashweir("bundle", str(made / "run.json"), "-o", str(made / "run.tar.zst"))
    found = piped("check-bundle", "-", "--json", "-", given=(made / "run.tar.zst").read_bytes())[0]
    assert (json.loads(found)["bundle"], json.loads(found)["equal"]) == ("-", True)
    for kind in ("mqsim", "ssdsim", "femu", "nvmevirt"):
        file = sample(kind, made)
        found = piped("import", kind, "-", "--json", "-", given=file.read_bytes())[0]
        expected = flashweir("import", kind, str(file), "--json", "-").json()
        assert json.loads(found) == {**expected, "file": "-"}
    said = piped("fit", "-", given=b"[[point]]\nid = 3\n", code=2)[1]
    assert said == "error: -: point 1: load: expected a table\n"


def test_a_redirected_file_is_looked_at_as_a_named_one(made: Path) -> None:
    for name, form in (("t.msr.csv", "msr"), ("t.parquet", "parquet")):
        if name == "t.parquet":
            flashweir("trace", "convert", str(made / "t.msr.csv"), str(made / name))
        with (made / name).open("rb") as file:
            command = [COMMAND, "trace", "convert", "-", "-", "--to", "msr"]
            done = subprocess.run(command, stdin=file, capture_output=True, check=True, timeout=300)
        assert done.stdout == (made / "t.msr.csv").read_bytes()
        with (made / name).open("rb") as file:
            command = [COMMAND, "trace", "info", "-", "--json", "-"]
            done = subprocess.run(command, stdin=file, capture_output=True, check=True, timeout=300)
        assert json.loads(done.stdout)["format"] == form
    # `piped` forks: the installed command by itself reads a pipe in the same way.
    given = (made / "t.msr.csv").read_bytes()
    command = [COMMAND, "trace", "convert", "-", "-", "--format", "msr", "--to", "msr"]
    assert subprocess.run(command, input=given, capture_output=True, check=True, timeout=300).stdout == given


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_names_of_standard_output_are_standard_output(made: Path, name: str) -> None:
    found, said = piped("simulate", SMALL, "--json", name)
    assert json.loads(found)["requests"] == 200
    assert said == ""
    assert json.loads(piped("simulate", SMALL, f"--json={name}")[0])["requests"] == 200
    target = made / "appended.json"
    target.write_text("before\n")
    with target.open("ab") as file:
        command = [COMMAND, "simulate", SMALL, "--json", name]
        subprocess.run(command, stdout=file, stderr=subprocess.DEVNULL, check=True, timeout=300)
    assert target.read_text().startswith("before\n{")


def test_a_pipe_behind_a_descriptor_is_written() -> None:
    read, write = os.pipe()
    whole.write(f"/dev/fd/{write}", "x")
    os.close(write)
    with os.fdopen(read) as file:
        assert file.read() == "x"


def test_standard_output_is_appended_to_where_the_shell_says_so(made: Path) -> None:
    target = made / "appended"
    target.write_text("before\n")
    with target.open("ab") as file:
        command = [COMMAND, "trace", "convert", str(made / "t.msr.csv"), "-", "--to", "msr"]
        subprocess.run(command, stdout=file, stderr=subprocess.DEVNULL, check=True, timeout=300)
    assert target.read_bytes() == b"before\n" + (made / "t.msr.csv").read_bytes()


def test_quiet_prints_outputs_alone(made: Path) -> None:
    run = flashweir("simulate", SMALL, "--quiet")
    assert (run.out, run.err) == ("", "")
    run = flashweir("simulate", str(made / "t.msr.csv"), "-q", "--json", "-")
    assert run.json()["requests"] == 200
    assert run.err == ""
    assert "no such kind" in refused("simulate", "nonsense:count=1", "-q")


def test_an_output_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o600)
    whole.write(path, "new")
    assert (path.read_text(encoding="utf-8"), path.stat().st_mode & 0o777) == ("new", 0o600)
