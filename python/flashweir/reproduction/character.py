"""Workloads as rows: what `flashweir.characterize` says of the writes of each, in columns that curves can pick."""

from collections.abc import Iterator, Mapping
from typing import Any

from flashweir._native import FlashweirError
from flashweir.character import characterize

# The suites that a workload can belong to.
_SUITES = ("transfer", "buffer", "mapping", "gc", "overall")
_SHARES = ("sequential_share", "rewrite_share", "aligned_share", "small_share")


def rows(workloads: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """A row a workload: millions of bytes written, shares of the bytes, the rank of each frequent length by requests
    (`rank.4096`, 1 is the most frequent), and 1 or 0 for each suite (`suite.gc`); with `error` where it can't be read.
    """
    for name, spec in workloads.items():
        row: dict[str, Any] = {"workload": name, "seed": 1, "error": None}
        try:
            found = characterize(spec)
        except FlashweirError as error:
            yield {**row, "error": str(error)}
            continue
        writes = found["writes"]
        row["written_mb"] = writes["bytes"] / 1e6
        row |= {share: writes[share] for share in _SHARES}
        row |= {f"rank.{size['bytes']}": rank for rank, size in enumerate(writes["common_sizes"], 1)}
        row |= {f"suite.{suite}": int(found["suite"]["name"] == suite) for suite in _SUITES}
        yield row
