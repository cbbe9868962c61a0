"""A comparison, and who won a trial, as Markdown for documents."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flashweir.policies.matrix import HEADINGS
from flashweir.policies.outcome import QUANTILES_SAID, change, label, outcomes
from flashweir.tables import with_interval

if TYPE_CHECKING:
    from flashweir.policies.matrix import Matrix
    from flashweir.sweeps.frame import SweepFrame


def comparison(frame: "SweepFrame") -> str:
    """A heading and a table a workload, then what was refused and what there is to note."""
    meta = frame.meta or {}
    parts = []
    for one in outcomes(frame):
        headings = ["policy"]
        for metric in one.metrics:
            name = label(metric)
            headings += [name, "change"] if len(one.entries) > 1 else [name]
        rows = []
        for entry in one.entries:
            row = [f"**{_plain(entry.policy)}**" if entry.on_front else _plain(entry.policy)]
            for metric in one.metrics:
                row.append(with_interval(*entry.values[metric]))
                if len(one.entries) > 1:
                    against = None if entry.policy == one.baseline else entry.changes.get(metric, {"difference": None})
                    row.append(change(against)[0])
            rows.append(row)
        said = (
            f"Against {_plain(one.baseline)}; after ± or in brackets the 95% interval over seeds. In bold: the Pareto "
        )
        said += "front of IOPS, p99.9 latency and write amplification."
        parts += [f"## {_plain(one.workload)}", table(headings, rows), *([said] if len(one.entries) > 1 else [])]
    parts += _rest(meta.get("refused") or {}, [*(meta.get("notes") or ()), QUANTILES_SAID])
    return "\n\n".join([*parts, _made(meta)]) + "\n"


def trial(found: "Matrix") -> str:
    """Totals, and a table each of the workloads that the candidate was designed on and of those it never saw."""
    totals = "\n".join(f"- {_plain(line)}" for line in found.totals_said)
    parts = [f"# {_plain(found.name)}", _plain(found.heading), totals]
    for title, verdicts in found.parts:
        if verdicts:
            rows = [[_plain(one.workload), *(_plain(text) for text, _ in one.cells())] for one in verdicts]
            parts += [f"## {_plain(title)}", table(["workload", *HEADINGS], rows)]
    parts += _rest(found.refused, [*found.frozen.said, *found.notes])
    return "\n\n".join([*parts, _made(found.frame.meta or {})]) + "\n"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are plain text, but for what is marked up already."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _rest(refused: Mapping[str, str], notes: Iterable[str]) -> list[str]:
    parts = []
    if refused:
        listed = "\n".join(f"- {_plain(name)}: {_plain(reason)}" for name, reason in refused.items())
        parts.append(f"Combinations without a drive, not run:\n\n{listed}")
    return [*parts, *(_plain(note) for note in notes)]


def _made(meta: Mapping[str, Any]) -> str:
    commit = f", commit {meta['git_commit']}" if meta.get("git_commit") else ""
    seeds = len(meta.get("seeds", ()))
    return f"Made by flashweir {meta.get('version', '')}{commit}, {seeds} seed{'' if seeds == 1 else 's'}."


def _plain(text: str) -> str:
    """Text that stands in a cell or a line as it is."""
    for sign in ("\\", "|", "*", "_", "<", "`"):
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())
