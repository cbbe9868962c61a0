"""The shape of the sources: lengths of files and functions, and no circle of files."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from conftest import ROOT
from python_modules import Package
from rust_modules import Crate, Module, names_of
from test_tidy import SOURCES, text

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 70
CODE = [name for name in SOURCES if name.suffix in (".rs", ".py")]
CRATES = sorted(path.parent for path in (ROOT / "crates").glob("*/src"))
# Circles that are known, as modules of a crate or a package, each with its reason.
KNOWN_CIRCLES: dict[frozenset[str], str] = {}

RUST_FUNCTION = re.compile(r'( *)(?:pub(?:\([^)]*\))? )?(?:(?:const|async|unsafe|extern "C") )*fn (\w+)')


def rust_functions(source: str) -> Iterator[tuple[str, int]]:
    """Names of functions with their lines, signature included. In formatted sources an end stands below its start."""
    lines = source.splitlines()
    for first, line in enumerate(lines):
        found = RUST_FUNCTION.match(line)
        if found is None or line.endswith(("}", ";")):
            continue
        for last in range(first + 1, len(lines)):
            if lines[last] == found[1] + "}":
                yield found[2], last - first + 1
                break
            if lines[last].startswith(found[1]) and lines[last].endswith(";") and lines[last][len(found[1])] != " ":
                break


def python_functions(source: str) -> Iterator[tuple[str, int]]:
    """Names of functions with the lines of their bodies: parameters and documentation are an interface, not code."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            yield node.name, (node.end_lineno or 0) - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("name", CODE, ids=str)
def test_files_and_functions_are_short(name: Path) -> None:
    source = text(name)
    count = source.count("\n")
    assert count <= MAX_FILE_LINES, f"{name}: {count} lines, expected at most {MAX_FILE_LINES}: split it by sense"
    functions = rust_functions(source) if name.suffix == ".rs" else python_functions(source)
    long = [f"{function} ({lines} lines)" for function, lines in functions if lines > MAX_FUNCTION_LINES]
    assert not long, f"{name}: expected functions of at most {MAX_FUNCTION_LINES} lines: {', '.join(long)}"


def test_functions_are_measured() -> None:
    rust = "impl A {\n    pub(super) fn a(\n        b: u32,\n    ) {\n        c();\n    }\n\n    fn d(&self);\n}\n"
    assert list(rust_functions(rust)) == [("a", 5)]
    assert list(python_functions('def a(\n    b: int,\n) -> None:\n    """c"""\n    d()\n    e()\n')) == [("a", 2)]


def rust_module(path: Path) -> Module:
    """The module of a file, from its path within `src`."""
    parts = path.with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


def circles(uses: Mapping[Module, set[Module]]) -> list[frozenset[str]]:
    """Groups of modules of which each leads to each other one.

    A module's own items are the contract of its children: that a child uses its parent is no edge. All else is one,
    from a parent to its children and from a child to a grandparent too.
    """
    graph = {one: {other for other in uses[one] if other in uses and other != one[:-1]} for one in uses}

    def reached(start: Module) -> set[Module]:
        seen: set[Module] = set()
        waiting = list(graph[start])
        while waiting:
            module = waiting.pop()
            if module not in seen:
                seen.add(module)
                waiting += graph[module]
        return seen

    reach = {module: reached(module) for module in graph}
    groups = {
        frozenset("::".join(other) for other in reach[module] if module in reach[other])
        for module in graph
        if module in reach[module]
    }
    return sorted(groups, key=sorted)


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_no_circle_of_rust_files(crate: Path) -> None:
    files = {rust_module(path.relative_to(crate / "src")): path for path in (crate / "src").rglob("*.rs")}
    files = {module: path for module, path in files.items() if not any("tests" in part for part in module)}
    uses = Crate({module: path.read_text(encoding="utf-8") for module, path in files.items()}).uses()
    found = [sorted(circle) for circle in circles(uses) if circle not in KNOWN_CIRCLES]
    assert not found, f"{crate.name}: files that use one another: {found}"


def test_no_circle_of_python_files() -> None:
    package = ROOT / "python/flashweir"
    sources = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        sources[parts[:-1] if parts[-1] == "__init__" else parts] = path.read_text(encoding="utf-8")
    uses = Package(sources).uses()
    found = [sorted(circle) for circle in circles(uses) if circle not in KNOWN_CIRCLES]
    assert not found, f"files that import one another: {found}"


def test_circles_are_found() -> None:
    sources = {
        ("a",): "use crate::c::{X, Y};\nmod b;\nfn f() {}",
        ("a", "b"): "use super::Z;",
        ("c",): "use super::d;\nstruct X;\nfn h() { d::g() }",
        ("d",): "fn g() { crate::a::f() }",
    }
    assert circles(Crate(sources).uses()) == [frozenset({"a", "c", "d"})]
    assert circles(Crate({**sources, ("d",): ""}).uses()) == []
    names = {"b": ("a", "b"), "f": ("a", "c", "e"), "c": ("a", "c")}
    assert dict(names_of("a::{b, c::{self, e as f}}")) == names


def test_circles_through_names_of_a_parent_are_found() -> None:
    siblings = {
        ("a",): "mod b;\nmod c;\npub(crate) use b::{Other, X as Y};\nuse c::*;\nstruct Own;",
        ("a", "b"): "use super::{Own, Z};\nstruct X;\nstruct Other;",
        ("a", "c"): "struct Z(super::Y);",
        ("d",): "pub use crate::a::Other;",
        ("e",): "use crate::d::*;\nfn f(_: Other) {}",
    }
    uses = Crate(siblings).uses()
    assert circles(uses) == [frozenset({"a::b", "a::c"})]
    assert uses[("e",)] == {("a", "b")}
    assert circles(Crate({**siblings, ("a", "c"): "struct Z(super::Own);"}).uses()) == []


def test_circles_through_ancestors_are_found() -> None:
    sources = {
        ("a",): "mod b;\nuse b::X;\nstruct Own;",
        ("a", "b"): "mod c;\nuse c::Y;\nuse super::Own;\nstruct X(Y);",
        ("a", "b", "c"): "pub(in crate::a) struct Y(crate::a::Own);",
    }
    assert circles(Crate(sources).uses()) == [frozenset({"a", "a::b", "a::b::c"})]
    sources["a", "b", "c"] = "pub(in crate::a) struct Y(super::Z);"
    assert circles(Crate(sources).uses()) == []


def test_circles_of_python_files_are_found() -> None:
    sources = {
        ("p",): "from p.a import f\nfrom p.b import g as h\nOWN = 1\n",
        ("p", "a"): "from p import h\n\n\ndef f() -> None: ...\n",
        ("p", "b"): "import p\n\n\ndef g() -> None:\n    p.f()\n",
        ("p", "c"): "def later() -> None:\n    from p.d import x\n",
        ("p", "d"): "from p.c import later\nx = 1\n",
    }
    assert circles(Package(sources).uses()) == [frozenset({"p::a", "p::b"})]
    sources["p", "b"] = "from p import OWN\n\n\ndef g() -> None: ...\n"
    assert circles(Package(sources).uses()) == []
