"""The script that builds the packages: an architecture out of reach is named, the rest is built."""

import importlib.machinery
import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT


@pytest.fixture
def dist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, whose packages go to a folder of the test, and which knows one Rust target."""
    loader = importlib.machinery.SourceFileLoader("dist_script", str(ROOT / "scripts/dist"))
    spec = importlib.util.spec_from_loader("dist_script", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    loader.exec_module(module)
    monkeypatch.setattr(module, "DIST", tmp_path / "dist")

    def rustup(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        if command[2] == "list":
            return subprocess.CompletedProcess(command, 0, "x86_64-unknown-linux-gnu\n", "")
        return subprocess.CompletedProcess(command, 1, "", "info: downloading\nerror: could not download file\n")

    monkeypatch.setattr(module.subprocess, "run", rustup)
    return module


def test_a_target_that_is_out_of_reach_is_named_and_the_rest_is_built(
    dist: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []
    monkeypatch.setattr(dist, "run", lambda *command: ran.append(" ".join(map(str, command))))
    assert dist.build(["aarch64", "x86_64"]) == ["aarch64"]
    target = "Rust target aarch64-unknown-linux-gnu"
    said = f"no wheel for aarch64: {target} can't be installed: error: could not download file\n"
    assert capsys.readouterr().err == said
    built = [command for command in ran if command.startswith("maturin")]
    assert len(built) == 2
    assert "--target x86_64-unknown-linux-gnu" in built[0]
    assert built[1].startswith("maturin sdist")


def test_the_end_is_code_3_where_a_wheel_is_missing(
    dist: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checked: list[str] = []
    monkeypatch.setattr("sys.argv", ["dist"])
    monkeypatch.setattr(dist, "build", lambda _: ["aarch64"])
    monkeypatch.setattr(dist, "check", checked.append)
    monkeypatch.setattr(dist.os, "uname", lambda: type("Uname", (), {"machine": "riscv64"}))
    dist.DIST.mkdir()
    with pytest.raises(SystemExit) as end:
        dist.main()
    assert end.value.code == 3
    assert checked == ["x86_64"]
    assert capsys.readouterr().err == "error: no wheel for aarch64: see above\n"
