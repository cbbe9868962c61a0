"""Lives of designs: `lifetime` of each workload, kept in a file."""

import hashlib
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flashweir._native import FlashweirError
from flashweir.endurance import lifetime
from flashweir.searching.costs import cell_of
from flashweir.sweeps.points import Planned

FILE = "lives.jsonl"
_READING = ("format", "columns", "skip_bad", "hint", "wrap")


class Lives:
    """Lives by the key of the run, in memory and in `lives.jsonl` of a directory."""

    def __init__(self, directory: Path, options: Mapping[str, Any], threads: int) -> None:
        """Reads what the directory has.

        Args:
            directory: of the search.
            options: of `lifetime`, as the spec gives them.
            threads: lives at a time.
        """
        self.threads = threads
        self._options = dict(options)
        self._path = directory / FILE
        self._known: dict[str, dict[str, float]] = {}
        self._lock = threading.Lock()
        lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []
        for line in lines:
            try:
                row = json.loads(line)
                self._known[row["key"]] = {name: float(value) for name, value in row["life"].items()}
            except (ValueError, KeyError, TypeError, AttributeError):
                # A kill cut the line; that life is computed again.
                continue

    def life(self, planned: Planned, price: float | None, stop: threading.Event) -> dict[str, float] | str:
        """Numbers of a life by name, or why there is none."""
        name = json.dumps([planned.key, self._options, cell_of(planned.run.spec), planned.run.seed], sort_keys=True)
        key = hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
        if key not in self._known:
            try:
                found = self._computed(planned, stop)
            except FlashweirError as error:
                return " ".join(str(error).split())
            with self._lock:
                self._known[key] = found
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"key": key, "life": found}) + "\n")
        found = self._known[key]
        return found if price is None else {**found, "life.cost_per_tbw": price / found["life.tbw"]}

    def _computed(self, planned: Planned, stop: threading.Event) -> dict[str, float]:
        spec = planned.run.spec
        tenants: list[dict[str, Any]] = [
            {"workload": one["spec"], **{key: value for key, value in one.items() if key not in ("spec", "name")}}
            for one in spec["workloads"]
        ]
        names = [one["name"] for one in spec["workloads"]]
        found = lifetime(
            # Without names it is a list, whose tables are taken as those of a mapping are.
            tenants if None in names else dict(zip(names, tenants, strict=True)),  # type: ignore[arg-type]
            spec["device"],
            seeds=[planned.run.seed],
            set=spec["overrides"],
            progress=lambda *_: not stop.is_set(),
            **{key: spec[key] for key in _READING if key in spec},
            **{"cell": cell_of(spec), **self._options},
        )
        return {
            "life.tbw": found["tbw_bytes"] / 1e12,
            "life.years": found["years"],
            "life.dwpd": found["dwpd"],
            "life.write_amplification": found["write_amplification"],
        }
