"""Nothing is compiled twice by `./test`: tests, extension module and worked examples have the same dependencies.

A feature that only tests ask for (`[dev-dependencies]`) makes another crate of a dependency, and of all that use it.
"""

import subprocess
from pathlib import Path

import pytest
from conftest import ROOT
from test_contributing import CHECK


def features(*selected: str, dev: bool) -> set[str]:
    """Each dependency of the selected packages with its version and features; `dev`: with those of their tests."""
    edges = "normal,dev" if dev else "normal"
    command = ["cargo", "tree", "--locked", *selected, "--edges", edges, "--prefix", "none", "--no-dedupe"]
    done = subprocess.run([*command, "--format", "{p} {f}"], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines())


@pytest.fixture(scope="module")
def of_tests() -> set[str]:
    found = features("--workspace", dev=True)
    assert len(found) > 100
    return found


def test_the_extension_module_has_the_dependencies_of_the_tests(of_tests: set[str]) -> None:
    assert features("--package", "flashweir-python", dev=False) - of_tests == set()


def test_the_worked_examples_have_the_dependencies_of_the_tests(of_tests: set[str]) -> None:
    selected = [word for package in CHECK.PACKAGES for word in ("--package", package)]
    assert features(*selected, dev=True) - of_tests == set()


def test_of_the_worked_examples_only_the_unit_tests_are_compiled(tmp_path: Path) -> None:
    copy = tmp_path / "Cargo.toml"
    copy.write_text((ROOT / "crates/ssd/Cargo.toml").read_text())
    CHECK.without_integration_tests(copy)
    assert copy.read_text().count("[[test]]") == copy.read_text().count("[[test]]\ntest = false\n") == 1
