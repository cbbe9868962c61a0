"""Names of metrics in figures: titles, labels with units, parts of file names."""

import re
from collections.abc import Sequence

from flashweir.results.run import Run
from flashweir.results.section import unit_of


def named(metrics: Sequence[str]) -> str:
    """Several metrics in a sentence: IOPS, read latency (p99) and write amplification."""
    names = [title(name) for name in metrics]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def title(metric: str) -> str:
    """A metric in words: `latency_us.read.p999` is read latency (p99.9)."""
    found = re.fullmatch(r"latency_us\.(\w+)\.(\w+)", metric)
    if found:
        which = (
            found[2]
            if not found[2].startswith("p")
            else f"p{found[2][1:3]}{'.' + found[2][3:] if found[2][3:] else ''}"
        )
        return f"{found[1]} latency ({which})"
    cost = re.fullmatch(r"cost\.(\w+)_usd", metric)
    if cost:
        return f"{cost[1]} cost"
    return {"iops": "IOPS", "bandwidth_mib_s": "bandwidth"}.get(metric, metric.replace("_", " "))


def heading(metric: str) -> str:
    """The same at the beginning of a sentence."""
    words = title(metric)
    return words[:1].upper() + words[1:]


def label(metric: str) -> str:
    """Label of an axis, with the unit."""
    unit = "USD" if metric.endswith("_usd") else "" if metric == "iops" else unit_of(metric, Run)
    return f"{title(metric)}, {unit}" if unit else title(metric)


def safe(metric: str) -> str:
    """A metric's name as part of a file's."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", metric).strip(".-") or "metric"
