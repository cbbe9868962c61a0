"""The documentation site: what fails its build, and figures that only those who have recorded traces can draw."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

pytest.importorskip("sphinx", reason="the site needs sphinx: `just docs` installs it")
pytest.importorskip("myst_parser", reason="the site needs myst-parser: `just docs` installs it")
pytest.importorskip("furo", reason="the site needs furo: `just docs` installs it")


def build(folder: Path, text: str, experiment: str) -> tuple[int, str, str]:
    """Exit code, page and warnings of a site with the project's settings, whose one experiment has this page."""
    own = folder / "experiments/01-paper/figure-1"
    own.mkdir(parents=True)
    (own / "README.md").write_text(text, encoding="utf-8")
    (own / "experiment.toml").write_text(experiment, encoding="utf-8")
    (folder / "docs").mkdir()
    index = "# Index\n\n```{toctree}\n../experiments/01-paper/figure-1/README\n```\n"
    (folder / "docs/index.md").write_text(index, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "--fail-on-warning", "--quiet", "--conf-dir"]
    done = subprocess.run(
        [*command, ROOT / "docs", folder, folder / "site"], capture_output=True, text=True, check=False
    )
    page = folder / "site/experiments/01-paper/figure-1/README.html"
    return done.returncode, page.read_text(encoding="utf-8") if page.exists() else "", done.stderr


def test_a_figure_of_recorded_traces_is_named_where_it_is_not_drawn(tmp_path: Path) -> None:
    code, page, said = build(tmp_path, "# One\n\n![Channels](one.svg)\n", 'title = "One"\ntraces = "../traces"\n')
    assert code == 0, said
    assert "Channels: this figure needs recorded traces, which do not ship" in page


@pytest.mark.parametrize(("text", "reason"), [
    ("# One\n\n![Channels](one.svg)\n", "image file not readable"),
    ("# One\n\n[other](none.md)\n", "none.md"),
    ("# One\n\n[place](#no-such-place)\n", "no-such-place"),
])  # fmt: skip
def test_a_missing_figure_or_link_fails_the_build(text: str, reason: str, tmp_path: Path) -> None:
    code, _, said = build(tmp_path, text, 'title = "One"\n')
    assert code != 0
    assert reason in said
