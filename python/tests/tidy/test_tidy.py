"""The house rules that no linter knows."""

import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest
from conftest import ROOT

PAPERS = re.compile(r"huang2010|wen2012|zhu2017|ssdkeeper2024|yang2009", re.IGNORECASE)
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|\btodo!|\bunimplemented!")
# Where a paper's name belongs: numbers from it, tests of them, and this rule.
PAPERS_ALLOWED = re.compile(
    r"^crates/ssd/presets/|^crates/ssd/src/config/presets\.rs$|/tests/|^experiments/|^docs/|(^|/)tests?\.rs$"
)


def tracked(*suffixes: str) -> list[Path]:
    """Files of the repository, committed or about to be, that end so."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [Path(name) for name in listed if name.endswith(suffixes) and (ROOT / name).exists()]


@cache
def text(name: Path) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def outside_tests(source: str) -> str:
    """A Rust file up to its test module."""
    return source.partition("#[cfg(test)]")[0]


ROOMS = ("crates", "python", "research")
SOURCES = [name for name in tracked(".rs", ".py", ".pyi", ".sh", ".toml") if name.parts[0] in ROOMS]


@pytest.mark.parametrize("name", SOURCES, ids=str)
def test_source_file(name: Path) -> None:
    source = text(name)
    if name.name == "test_tidy.py":
        return
    assert not UNFINISHED.search(source), f"{name}: {UNFINISHED.search(source)}"
    if not PAPERS_ALLOWED.search(name.as_posix()):
        assert not PAPERS.search(outside_tests(source)), f"{name} names a paper: policies are named for what they do"


def test_every_crate_forbids_unsafe() -> None:
    roots = sorted((ROOT / "crates").glob("*/src/lib.rs"))
    assert roots
    for root in roots:
        # The crate that talks to real devices documents each use instead.
        if root.parents[1].name != "device":
            assert "#![forbid(unsafe_code)]" in root.read_text(encoding="utf-8"), root


def test_the_package_imports_no_research() -> None:
    for name in tracked(".py", ".pyi"):
        if name.as_posix().startswith("python/flashweir/"):
            assert not re.search(r"^\s*(from|import) research\b", text(name), re.MULTILINE), name


def test_every_crate_inherits_the_lints() -> None:
    for manifest in (ROOT / "crates").glob("*/Cargo.toml"):
        assert "[lints]\nworkspace = true" in manifest.read_text(encoding="utf-8"), manifest


def test_changelog_has_an_unreleased_section() -> None:
    assert "\n## Unreleased\n" in text(Path("CHANGELOG.md"))


def test_no_traces_of_one_machine() -> None:
    for name in tracked(".md", ".rs", ".py", ".toml", ".sh"):
        if name.name != "test_tidy.py":
            assert not re.search(r"/(home|root|Users|work)/\w", text(name)), name


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert "```sh\n./test\n```" in text(Path("README.md"))
    assert text(Path(".ci/run")).rstrip().endswith("exec ./test")


def test_every_integration_test_of_a_crate_is_in_its_binary() -> None:
    for everything in ROOT.glob("crates/*/tests/all.rs"):
        manifest = tomllib.loads((everything.parents[1] / "Cargo.toml").read_text(encoding="utf-8"))
        apart = {test["name"] for test in manifest["test"]}
        files = {path.stem for path in everything.parent.glob("*.rs")} | {
            path.parent.name for path in everything.parent.glob("*/mod.rs")
        }
        listed = set(re.findall(r"^mod (\w+);", everything.read_text(encoding="utf-8"), re.MULTILINE))
        assert files - apart - {"all"} == listed, everything


def test_refusals_are_made_from_rules_of_the_tables() -> None:
    sources = [path for path in (ROOT / "crates").glob("*/src/**/*.rs") if path.name != "tests.rs"]
    makers = {path for path in sources if "ConfigError::Refused {" in path.read_text()}
    assert makers == {ROOT / "crates/ssd/src/refusal.rs"}
    held = ("holds_back()", "FtlConfig::Direct")
    for path in (ROOT / "crates/run/src").rglob("*.rs"):
        for block in re.findall(r"if [^{]*\{[^}]*Err\(Error::setting\(", path.read_text()):
            assert not any(word in block for word in held), f"{path.name}: a combination refused by no rule"


def test_python_tests_lie_in_the_folders_that_contributing_names() -> None:
    tests = [name.relative_to("python/tests") for name in tracked(".py") if name.as_posix().startswith("python/tests/")]
    loose = [name.name for name in tests if len(name.parts) == 1 and name.name.startswith("test_")]
    assert not loose, "tests that lie in no folder of python/tests"
    rows = re.findall(r"^  \| (`.*?`) \|", text(Path("CONTRIBUTING.md")), re.MULTILINE)
    named = {folder for row in rows for folder in re.findall(r"`(\w+)`", row)}
    assert {name.parts[0] for name in tests if len(name.parts) > 1} == named
    # Two of one name can't be imported in one process.
    assert len({name.name for name in tests}) == len(tests)
