"""Coverage of papers: each figure, table and numbered claim of a paper with its check, or the reason why it has none.

`coverage.toml` in the folder of a paper lists them. A check is a value or a claim of one of its experiments,
`figure-18/leads`, or a test of the source tree, `python/tests/paper/test_reproduce.py::test_from_python`: it has to
exist where the experiments lie in a source tree. What is lost has no check. Every claim of the paper and every value
that is judged has a row.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from flashweir._native import ConfigError
from flashweir.reproduction.catalogue import Claim, Paper, Value
from flashweir.reproduction.fields import Fields
from flashweir.sweeps.include import read_toml

FILE = "coverage.toml"
STATUSES = ("value", "shape", "unit-test", "variant", "lost")
# Separates the file of a test from its name.
_TEST = "::"


@dataclass(frozen=True)
class Row:
    """A figure, table or claim: the check that it has with its wrong twin, or the reason why it has none.

    `status` is "value" of a printed number, "shape" of what is said about a course, "unit-test" of a mechanism,
    "variant" of what is shown and not judged, and "lost".
    """

    paper: str
    where: str
    claim: str
    status: str
    check: str | None
    twin: str | None
    reason: str | None

    @property
    def is_covered(self) -> bool:
        """True if it has a check or a reason."""
        return bool(self.check or self.reason)

    def to_dict(self) -> dict[str, str | None]:
        """The row as JSON has it (docs/reference/cli.md)."""
        return asdict(self)


def of(papers: Sequence[Paper]) -> list[Row]:
    """The rows of papers, in the order of their files.

    Raises:
        ConfigError: a paper has no such file, a row names a check that does not exist or has a check though it is lost,
            or a claim or judged value of an experiment has no row.
    """
    return [row for paper in papers for row in _of_paper(paper)]


def _of_paper(paper: Paper) -> list[Row]:
    path = paper.folder / FILE
    if not path.exists():
        raise ConfigError(f"{path}: expected this file, with the figures, tables and claims of {paper.name}")
    fields = Fields(path, read_toml(path, "the coverage of a paper in TOML"))
    known = {name: one for experiment in paper.experiments for name, one in experiment.checks.items()}
    found = [row for table in fields.listed("rows") for row in _rows(table, paper.name, known)]
    fields.done()
    listed = {row.check for row in found}
    if open_checks := [name for name, one in known.items() if _has_to_be_listed(one) and name not in listed]:
        raise ConfigError(f"{path}: {open_checks[0]} has no row: expected one for every claim and judged value")
    return found


def _has_to_be_listed(check: Value | Claim) -> bool:
    return check.judged if isinstance(check, Value) else not check.by


def _rows(fields: Fields, paper: str, known: Mapping[str, Value | Claim]) -> list[Row]:
    """A row for each check that a table names, which may be a pattern: `figure-9/idle@*`."""
    where, claim, status = fields.text("where"), fields.text("claim"), fields.text("status")
    check, reason, twin = fields.text("check", ""), fields.text("reason", ""), fields.text("twin", "")
    fields.done()
    if status not in STATUSES:
        raise fields.wrong("status", f"{status!r}: expected one of {', '.join(STATUSES)}")
    if check and status == "lost":
        raise fields.wrong("status", "'lost': expected no check with it, but a reason")
    if not check or _TEST in check:
        if check and status != "unit-test":
            raise fields.wrong("status", f"{status!r}: expected unit-test with a test")
        if check and not _exists(check, fields.path.resolve().parents[2]):
            raise fields.wrong("check", f"{check!r}: there is no such test")
        return [Row(paper, where, claim, status, check or None, twin or None, reason or None)]
    matching = [name for name in known if fnmatchcase(name, check)]
    if not matching:
        raise fields.wrong("check", f"{check!r} is no value or claim of an experiment of {paper}")
    return [
        Row(paper, where, claim, status, name, twin or _twin(known[name]) or None, reason or None) for name in matching
    ]


def _twin(check: Value | Claim) -> str:
    twins = [check.twin] if isinstance(check, Value) else [part.twin for part in check.parts]
    return "; ".join(dict.fromkeys(twin.says for twin in twins if twin is not None))


def _exists(test: str, tree: Path) -> bool:
    """True if a source tree has the test; of an installed package, which has no tests, nothing can be said."""
    file, _, name = test.partition(_TEST)
    if not (tree / Path(file).parts[0]).is_dir() or not (tree / "pyproject.toml").exists():
        return True
    definition = rf"^def {name}\(" if file.endswith(".py") else rf"#\[test\]\s+(?:#\[.*\]\s+)*fn {name}\("
    path = tree / file
    return path.is_file() and re.search(definition, path.read_text(encoding="utf-8"), re.MULTILINE) is not None
