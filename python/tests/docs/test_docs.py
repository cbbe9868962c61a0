"""Every example in the documents runs.

In a page, fences are run from top to bottom in one folder, with `traces/` in it:

- `console`: lines that start with `$ flashweir` are run; where the block says `error: ...`, the command before it has
  to fail with exactly that line. `reproduce` goes on with runs that other tests made, and keeps its own for them.
- `python`: run as a script.
- any other with `file=NAME` after its language is written to that file.
"""

import os
import re
import shlex
import tomllib
from pathlib import Path

import forked
import pytest
from conftest import ROOT, reproduced

PAGES = sorted([ROOT / "README.md", ROOT / "traces" / "README.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(?P<language>\w+)(?: file=(?P<file>\S+))?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
# Figures that `just figures` draws.
BUILT = {ROOT / f"docs/images/{name}.svg" for name in tomllib.loads((ROOT / "docs/figures.toml").read_text())}
BUILT |= {page.with_suffix(".svg") for page in (ROOT / "docs/drives").glob("*.md")}
LINK = re.compile(r"\[[^\]]*\]\((?!https?:)(?P<target>[^)#]+)[^)]*\)")


def run_console(body: str, folder: Path, kept: Path) -> None:
    lines = body.splitlines()
    for number, line in enumerate(lines):
        if not line.startswith("$ flashweir"):
            continue
        expected = lines[number + 1] if number + 1 < len(lines) and lines[number + 1].startswith("error:") else None
        words = shlex.split(line.removeprefix("$ flashweir"))
        if words[0] == "reproduce" and expected is None and not {"-o", "--coverage"} & {*words}:
            reproduced(kept, *words[1:], cwd=folder)
            continue
        done = forked.run(words, cwd=folder)
        assert (done.returncode == 0) == (expected is None), f"{line}\n{done.stderr}"
        assert expected is None or done.stderr == f"{expected}\n", line


def run_python(body: str, folder: Path) -> None:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = forked.run_script(body, cwd=folder, env=environment)
    assert done.returncode == 0, f"{body}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_run(page: Path, tmp_path: Path, kept_runs: Path) -> None:
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    for fence in FENCE.finditer(page.read_text(encoding="utf-8")):
        if fence["file"]:
            (tmp_path / fence["file"]).write_text(fence["body"], encoding="utf-8")
        elif fence["language"] == "console":
            run_console(fence["body"], tmp_path, kept_runs)
        elif fence["language"] == "python":
            run_python(fence["body"], tmp_path)


@pytest.mark.parametrize("page", sorted({*PAGES, *ROOT.glob("*.md")}), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.finditer(page.read_text(encoding="utf-8")):
        target = (page.parent / link["target"]).resolve()
        assert target.exists() or target in BUILT, link["target"]


def test_every_figure_is_on_a_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [figure.name for figure in BUILT if f"{figure.name})" not in text] == []


def test_the_pages_have_examples() -> None:
    fences = [fence["language"] for page in PAGES for fence in FENCE.finditer(page.read_text(encoding="utf-8"))]
    assert fences.count("console") > 10
    assert fences.count("python") > 5
