"""The shape of the sources: lengths of files and functions, and no circle of files."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest
from conftest import ROOT
from test_tidy import SOURCES, text

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 70
CODE = [name for name in SOURCES if name.suffix in (".rs", ".py")]
CRATES = sorted(path.parent for path in (ROOT / "crates").glob("*/src"))
# Circles that are known, as modules of a crate or a package, each with its reason.
KNOWN_CIRCLES: dict[frozenset[str], str] = {}

Module = tuple[str, ...]
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


def paths_of(tree: str) -> Iterator[str]:
    """The paths of a Rust `use`: `a::{b, c::{d, e}}` is a::b, a::c::d and a::c::e."""
    head, brace, rest = tree.strip().partition("{")
    if not brace:
        yield head.partition(" as ")[0].strip()
        return
    depth, part = 0, ""
    for character in rest.rpartition("}")[0] + ",":
        if character == "," and depth == 0:
            if part.strip():
                yield from (head + path for path in paths_of(part))
            part = ""
            continue
        depth += (character == "{") - (character == "}")
        part += character


def rust_module(path: Path) -> Module:
    """The module of a file, from its path within `src`."""
    parts = path.with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


def rust_uses(module: Module, source: str, modules: Iterable[Module]) -> set[Module]:
    """Modules of the same crate that a Rust file names, by `use` or in full."""
    source = re.sub(r"//.*", "", source.partition("#[cfg(test)]\nmod tests {")[0])
    source = re.sub(r'"(?:[^"\\]|\\.)*"', '""', source)
    named = [path for tree in re.findall(r"\buse\s+((?:crate|super|self)\b[^;]*);", source) for path in paths_of(tree)]
    named += re.findall(r"\b(?:crate|super|self)(?:::\w+)+", re.sub(r"\buse\s[^;]*;", "", source))
    found = set()
    for path in named:
        first, *rest = (part.strip() for part in path.split("::"))
        at: Module = () if first == "crate" else module[:-1] if first == "super" else module
        while rest and rest[0] == "super":
            at, rest = at[:-1], rest[1:]
        while rest and (*at, rest[0]) in modules:
            at, rest = (*at, rest[0]), rest[1:]
        found.add(at)
    return found


def python_uses(source: str) -> set[Module]:
    """Modules that a Python file imports when it is imported itself."""
    found: set[Module] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import):
            found |= {tuple(alias.name.split(".")) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            at = tuple(node.module.split("."))
            found |= {at} | {(*at, alias.name) for alias in node.names}
    return found


def are_family(one: Module, other: Module) -> bool:
    """True if one contains the other: a module and its children count as one."""
    return one[: len(other)] == other or other[: len(one)] == one


def circles(uses: Mapping[Module, set[Module]]) -> list[frozenset[str]]:
    """Groups of modules of which each leads to each other one."""
    graph = {one: {other for other in uses[one] if other in uses and not are_family(one, other)} for one in uses}

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
    files = {module: path for module, path in files.items() if not module or "tests" not in module[-1]}
    uses = {module: rust_uses(module, path.read_text(encoding="utf-8"), files) for module, path in files.items()}
    found = [sorted(circle) for circle in circles(uses) if circle not in KNOWN_CIRCLES]
    assert not found, f"{crate.name}: files that use one another: {found}"


def test_no_circle_of_python_files() -> None:
    package = ROOT / "python/flashweir"
    uses = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        module = parts[:-1] if parts[-1] == "__init__" else parts
        uses[module] = python_uses(path.read_text(encoding="utf-8"))
    found = [sorted(circle) for circle in circles(uses) if circle not in KNOWN_CIRCLES]
    assert not found, f"files that import one another: {found}"


def test_circles_are_found() -> None:
    modules = {("a",), ("a", "b"), ("c",), ("d",)}
    sources = {
        ("a",): "use crate::c::{X, Y};",
        ("a", "b"): "use super::Z;",
        ("c",): "use super::d;",
        ("d",): "crate::a::f()",
    }
    uses = {module: rust_uses(module, source, modules) for module, source in sources.items()}
    assert circles(uses) == [frozenset({"a", "c", "d"})]
    assert circles({**uses, ("d",): set()}) == []
    assert set(paths_of("a::{b, c::{d, e as f}}")) == {"a::b", "a::c::d", "a::c::e"}
