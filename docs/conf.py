"""Settings of the documentation site (Sphinx): `just docs` builds it into target/site."""

import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

project = "flashweir"
author = "The flashweir developers"
project_copyright = "The flashweir developers"
try:
    release = metadata.version("flashweir")
except metadata.PackageNotFoundError:
    release = ""

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
# The sources are the repository itself, so that a link works there and in the site.
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/**/*.md",
    "experiments/*.md",
    "experiments/**/*.md",
    "traces/*.md",
    "benches/*.md",
    "research/*.md",
    "research/**/*.md",
    "target/docs/*.md",
]
exclude_patterns = [".venv*", ".git", "crates", "python", "target/[!d]*", "target/do[!c]*", "**/.pytest_cache"]

# Anchors as code hosts make them.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["misc.highlighting_failure", "myst.header"]

autodoc_typehints = "description"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
# Attributes of a docstring are a list; autodoc describes the members themselves.
napoleon_use_ivar = True
# Docstrings put code in single backticks.
default_role = "literal"

html_theme = "furo"
html_title = "flashweir"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options: dict[str, Any] = {
    "light_css_variables": {"color-brand-primary": "#0b5cad", "color-brand-content": "#0b5cad"},
    "dark_css_variables": {"color-brand-primary": "#7ab8ff", "color-brand-content": "#7ab8ff"},
}
# The prompt stays out of the clipboard, and so does the output.
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True


class PlainLexer(TextLexer):
    """Text without colours, for tables of numbers."""

    name = "csv"
    aliases = ("csv",)


def needs_traces(figure: Path) -> bool:
    """True for a figure of an experiment whose recorded traces do not ship."""
    experiment = figure.parent / "experiment.toml"
    return experiment.is_file() and "traces" in tomllib.loads(experiment.read_text(encoding="utf-8"))


def name_undrawn(app: Sphinx, doctree: nodes.document) -> None:
    """Puts a sentence in the place of a figure that only those who have the recorded traces can draw."""
    page = Path(app.env.doc2path(app.env.docname))
    for image in list(doctree.findall(nodes.image)):
        figure = page.parent / image["uri"]
        if not figure.exists() and needs_traces(figure):
            text = f"{image.get('alt') or figure.stem}: this figure needs recorded traces, which do not ship; "
            image.replace_self(nodes.emphasis("", text + "flashweir reproduce --traces DIR --figures DIR draws it."))


def setup(app: Sphinx) -> None:
    """Adds the names of fences that Pygments does not know, and sentences for figures that can't be drawn here."""
    app.add_lexer("csv", PlainLexer)
    # Before the collector of images, which warns of those that are not there.
    app.connect("doctree-read", name_undrawn, priority=400)
