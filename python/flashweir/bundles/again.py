"""Runs what an unpacked bundle specifies, and compares it with the results that the bundle holds."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from flashweir import _native, api
from flashweir._native import ConfigError, FlashweirError
from flashweir.bundles import of_results, of_sweep
from flashweir.bundles.contents import CODE, code_in, read_table
from flashweir.bundles.differences import ABSENT, Difference, without_paths
from flashweir.bundles.differences import of_results as differing
from flashweir.reports.sources import read_result
from flashweir.sweeps import backend_for, runner, store
from flashweir.sweeps.points import Planner, count_runs
from flashweir.sweeps.runner import Progress, State

# Differences that are kept, of all runs together.
_MAX_KEPT = 100
# Columns of a row that say by what it was made, or that are compared apart.
_APART = ("key", "point", "seed", "result", "error")


@dataclass
class Outcome:
    """Runs made again, how many of them differ, and the first differing fields."""

    runs: int = 0
    differing: int = 0
    differences: list[dict[str, Any]] = field(default_factory=list)

    def add(self, run: str, found: Iterator[Difference]) -> None:
        """Counts a run."""
        self.runs += 1
        first = next(found, None)
        if first is None:
            return
        self.differing += 1
        for where, packed, here in (first, *islice(found, _MAX_KEPT)):
            if len(self.differences) < _MAX_KEPT:
                values = {"packed": packed, "here": here}
                kept = {side: value for side, value in values.items() if value is not ABSENT}
                self.differences.append({"run": run, "field": where, **kept})


def results(folder: Path, manifest: Mapping[str, Any], progress: Progress | None) -> Outcome:
    """Runs each result of a bundle again.

    Raises:
        ConfigError: the specification of a run reads files outside of the bundle, or needs Python code.
        FlashweirError: `progress` stopped it.
    """
    outcome, state = Outcome(), State(total=len(manifest["runs"]))
    for one in manifest["runs"]:
        _tell(progress, state)
        packed = read_result(folder / one["result"])
        device = read_table(folder / one["device"])
        _check_workload(of_results.place_of(folder, one["workload"]), folder)
        if key := code_in(device):
            raise ConfigError(f"{one['device']}: {CODE.format(key=key)}")
        if unknown := [name for name in one["options"] if name not in of_results.OPTIONS]:
            raise ConfigError(f"{one['name']}: {unknown[0]}: no option of a run in a bundle")
        try:
            here = of_results.run(folder, one["workload"], one["device"], one["options"])
        except FlashweirError as error:
            found: Iterator[Difference] = iter([("error", ABSENT, _bare(str(error)))])
        else:
            found = differing(packed, here)
        outcome.add(one["name"], found)
        state.done += 1
        state.failed = outcome.differing
    _tell(progress, state)
    return outcome


def _check_workload(text: str, folder: Path) -> None:
    of_sweep.check_texts([text], folder)
    try:
        plan = json.loads(_native.plan(api.as_json({"workloads": [{"name": None, "spec": text}]})))
    except FlashweirError:
        # The run will say so.
        return
    of_sweep.check_paths((one["path"] for one in plan["workloads"] if "path" in one), folder, text)


def _tell(progress: Progress | None, state: State) -> None:
    if progress is not None and progress(state) is False:
        raise FlashweirError(f"stopped: {state.done:,} of {state.total:,} runs done")


def sweep(folder: Path, again: Path, threads: int | None, progress: Progress | None) -> Outcome:
    """Runs the sweep of a bundle again, into the directory `again`.

    Raises:
        ConfigError: its specification is none, reads files outside of the bundle, or needs Python code.
        FlashweirError: `progress` stopped it.
    """
    packed = folder / "results"
    meta = store.read_meta(packed)
    spec = of_sweep.check_foreign(folder)
    if count_runs(spec) != meta["runs"]:
        raise ConfigError(
            f"{of_sweep.SPECIFICATION}: has {count_runs(spec):,} runs, and results/sweep.json {meta['runs']:,}"
        )
    planner = Planner()
    for run in of_sweep.foreign_runs(spec, folder):
        try:
            plan = planner.plan(run)
        except FlashweirError:
            # A run that fails here as it did there.
            continue
        of_sweep.check_inside(plan, folder, of_sweep.SPECIFICATION)
        if key := code_in(plan.plan["config"]):
            raise ConfigError(f"{of_sweep.SPECIFICATION}: {CODE.format(key=key)}")
    runner.execute(spec, again, backend_for("local", threads=threads), progress=progress)
    return _compared(packed, again)


def _compared(packed: Path, again: Path) -> Outcome:
    """Rows by hash, so that a sweep of any length fits in memory; those that differ are read once more."""
    here = {store.place_of(row): _hash(row) for row in store.rows(again)}
    there = {store.place_of(row): _hash(row) for row in store.rows(packed)}
    wrong = {place for place in here | there if here.get(place) != there.get(place)}
    left = sorted(wrong)
    unread = max(len(left) - _MAX_KEPT, 0)
    outcome = Outcome(runs=len(here | there) - len(left) + unread, differing=unread)
    shown = set(left[:_MAX_KEPT])
    rows = [{store.place_of(row): row for row in store.rows(of) if store.place_of(row) in shown}
            for of in (packed, again)]  # fmt: skip
    for place in left[:_MAX_KEPT]:
        outcome.add(f"{place[0]}, seed {place[1]}", _of_rows(rows[0].get(place), rows[1].get(place)))
    return outcome


def _hash(row: Mapping[str, Any]) -> bytes:
    text = json.dumps([_columns(row), _result(row)], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _columns(row: Mapping[str, Any]) -> dict[str, str]:
    """Columns as text: parts in Parquet and lines in JSON hold the same number in different types."""
    found = {name: _text(value) for name, value in row.items() if name not in _APART and not name.endswith("wall_s")}
    kept = {name: value for name, value in found.items() if value is not None}
    return kept if row["error"] is None else {**kept, "error": _bare(row["error"])}


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return None if value is None else str(value)


def _result(row: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    if row["result"] is None:
        return None
    try:
        result = json.loads(row["result"])
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"results: run {row['point']}, seed {row['seed']}: result is no JSON: {error}") from error
    return _timeless(without_paths(result)) if isinstance(result, dict) else result


def _timeless(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return {key: _timeless(one) for key, one in value.items() if not key.endswith("wall_s") and key != "version"}
    return [_timeless(one) for one in value] if isinstance(value, list) else value


def _bare(message: str) -> str:
    """A message whose paths are names of files: folders are others here."""
    return " ".join(word.rpartition("/")[2] if "/" in word else word for word in message.split())


def _of_rows(packed: Mapping[str, Any] | None, here: Mapping[str, Any] | None) -> Iterator[Difference]:
    if packed is None or here is None:
        yield "run", ABSENT if packed is None else "there", ABSENT if here is None else "there"
        return
    left, right = _result(packed), _result(here)
    if isinstance(left, dict) and isinstance(right, dict):
        yield from differing(left, right)
    columns = _columns(packed), _columns(here)
    for name in {**columns[0], **columns[1]}:
        values = [side.get(name, ABSENT) for side in columns]
        if values[0] != values[1]:
            yield f"column {name}", values[0], values[1]
