"""Section of a report on the tenants of runs that have several."""

from collections.abc import Mapping, Sequence
from typing import Any

from flashweir.reports import cells
from flashweir.reports.model import Block, Table

_COLUMNS = (
    ("requests", "requests"),
    ("IOPS", "iops"),
    ("MiB/s", "bandwidth_mib_s"),
    ("active, s", "active_s"),
    ("flash time, s", "flash_time_s"),
)
_SLOWDOWNS = (("slowdown", "all"), ("of reads", "read"), ("of writes", "write"))


def tenant_tables(results: Sequence[tuple[str, Mapping[str, Any]]], without: str) -> list[Block]:
    """Throughput and slowdown of each tenant, and how fair the drive is to them."""
    several = [(name, result) for name, result in results if len(result.get("streams") or {}) > 1]
    rows = [(name, stream, part) for name, result in several for stream, part in result["streams"].items()]
    if not any("requests" in part for *_, part in rows):
        return []
    slower = [column for column in _SLOWDOWNS if any(part.get("slowdown") for *_, part in rows)]
    table = Table(
        f"Tenants{without}",
        ["run", "tenant", *(label for label, _ in (*_COLUMNS, *slower))],
        [
            [
                name,
                stream,
                *(part.get(key) for _, key in _COLUMNS),
                *((part.get("slowdown") or {}).get(key) for _, key in slower),
            ]
            for name, stream, part in rows
        ],
    )
    fair = [(name, result) for name, result in several if result.get("fairness")]
    if not fair:
        return [table]
    columns = ["run", "Jain's index of speeds", "largest slowdown"]
    paths = ("fairness.jain", "fairness.max_slowdown")
    return [
        table,
        Table("Fairness", columns, [[name, *(cells.at(result, path) for path in paths)] for name, result in fair]),
    ]
