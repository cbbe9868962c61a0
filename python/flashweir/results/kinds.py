"""Kinds of JSON that commands write: known by the keys of the object, or of the first one of a list."""

from collections.abc import Mapping

# Keys that each has, by the command that writes it. The first that fits holds.
KEYS: Mapping[str, frozenset[str]] = {
    command: frozenset(keys.split())
    for command, keys in {
        "simulate": "version config latency_us",
        "sweep": "point seed workload",
        "sweep --dry-run": "points runs refused",
        "compare": "pareto version",
        "compare --matrix": "candidate rivals",
        "compare RUN.json": "baseline runs metrics",
        "reproduce": "paper quick rows",
        "presets": "name source config",
        "trace characterize": "flashweir workload",
        "trace characterize DIR": "trace error",
        "trace info": "format detected_by",
        "diagnose": "verdict symptoms",
        "diagnose --active": "symptoms drive tests",
        "probe": "answers device_file",
        "import": "imported keys",
        "bench": "suites workloads format",
        "bench --compare": "drives rows warnings",
        "bench --pts": "format target tests",
        "replay --dry-run": "requests by_op dry_run",
        "replay": "requests by_op",
        "replay --recover": "log requests",
        "collect": "lost_events output",
        "fit": "drive medians runs seed",
        "search": "search goals front",
        "lifetime": "tbw_bytes dwpd curve",
        "check-bundle": "bundle equal differences",
    }.items()
}


def command_of(value: object) -> str | None:
    """The command that wrote a JSON value; None if none did."""
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return None
    return next((command for command, keys in KEYS.items() if keys <= first.keys()), None)
