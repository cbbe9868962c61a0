"""Assumptions about a trace: what its file does not say and had to be taken for granted, as lines for people."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from flashweir.notices import say

if TYPE_CHECKING:
    from flashweir.sweeps.frame import SweepFrame

# Runs of a sweep that are looked through for one of every workload.
_MAX_RUNS = 2000


def of_report(report: Mapping[str, Any]) -> list[str]:
    """The assumptions of one trace, from the report of its reading (docs/reference/formats.md)."""
    found = list(report["assumptions"])
    if clamped := report["clamped_times"]:
        found.append(f"{clamped:,} times went back and were set to the one before")
    if skipped := report["skipped_bad"]:
        found.append(f"{skipped:,} bad lines were skipped")
    return found


def print_of(traces: Iterable[tuple[str, Mapping[str, Any] | None]]) -> None:
    """Prints the assumptions of traces, given by name with their reports, a line each on standard error."""
    said: dict[str, list[str]] = {}
    for name, report in traces:
        if report is not None and (found := of_report(report)):
            said.setdefault("; ".join(found), []).append(name)
    for text, names in said.items():
        more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
        say(f"note: {names[0]}{more}: {text}")


def of_workloads(result: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    """Names and reports of the traces that a result was made of."""
    for one in result.get("workloads") or ():
        yield str(one["workload"]), one.get("trace")


def of_sweep(frame: "SweepFrame") -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    """The same of all workloads of a sweep, from one run of each."""
    left = set((frame.meta or {}).get("workloads") or ())
    for row, result in islice(frame.results(), _MAX_RUNS):
        if row["workload"] in left:
            left.remove(row["workload"])
            yield from of_workloads(result)
        if not left:
            return
