"""The rules of language: openings of comments, names, lines of Markdown, wordings that the glossary rules out."""

import ast
import functools
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_tidy import text, tracked

OPENING = re.compile(r"(What|Which|How|Whether|Who)\b")
RULED_OUT = re.compile(r"\btold\b|\b_?(MOST|LEAST)_")
MAX_MARKDOWN_LINE = 119
PYTHON = [name for name in tracked(".py", ".pyi") if name.parts[0] in ("python", "research", "benches", "docs")]
RUST = tracked(".rs")
TOML = tracked(".toml")
PAGES = tracked(".js", ".css")
MARKDOWN = tracked(".md")
GLOSSARY = Path("docs/reference/glossary.md")
# These state the rule, or are history.
EXEMPT = {Path("python/tests/tidy/test_tidy_words.py"), GLOSSARY, Path("CHANGELOG.md")}


def python_comments(source: str) -> Iterator[tuple[int, str]]:
    """Comments and docstrings of a Python file with their lines; a block of comments counts as one."""
    last = -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line = token.start[0]
            whole = token.line.lstrip().startswith("#")
            if not whole or line != last + 1:
                yield line, token.string.lstrip("#! ")
            last = line if whole else -1
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value.strip()


def rust_comments(source: str) -> Iterator[tuple[int, str]]:
    """Comments of a Rust file with the lines that they begin on; adjacent lines of one kind are one comment."""
    kind_before = ""
    for line, content in enumerate(source.splitlines(), 1):
        found = re.match(r"\s*(//[/!]?)(?!/)\s?(.*)", content)
        kind = found[1] if found else ""
        if found and kind != kind_before:
            yield line, found[2]
        kind_before = kind


def page_comments(source: str) -> Iterator[tuple[int, str]]:
    """Comments of JavaScript or CSS with the lines that they begin on; adjacent lines are one comment."""
    inside = False
    for line, content in enumerate(source.splitlines(), 1):
        found = re.match(r"\s*(?://+|/\*+)\s*(.*)", content)
        if found and not inside:
            yield line, found[1]
        inside = bool(found) and content.lstrip().startswith("//")


def rust_text(source: str) -> Iterator[tuple[int, str]]:
    """All comments of a Rust file with the lines that they begin on: adjacent lines are one, on one line."""
    first, parts = 0, list[str]()
    for line, content in enumerate([*source.splitlines(), ""], 1):
        found = re.match(r"\s*//[/!]?(?!/)\s?(.*)", content)
        behind = re.search(r"\s//\s(.*)", content)
        if found:
            first = first or line
            parts.append(found[1])
            continue
        if parts:
            yield first, " ".join(parts)
        first, parts = 0, []
        if behind:
            yield line, behind[1]


def toml_comments(source: str) -> Iterator[tuple[int, str]]:
    """Comments of a TOML file that have a line, with the lines that they begin on; adjacent lines are one comment."""
    last = -1
    for line, content in enumerate(source.splitlines(), 1):
        if content.lstrip().startswith("#"):
            if line != last + 1:
                yield line, content.lstrip().lstrip("# ")
            last = line


def help_texts(source: str) -> Iterator[tuple[int, str]]:
    """Help texts of options and arguments: keywords `help`, `doc` and `row` of calls."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.keyword)
            and node.arg in ("help", "doc", "row")
            and isinstance(node.value, ast.Constant)
        ):
            yield node.value.lineno, str(node.value.value)


def offences(comments: Iterator[tuple[int, str]]) -> list[str]:
    return [f"{line}: {comment[:60]}" for line, comment in comments if OPENING.match(comment)]


def ruled_out(source: str) -> list[str]:
    return [
        f"{line}: {found[0]}"
        for line, content in enumerate(source.splitlines(), 1)
        if (found := RULED_OUT.search(content))
    ]


def wordings(glossary: str) -> list[str]:
    """The wordings in quotation marks in the last column of the glossary."""
    rows = [row.rstrip().removesuffix("|") for row in glossary.splitlines() if row.startswith("|")]
    return [wording for row in rows for wording in re.findall(r'"([^"]+)"', row.rpartition("|")[2])]


def pattern_of(wording: str) -> re.Pattern[str]:
    return re.compile(r"\b" + r"\s+".join(map(re.escape, wording.split())) + r"\b", re.IGNORECASE)


@pytest.mark.parametrize("name", PYTHON, ids=str)
def test_python_comments_name_the_thing(name: Path) -> None:
    if name not in EXEMPT:
        source = text(name)
        found = offences(python_comments(source)) + offences(help_texts(source)) + ruled_out(source)
        assert not found, f"{name}: begin with the thing or the verb, not with a question: {found}"


@pytest.mark.parametrize("name", RUST, ids=str)
def test_rust_comments_name_the_thing(name: Path) -> None:
    source = text(name)
    found = offences(rust_comments(source)) + ruled_out(source)
    assert not found, f"{name}: begin with the thing or the verb, not a question; max_ and min_, no `told`: {found}"


@pytest.mark.parametrize("name", PAGES, ids=str)
def test_comments_of_pages_name_the_thing(name: Path) -> None:
    found = offences(page_comments(text(name)))
    assert not found, f"{name}: begin with the thing or the verb, not with a question: {found}"


@pytest.mark.parametrize("name", TOML, ids=str)
def test_toml_comments_name_the_thing(name: Path) -> None:
    found = offences(toml_comments(text(name)))
    assert not found, f"{name}: begin with the thing or the verb, not with a question: {found}"


@pytest.mark.parametrize("name", MARKDOWN, ids=str)
def test_headings_name_the_thing(name: Path) -> None:
    found = re.findall(r"^#+ (?:What|Which|How|Whether|Who|Whose|Where|When|Why)\b.*", text(name), re.MULTILINE)
    assert not found, f"{name}: a heading is an entry of an index, not a question: {found}"


@pytest.mark.parametrize("name", MARKDOWN, ids=str)
def test_markdown_lines_are_short(name: Path) -> None:
    """Rows of tables and fences stay as they are: neither can be wrapped."""
    fence, long = "", []
    for line, content in enumerate(text(name).splitlines(), 1):
        mark = re.match(r"\s*(```+)", content)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        elif not fence and len(content) > MAX_MARKDOWN_LINE and not content.lstrip().startswith("|"):
            long.append(line)
    assert not long, f"{name}: lines {long}: expected at most {MAX_MARKDOWN_LINE} characters"


@pytest.mark.parametrize("name", RUST, ids=str)
def test_rust_comments_have_the_wordings_of_the_glossary(name: Path) -> None:
    pattern = ruled_out_by_the_glossary()
    found = [
        f"{line}: {' '.join(place[0].split())}"
        for line, comment in rust_text(text(name))
        for place in pattern.finditer(comment)
    ]
    assert not found, f"{name}: use the terms of {GLOSSARY}: {found}"


@functools.cache
def ruled_out_by_the_glossary() -> re.Pattern[str]:
    terms = wordings(text(GLOSSARY))
    assert terms
    return re.compile("|".join(pattern_of(wording).pattern for wording in terms), re.IGNORECASE)


def test_wordings_that_the_glossary_rules_out() -> None:
    places = [*MARKDOWN, *(name for name in PYTHON if name.as_posix().startswith("python/flashweir/"))]
    pattern = ruled_out_by_the_glossary()
    found = [
        f"{name}:{text(name).count(chr(10), 0, place.start()) + 1}: {' '.join(place[0].split())}"
        for name in places
        if name not in EXEMPT
        for place in pattern.finditer(text(name))
    ]
    assert not found, f"use the terms of {GLOSSARY}: {found}"


def test_every_page_links_the_glossary() -> None:
    folders = ("guide", "concepts", "reference", "contributing")
    pages = [name for name in MARKDOWN if name.parts[0] == "docs" and name.parts[1] in folders]
    lacking = [str(name) for name in pages if name != GLOSSARY and "glossary.md" not in text(name)]
    assert not lacking, f"expected a link to {GLOSSARY} in {lacking}"


def test_offences_are_found() -> None:
    source = '"""What it is."""\n\n# How far.\n# Which line goes on.\nx = 1  # Who knows\n# Fine: what it is.\n'
    assert [line.partition(":")[0] for line in offences(python_comments(source))] == ["3", "5", "1"]
    rust = "//! Whether.\n//! Which goes on.\n/// How many.\nfn a() {} // What\n// Fine.\n"
    assert [line.partition(":")[0] for line in offences(rust_comments(rust))] == ["1", "3"]
    page = (
        "// What.\n// Which goes on.\nlet a; // no line\n  /** How many. */\n/* Who. */\n/*\n * What.\n */\n// Fine.\n"
    )
    assert [line.partition(":")[0] for line in offences(page_comments(page))] == ["1", "4", "5"]
    toml = "# What.\n# Which goes on.\na = 1 # no line\n  # How many.\n"
    assert [line.partition(":")[0] for line in offences(toml_comments(toml))] == ["1", "4"]
    assert offences(help_texts('option(help="What a drive measured.")')) == ["1: What a drive measured."]
    assert ruled_out("is told\nMOST_ROWS\nthe most_rows\n") == ["1: told", "2: MOST_"]
    rust = '//! Requests under\n//! way.\nlet a = 1; // under way\nlet b = "under way";\n'
    found = [line for line, comment in rust_text(rust) if pattern_of("under way").search(comment)]
    assert found == [1, 3]
    assert wordings('| **a** | "b" | "c d", "e" |\n') == ["c d", "e"]
    assert pattern_of("c d").search("a C\nd b")
