"""Bundles that are refused: damaged, hostile, or of sources that can't be made again."""

import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bundle_samples import DRIVE, TRACE, archived, members, packed_again, plain, zstd
from conftest import refused

import flashweir


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle of a result in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TRACE, encoding="utf-8")
    Path("small.toml").write_text(DRIVE, encoding="utf-8")
    result = flashweir.simulate("t.csv", "small.toml", format="msr")
    Path("run.json").write_text(result.to_json(), encoding="utf-8")
    flashweir.bundle("run.json", "r.tar.zst", traces=True)
    return Path("r.tar.zst")


@pytest.fixture
def swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle of a sweep in the current folder."""
    monkeypatch.chdir(tmp_path)
    flashweir.sweep({"workloads": {"a": "random:span=1MiB,count=50"}, "axes": {"channels": [1, 2]}}, "s", threads=1)
    flashweir.bundle("s", "s.tar.zst")
    return Path("s.tar.zst")


def message(path: Path = Path("r.tar.zst")) -> str:
    """The one line with which a bundle is refused; no file is left anywhere."""
    before = sorted(Path().rglob("*"))
    with pytest.raises(flashweir.ConfigError) as error:
        flashweir.check_bundle(path)
    found = str(error.value)
    assert sorted(Path().rglob("*")) == before
    assert "\n" not in found
    assert found.startswith(f"{path}: ")
    return found.removeprefix(f"{path}: ")


def test_any_changed_byte_is_found(bundle: Path) -> None:
    content = bundle.read_bytes()
    # Not the frame's header: other bytes there may mean the same.
    for place in range(6, len(content), max(len(content) // 40, 1)):
        bundle.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        with pytest.raises(flashweir.ConfigError, match=r"r\.tar\.zst"):
            flashweir.check_bundle(bundle)
    for end in (0, 3, 100, len(content) // 2, len(content) - 1):
        bundle.write_bytes(content[:end])
        with pytest.raises(flashweir.ConfigError, match=r"r\.tar\.zst"):
            flashweir.check_bundle(bundle)


def with_members(bundle: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    """Changes files of a bundle and leaves its manifest."""
    files = members(bundle)
    change(files)
    bundle.write_bytes(archived(plain(files)))


def test_files_are_those_of_the_manifest(bundle: Path) -> None:
    content = bundle.read_bytes()
    with_members(bundle, lambda files: files.update({"traces/t.csv": TRACE.replace("web", "wEb").encode()}))
    assert message().startswith("traces/t.csv: has sha256 ")
    bundle.write_bytes(content)
    with_members(bundle, lambda files: files.update({"traces/t.csv": b"longer" * 99}))
    assert message() == f"traces/t.csv: has 594 bytes, and {len(TRACE)} in MANIFEST.json: changed"
    bundle.write_bytes(content)
    with_members(bundle, lambda files: files.update({"results/more": b""}))
    assert message() == "results/more: expected files that MANIFEST.json lists, each once"
    bundle.write_bytes(content)
    with_members(bundle, lambda files: files.pop("traces/t.csv") and None)
    assert message() == "traces/t.csv: is in MANIFEST.json, and not in the archive"
    files = plain(members_of(content))
    bundle.write_bytes(archived([*files, files[1]]))
    assert message().endswith("expected files that MANIFEST.json lists, each once")
    bundle.write_bytes(zstd.compress(zstd.decompress(content) + b"more"))
    assert message() == "damaged: expected nothing after its end"
    bundle.write_bytes(archived(files[1:]))
    assert message() == "expected a bundle of flashweir, which begins with MANIFEST.json"


def members_of(content: bytes) -> dict[str, bytes]:
    Path("copy").write_bytes(content)
    try:
        return members(Path("copy"))
    finally:
        Path("copy").unlink()


@pytest.mark.parametrize("name", ["../out", "/out", "traces/../../out", ".hidden", "a//b", "a\\b", "a\nb", "a/./b"])
def test_paths_outside_are_refused(bundle: Path, name: str) -> None:
    files = plain(members(bundle))
    bundle.write_bytes(archived([files[0], (tarfile.TarInfo(name), b"x"), *files[1:]]))
    assert message().endswith(": expected a path within the bundle")
    # Nor may the manifest name one.
    bundle.write_bytes(archived(files))
    manifest = json.loads(files[0][1])
    manifest["files"].append({"path": name, "sha256": "0" * 64, "bytes": 1})
    bundle.write_bytes(archived([(files[0][0], json.dumps(manifest).encode()), *files[1:]]))
    assert "key files: expected different paths within the bundle" in message()


@pytest.mark.parametrize(
    ("type", "name"),
    [
        (tarfile.SYMTYPE, "a symbolic link"),
        (tarfile.LNKTYPE, "a hard link"),
        (tarfile.CHRTYPE, "a device"),
        (tarfile.BLKTYPE, "a device"),
        (tarfile.FIFOTYPE, "a pipe"),
        (tarfile.DIRTYPE, "a folder"),
        (tarfile.GNUTYPE_LONGNAME, "an extended header"),
        (tarfile.XHDTYPE, "an extended header"),
        (tarfile.GNUTYPE_SPARSE, "an extended header"),
    ],
)
def test_only_files_are_unpacked(bundle: Path, type: bytes, name: str) -> None:
    files = plain(members(bundle))
    special = tarfile.TarInfo("traces/t.csv")
    special.type, special.linkname = type, "/etc/passwd"
    buffer = special.tobuf(tarfile.GNU_FORMAT)
    start = archived(files[:1])
    # The first member alone, without the end of the archive.
    length = 512 + -(-len(files[0][1]) // 512) * 512
    bundle.write_bytes(zstd.compress(zstd.decompress(start)[:length] + buffer + bytes(10240)))
    assert message() == f"'traces/t.csv': is {name}: expected plain files alone"


def test_bombs_are_refused(bundle: Path) -> None:
    files = members(bundle)
    manifest = json.loads(files["MANIFEST.json"])
    for one in manifest["files"]:
        if one["path"] == "traces/t.csv":
            one["bytes"] = 1 << 40
    files["MANIFEST.json"] = json.dumps(manifest).encode()
    bundle.write_bytes(archived(plain(files)))
    assert "would unpack to 1,099,5" in message()
    # Nor is a manifest read that is larger than any.
    info = tarfile.TarInfo("MANIFEST.json")
    info.size = 1 << 40
    bundle.write_bytes(zstd.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20)))
    assert message() == "expected a bundle of flashweir, which begins with MANIFEST.json"
    # Nor a window that takes gigabytes.
    large = {zstd.CompressionParameter.window_log: 30, zstd.CompressionParameter.enable_long_distance_matching: 1}
    compressor = zstd.ZstdCompressor(options=large)
    bundle.write_bytes(compressor.compress(bytes(1 << 20)) + compressor.flush())
    assert message().startswith("damaged or no bundle of flashweir: ")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"format": "flashweir-bundle-2"}, "format 'flashweir-bundle-2': expected flashweir-bundle-1"),
        ({"kind": "other"}, "key kind: expected result or sweep"),
        ({"kind": "sweep"}, "key runs: expected one of each result, and none of a sweep"),
        ({"files": [{"path": "a", "sha256": "x", "bytes": 1}]}, "key files: expected different paths"),
        ({"files": []}, "key files: expected results/run.json among them"),
        ({"versions": {"flashweir": 1}}, "key versions: expected an object of texts"),
        ({"traces": [{"path": "traces/t.csv"}]}, "key traces: expected objects with path"),
        ({"report": "none.html"}, "key files: expected none.html among them"),
    ],
    ids=str,
)
def test_manifests_are_checked(bundle: Path, change: dict[str, Any], expected: str) -> None:
    files = members(bundle)
    files["MANIFEST.json"] = json.dumps({**json.loads(files["MANIFEST.json"]), **change}).encode()
    bundle.write_bytes(archived(plain(files)))
    assert message().startswith(f"MANIFEST.json: {expected}")


def test_what_is_no_bundle_is_refused(bundle: Path) -> None:
    bundle.write_text("no archive", encoding="utf-8")
    assert refused("check-bundle", str(bundle)).startswith("r.tar.zst: damaged or no bundle of flashweir: ")
    assert message().startswith("damaged or no bundle of flashweir: ")
    bundle.write_bytes(zstd.compress(b"no archive"))
    assert message().startswith("damaged or no bundle of flashweir: ")
    bundle.write_bytes(zstd.compress(b"no archive" * 100))
    assert message().startswith("damaged, or no archive: ")
    bundle.unlink()
    assert message() == "expected a bundle, a file such as result.tar.zst"
    os.mkfifo(bundle)
    assert message() == "expected a bundle, a file such as result.tar.zst"


def with_run(**change: Any) -> None:
    def edit(files: dict[str, bytes]) -> None:
        manifest = json.loads(files["MANIFEST.json"])
        manifest["runs"][0] |= change
        files["MANIFEST.json"] = json.dumps(manifest).encode()

    packed_again(Path("r.tar.zst"), edit)


@pytest.mark.parametrize("workload", ["t.csv", "mix:mine.toml", "-", "mix:-", "/etc/hostname"])
@pytest.mark.usefixtures("bundle")
def test_runs_read_nothing_outside_of_the_bundle(workload: str) -> None:
    Path("mine.toml").write_text("[tenants.a]\nworkload = 't.csv'\n", encoding="utf-8")
    with_run(workload=workload)
    assert "expected " in message()


@pytest.mark.usefixtures("bundle")
def test_mixes_read_nothing_outside_of_the_bundle(tmp_path: Path) -> None:
    def edit(files: dict[str, bytes]) -> None:
        files["mix-a.toml"] = f"[tenants.a]\nworkload = '{tmp_path}/t.csv'\n".encode()
        manifest = json.loads(files["MANIFEST.json"])
        manifest["runs"][0]["workload"] = "mix:mix-a.toml"
        files["MANIFEST.json"] = json.dumps(manifest).encode()

    packed_again(Path("r.tar.zst"), edit)
    assert message() == f"{tmp_path}/t.csv: expected files of the bundle alone"


@pytest.mark.usefixtures("bundle")
def test_options_are_those_of_a_bundle(tmp_path: Path) -> None:
    with_run(options={"requests": str(tmp_path / "out.parquet")})
    assert message() == "run: requests: no option of a run in a bundle"


EVIL = "import pathlib; pathlib.Path('executed').touch()\ndef f(view): return None\n"


def test_code_is_not_run(bundle: Path) -> None:
    Path("evil.py").write_text(EVIL, encoding="utf-8")

    def edit(files: dict[str, bytes]) -> None:
        device = json.loads(files["devices/run.json"])
        device["gc"] = {"victim": "external", "victim_file": "evil.py:f"}
        files["devices/run.json"] = json.dumps(device).encode()

    packed_again(bundle, edit)
    assert message().startswith("devices/run.json: runs Python code (gc.victim), and a bundle holds none")
    assert not Path("executed").exists()


@pytest.mark.parametrize(
    ("specification", "expected"),
    [
        ('workloads = "t.csv"', "expected"),
        ('workloads = "mix:t.toml"', "expected files of the bundle alone"),
        ('workloads = "random:count=1"\ndevice = "mine.toml"', "mine.toml: expected files of the bundle alone"),
        ('workloads = "random:count=1"\naxes.device = ["../mine.toml"]', "../mine.toml"),
        ('include = "mine.toml"', "sweep.toml: include: expected a specification that stands alone"),
        ('workloads = "random:count=1"\nset."gc.victim" = "external"', "sweep.toml: runs Python code (set.gc.victim)"),
        ('workloads = "random:count=1"\nset.background.file = "evil.py:f"', "sweep.toml: runs Python code"),
        ('workloads = "random:count=1"\naxes."gc.planner_file" = ["evil.py:f", ""]', "sweep.toml: runs Python code"),
        ('workloads = "random:count=1,span=1MiB"', "sweep.toml: has 1 runs, and results/sweep.json 2"),
        ("workloads = ", "sweep.toml: Invalid value"),
    ],
)
def test_specifications_read_nothing_outside_of_the_bundle(swept: Path, specification: str, expected: str) -> None:
    for name, text in (("t.csv", TRACE), ("t.toml", ""), ("mine.toml", DRIVE), ("evil.py", EVIL)):
        Path(name).write_text(text, encoding="utf-8")
    two = "" if "axes" in specification or "has 1" in expected else "\nseeds = 2"
    packed_again(swept, lambda files: files.update({"sweep.toml": f"{two}\n{specification}\n".encode()}))
    assert expected in message(swept)
    assert not Path("executed").exists()


def test_damaged_rows_are_differences(swept: Path) -> None:
    packed_again(swept, lambda files: files.update({"results/runs.jsonl": b"{}\n" + b"[" * 100_000 + b"\n"}))
    found = flashweir_check(swept)
    assert (found["equal"], found["differing_runs"]) == (False, 2)


def flashweir_check(path: Path) -> Any:
    with pytest.warns(flashweir.FlashweirWarning):
        return flashweir.check_bundle(path)


def test_sources_that_are_none(tmp_path: Path, bundle: Path) -> None:
    expected = "expected the folder of a sweep, or a result that simulate --json FILE wrote"
    assert refused("bundle", "none.json") == f"none.json: there is no such file or folder; {expected}"
    assert refused("bundle", "-") == f"-: standard input is no source of a bundle: {expected}"
    assert "no sweep: expected sweep.json in it" in refused("bundle", str(tmp_path), "-o", "o.tar.zst")
    assert "not a result of flashweir simulate --json" in refused("bundle", "small.toml")
    assert refused("bundle", "run.json", str(tmp_path)) == (
        f"{tmp_path}: expected one folder of a sweep and nothing else, or files with results"
    )
    assert refused("bundle", "run.json", "--base", "no", "-o", "o.tar.zst") == "--base no: expected a folder"
    assert refused("check-bundle", str(bundle), "--traces", "no") == "--traces no: expected a folder"
    assert not Path("o.tar.zst").exists()


def test_a_trace_that_is_gone_or_another_one_is_found(bundle: Path) -> None:
    content = bundle.read_bytes()
    Path("t.csv").write_text(TRACE.replace("Read", "Write"), encoding="utf-8")
    found = refused("bundle", "run.json", "-o", "r.tar.zst", "--force")
    assert found.startswith("run.json: the run that it describes, made again before it is packed: gives another result")
    Path("t.csv").unlink()
    found = refused("bundle", "run.json", "-o", "r.tar.zst", "--force")
    assert found.startswith("run.json: trace t.csv: there is no such file in ")
    assert bundle.read_bytes() == content
    assert not list(Path().glob(".*.part"))


def test_a_changed_trace_of_a_sweep_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TRACE, encoding="utf-8")
    flashweir.sweep({"workloads": "t.csv", "format": "msr"}, "s", threads=1)
    Path("t.csv").write_text(TRACE.replace("Read", "Write"), encoding="utf-8")
    assert refused("bundle", "s").startswith(
        "s: run 0 of workload workload: is another run now: a trace, mix or device"
    )
    meta = json.loads(Path("s/sweep.json").read_text())
    Path("s/sweep.json").write_text(json.dumps({**meta, "runs": 5}), encoding="utf-8")
    assert refused("bundle", "s") == "s: 1 of 5 runs are done: flashweir sweep --resume goes on"


def test_code_and_placeholders_are_not_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("def pick(view): return int(view.blocks[0])\n", encoding="utf-8")
    Path("t.csv").write_text(TRACE, encoding="utf-8")
    settings = {"gc.victim": "external", "gc.victim_file": "mine.py:pick"}
    result = flashweir.simulate("random:count=10", set=settings)
    Path("run.json").write_text(result.to_json(), encoding="utf-8")
    assert "runs Python code (gc.victim), and a bundle holds none" in refused("bundle", "run.json")
    flashweir.sweep({"workloads": "{name}.csv", "format": "msr", "axes": {"name": ["t"]}}, "s", threads=1)
    assert "expected traces by their full names, without placeholders" in refused("bundle", "s")
