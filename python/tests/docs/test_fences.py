"""Every command line of the documents parses: commands, options and keys of `--set` that it names exist.

Pages in docs run what their `console` fences show (test_docs.py). Fences `sh` name drives, files and hours of work that
no test has: all of their lines are parsed, and those run that can (test_shell_lines.py).
"""

import json
import re
import shlex
from pathlib import Path

import forked
import pytest
from conftest import ROOT

FOLDERS = ("docs", "experiments", "research", "benches", "traces")
PAGES = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])
FENCE = re.compile(r"^```(?:sh|bash|shell|console)(?: \S+)?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"^```text\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\$ )?(?:sudo )?flashweir [a-z]", re.MULTILINE)
VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
# A line that the page shows as one that is refused.
WRONG = re.compile(r"^\$ .*\nerror: ", re.MULTILINE)
ASSIGNED = re.compile(r"^(\w+)=(?P<quote>['\"]?)(.*)(?P=quote)$")
# The words before a command's own, and those that end it.
BEFORE = {"sudo", "nice", "time", "then", "do", "exec"}
ENDS = {"|", "||", "&&", ";", "&", ">", ">>", "<", "2>", ")", "("}

# Parses each command line as the command does, without calling it; prints a message or null for each.
PARSER = """
import json
import typer
from typer.main import get_command
from flashweir import _native
from flashweir.cli import application, coercion

coercion.install()
top = get_command(application())
keys = {key["name"] for key in json.loads(_native.schema())["x-keys"]}

def check(words):
    command, context, left = top, None, list(words)
    name = "flashweir"
    while True:
        context = command.make_context(name, left, parent=context)
        if not hasattr(command, "resolve_command"):
            break
        given = [*context._protected_args, *context.args]
        if not given:
            return
        name, command, left = command.resolve_command(context, given)
    for setting in context.params.get("settings") or context.params.get("set") or ():
        key = str(setting).partition("=")[0]
        if key not in keys:
            raise ValueError(f"--set {setting}: no such key")

found = []
for words in json.loads(open("lines.json").read()):
    try:
        check(words)
        found.append(None)
    except typer.Exit:
        found.append(None)
    except typer.TyperException as error:
        found.append(error.format_message())
    except (ValueError, _native.FlashweirError) as error:
        found.append(str(error))
print(json.dumps(found))
"""


def commands(body: str) -> list[list[str]]:
    """The words behind `flashweir` of each command in a fence; variables that the fence sets are in their place."""
    found: list[list[str]] = []
    known: dict[str, str] = {}
    for line in WRONG.sub("", re.sub(r"\\\n\s*", " ", body)).splitlines():
        text = line.strip().removeprefix("$ ")
        if (assigned := ASSIGNED.match(text)) is not None:
            known[assigned[1]] = assigned[3]
            continue
        text = VARIABLE.sub(lambda name: known.get(name[1] or name[2], name[0]), text)
        text = re.sub(r"\$\(([^()]*)\)", r" ( \1 ) ", text.replace('"$(', "$(").replace(')"', ")"))
        if "flashweir" not in text and "./run " not in text:
            continue
        lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;<>()")
        lexer.whitespace_split = True
        words = list(lexer)
        found += _commands(words)
    return found


def _commands(words: list[str]) -> list[list[str]]:
    found: list[list[str]] = []
    current: list[str] | None = None
    first = True
    for word in words:
        if word in ENDS:
            current, first = None, True
        elif first and (word in BEFORE or re.fullmatch(r"\w+=\S*", word)):
            continue
        elif first:
            first = False
            current = [] if word in ("flashweir", "./run") else None
            if current is not None:
                found.append(current)
        elif current is not None and word not in ("...", "…"):
            current.append(word)
    return found


def complaints(lines: list[list[str]], folder: Path) -> list[str]:
    """Those that do not parse, each with the parser's reason."""
    (folder / "lines.json").write_text(json.dumps(lines), encoding="utf-8")
    done = forked.run_script(PARSER, cwd=folder)
    assert done.returncode == 0, done.stderr
    return [f"flashweir {shlex.join(words)}: {said}"
            for words, said in zip(lines, json.loads(done.stdout), strict=True) if said]  # fmt: skip


def lines_of(page: Path) -> list[list[str]]:
    return [words for fence in FENCE.finditer(page.read_text(encoding="utf-8")) for words in commands(fence["body"])]


WITH_COMMANDS = [page for page in PAGES if lines_of(page)]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: str(page.relative_to(ROOT)))
def test_command_lines_parse(page: Path, tmp_path: Path) -> None:
    assert complaints(lines_of(page), tmp_path) == []


def test_a_wrong_line_is_found(tmp_path: Path) -> None:
    body = (
        "work='random:count=1'\n"
        "flashweir simulate $work --set channels=2 --jsn out.json  # a wrong option\n"
        "sudo flashweir colect /dev/sdx -o x.parquet\n"
        "flashweir trace convert a.csv - --to msr | flashweir simulate - --fromat msr\n"
        "flashweir simulate $work \\\n    --set chanels=2\n"
        'eval "$(flashweir completion bash)"\n'
        "flashweir replay trace.parquet\n"
        "$ flashweir simulate --jsn\nerror: shown as wrong\n"
        "flashweir simulate mix:two.toml --set tenants.channels=learned ...\n"
    )
    lines = commands(body)
    assert [words[0] for words in lines] == [
        "simulate", "colect", "trace", "simulate", "simulate", "completion", "replay", "simulate"
    ]  # fmt: skip
    found = complaints(lines, tmp_path)
    assert [line.split()[1] for line in found] == ["simulate", "colect", "simulate", "simulate"], found
    assert "--jsn" in found[0]
    assert "colect" in found[1]
    assert "--fromat" in found[2]
    assert "chanels" in found[3]


def test_commands_stand_in_fences_that_are_checked() -> None:
    """A fence `text` has output; the two pages with a synopsis, whose brackets no parser takes, are not checked."""
    synopses = {ROOT / "docs/reference/cli.md", ROOT / "docs/reference/report.md"}
    texts = {page: page.read_text(encoding="utf-8") for page in PAGES if page not in synopses}
    bodies = [(page, fence["body"]) for page, text in texts.items() for fence in OUTPUT.finditer(text)]
    found = [str(page.relative_to(ROOT)) for page, body in bodies if COMMAND.search(body)]
    assert found == []


def test_the_guides_have_command_lines() -> None:
    assert len(WITH_COMMANDS) > 40
    assert sum(len(lines_of(page)) for page in PAGES) > 150
