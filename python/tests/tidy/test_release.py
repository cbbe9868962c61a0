"""The script that makes a release: its checks of versions, changelog and tree."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT

CHANGELOG = "# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 0.1.0 (2026-01-01)\n\n- Older.\n"


@pytest.fixture(scope="module")
def release() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("release", str(ROOT / "scripts/release"))
    spec = importlib.util.spec_from_loader("release", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "Cargo.toml").write_text('[workspace.package]\nversion = "1.2.3"\nedition = "2024"\n', "utf-8")
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 1.2.3\n", "utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, "utf-8")
    return tmp_path


def test_the_next_versions_pass(release: ModuleType, tree: Path) -> None:
    for version in ("1.2.3", "1.2.4", "1.3.0", "2.0.0"):
        assert release.check(tree, version, [], "") == "### Added\n\n- A thing.\n"


@pytest.mark.parametrize(
    ("version", "tags", "changed", "message"),
    [
        ("1.2", [], "", "1.2: expected a version such as 1.2.0"),
        ("1.2.5", [], "", "1.2.5: expected 1.2.3 or the next"),
        ("1.4.0", [], "", "1.4.0: expected 1.2.3 or the next"),
        ("1.2.4", ["v1.2.4"], "", "there is a tag v1.2.4 already"),
        ("1.2.4", [], " M README.md\n", "README.md: not committed"),
    ],
)
def test_others_are_refused(
    release: ModuleType, tree: Path, version: str, tags: list[str], changed: str, message: str
) -> None:
    with pytest.raises(release.ReleaseError, match=message.replace(".", r"\.")):
        release.check(tree, version, tags, changed)


def test_versions_agree_and_something_changed(release: ModuleType, tree: Path) -> None:
    (tree / "CITATION.cff").write_text("version: 1.0.0\n", "utf-8")
    with pytest.raises(release.ReleaseError, match=r"CITATION\.cff: version 1\.0\.0, expected 1\.2\.3"):
        release.check(tree, "1.2.4", [], "")
    (tree / "CITATION.cff").write_text("version: 1.2.3\n", "utf-8")
    (tree / "CHANGELOG.md").write_text("## Unreleased\n\n## 1.2.3\n\n- Older.\n", "utf-8")
    with pytest.raises(release.ReleaseError, match="nothing under Unreleased"):
        release.check(tree, "1.2.4", [], "")


def test_the_section_gets_its_name(release: ModuleType) -> None:
    assert release.dated(CHANGELOG, "1.2.4", "2026-02-03").startswith(
        "# Changelog\n\n## Unreleased\n\n## 1.2.4 (2026-02-03)\n\n### Added\n"
    )


def test_this_tree_can_be_released(release: ModuleType) -> None:
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("Cargo.toml", "CITATION.cff")}
    version = release.version_in(texts["Cargo.toml"], release.CARGO, "Cargo.toml")
    assert release.version_in(texts["CITATION.cff"], release.CITATION, "CITATION.cff") == version
