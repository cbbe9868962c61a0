"""A sweep's directory: `sweep.json`, `runs.jsonl`, and `runs-NNNNN.parquet` for every thousand runs.

Finished runs of 0.05 s are appended to `runs.jsonl` together and synced, before they count: a kill loses at most these.
A full thousand is written as Parquet under a temporary name, renamed, and then taken out of `runs.jsonl`; a kill
between the two leaves rows in both, which opening the directory puts right: no appended run is lost or there twice.
"""

import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from flashweir._native import ConfigError, FlashweirError
from flashweir.locks import Lock
from flashweir.notices import warn
from flashweir.sweeps.rows import FIRST, LAST, line, of_line, units

if TYPE_CHECKING:
    import polars as pl

FORMAT = 1
PART_ROWS = 1000
# Results with many latencies are large: fewer than a thousand of them then make a part.
PART_BYTES = 64 << 20
Place = tuple[int, int]
# Columns that every part has, and their types.
_NEEDED = {"key": ("String", "Null"), "point": ("Int64",), "seed": ("UInt64",), "workload": ("String",),
           "error": ("String", "Null"), "result": ("String", "Null")}  # fmt: skip


class Store:
    """A sweep's directory, open for writing by this process alone."""

    def __init__(self, directory: Path, columns: Mapping[str, type] | None = None) -> None:
        """Opens or makes the directory, and puts right what a killed writer left.

        Args:
            directory: where the sweep is.
            columns: names and types of the columns of settings and numbers; every Parquet part has them all.

        Raises:
            FlashweirError: another process writes to it, or a file of it is damaged.
        """
        self.directory = directory
        self._columns = columns or {}
        directory.mkdir(parents=True, exist_ok=True)
        self._lock = Lock(directory / ".lock", str(directory))
        for leftover in directory.glob(".*.part"):
            leftover.unlink()
        # Place of every run that is there, and its key; and those that failed.
        self.keys: dict[Place, str | None] = {}
        self.failed: set[Place] = set()
        self._tail: list[dict[str, Any]] = []
        self._tail_bytes = 0
        self._appended: RawIOBase | None = None
        self._recover()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._appended is not None:
            self._appended.close()
        self._lock.close()

    def _recover(self) -> None:
        for part in parts(self.directory):
            for row in _read_parquet(part, columns=["key", "point", "seed", "error"]).iter_rows(named=True):
                self._know(row)
        damaged: list[bytes] = []
        lines = read_lines(self.directory / "runs.jsonl", damaged)
        self._tail = [row for row in lines if place_of(row) not in self.keys]
        for row in self._tail:
            self._know(row)
        if damaged:
            self._set_aside(damaged)
        self._rewrite_tail()

    def _set_aside(self, damaged: Sequence[bytes]) -> None:
        """Keeps lines that are no runs in `runs.damaged`, before `runs.jsonl` is written without them."""
        place = self.directory / "runs.damaged"
        try:
            with place.open("ab") as file:
                file.writelines(damaged)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise FlashweirError(f"{place}: {error.strerror}") from error

    def _know(self, row: Mapping[str, Any]) -> None:
        self.keys[place_of(row)] = row["key"]
        if row["error"] is not None:
            self.failed.add(place_of(row))

    def write_meta(self, meta: Mapping[str, Any]) -> None:
        """Writes `sweep.json`, whole or not at all."""
        replace(self.directory / "sweep.json", (json.dumps(meta, indent=2, ensure_ascii=False) + "\n").encode())

    def append(self, rows: Sequence[dict[str, Any]]) -> None:
        """Adds finished runs; when this returns, they are on the disk."""
        if self._appended is None:
            self._appended = (self.directory / "runs.jsonl").open("ab", buffering=0)
        lines = b"".join(map(line, rows))
        _append(self._appended, lines, self.directory / "runs.jsonl")
        for row in rows:
            self._know(row)
        self._tail.extend(rows)
        self._tail_bytes += len(lines)
        if len(self._tail) >= PART_ROWS or self._tail_bytes >= PART_BYTES:
            self._compact()

    def drop_failed(self) -> None:
        """Takes failed runs out, so that they are tried again."""
        if not self.failed:
            return
        for part in parts(self.directory):
            rows = list(read_part(part))
            kept = [row for row in rows if row["error"] is None]
            if not kept:
                part.unlink()
            elif len(kept) < len(rows):
                replace(part, _parquet(kept, self._columns))
        self._tail = [row for row in self._tail if row["error"] is None]
        self._rewrite_tail()
        for place in self.failed:
            del self.keys[place]
        self.failed.clear()

    def put_aside(self) -> Path:
        """Moves everything into a folder `earlier-N` of its own, and starts anew. Nothing is deleted."""
        number = 1 + max((int(path.name.partition("-")[2]) for path in earlier(self.directory)), default=0)
        aside = self.directory / f"earlier-{number}"
        aside.mkdir()
        # The description goes last: until it has gone, what is left here is still a sweep that can be resumed.
        for path in [*parts(self.directory), self.directory / "runs.jsonl", self.directory / "sweep.json"]:
            if path.exists():
                path.replace(aside / path.name)
        self.keys.clear()
        self.failed.clear()
        self._tail = []
        self._rewrite_tail()
        return aside

    def _compact(self) -> None:
        numbers = [int(part.stem.partition("-")[2]) for part in parts(self.directory)]
        replace(self.directory / f"runs-{max(numbers, default=-1) + 1:05}.parquet", _parquet(self._tail, self._columns))
        self._tail = []
        self._rewrite_tail()

    def _rewrite_tail(self) -> None:
        if self._appended is not None:
            self._appended.close()
            self._appended = None
        lines = b"".join(map(line, self._tail))
        self._tail_bytes = len(lines)
        replace(self.directory / "runs.jsonl", lines)


def place_of(row: Mapping[str, Any]) -> Place:
    """Where a row's run stands in the grid."""
    return row["point"], row["seed"]


def parts(directory: Path) -> list[Path]:
    """The Parquet files of a sweep, in the order of their writing."""
    return sorted(directory.glob("runs-*.parquet"))


def earlier(directory: Path) -> list[Path]:
    """Folders into which earlier versions of a sweep were put aside."""
    return sorted(path for path in directory.glob("earlier-*") if path.name.partition("-")[2].isdecimal())


def read_meta(directory: Path) -> dict[str, Any]:
    """`sweep.json`.

    Raises:
        ConfigError: there is none, or it is of another kind or damaged.
    """
    path = directory / "sweep.json"
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{directory}: no sweep: expected sweep.json in it ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: {error}: expected what a sweep writes") from error
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise ConfigError(f"{path}: expected what a sweep writes, in format {FORMAT}")
    for key, (said, right) in _META.items():
        if key not in meta or not right(meta[key]):
            raise ConfigError(f"{path}: expected what a sweep writes: key {key} to be {said}")
    return meta


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _text_or_null(value: object) -> bool:
    return value is None or isinstance(value, str)


def _all(right: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(right, value))


def _text(value: object) -> bool:
    return isinstance(value, str)


def _axis(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("name"), str) and isinstance(value.get("values"), list)


# Fields read of a sweep's description: the expected kind in words, and its check.
_META: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "name": ("a text", _text),
    "spec": ("an object", lambda value: isinstance(value, dict)),
    "axes": ("a list of objects with name and values", _all(_axis)),
    "seeds": ("a list of numbers", _all(_count)),
    "points": ("a number", _count),
    "runs": ("a number", _count),
    "derived": ("a list of texts", _all(_text)),
    "metrics": ("a list of texts", _all(_text)),
    "compare": ("a text or null", _text_or_null),
    "baseline": ("a value or null", lambda value: not isinstance(value, list | dict)),
    "machine": ("an object", lambda value: isinstance(value, dict)),
}


def read_lines(path: Path, damaged: list[bytes] | None = None) -> Iterator[dict[str, Any]]:
    """Rows of `runs.jsonl`. A killed writer may have left part of a line at the end: it did not count yet.

    A line that is no row is left out with a warning, and added to `damaged` where that is given.

    Raises:
        FlashweirError: the file can't be read.
    """
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            for number, text in enumerate(file, 1):
                if not text.endswith(b"\n"):
                    return
                row, wrong = of_line(text)
                if row is not None:
                    yield row
                elif damaged is None:
                    warn(f"{path}: line {number}: damaged ({wrong}): left out; sweep --resume runs it again")
                else:
                    damaged.append(text)
                    warn(f"{path}: line {number}: damaged ({wrong}): kept in runs.damaged, and its run is run again")
    except OSError as error:
        raise FlashweirError(f"{path}: {error.strerror}") from error


def read_part(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a Parquet file."""
    yield from _read_parquet(path).iter_rows(named=True)


def rows(directory: Path) -> Iterator[dict[str, Any]]:
    """All rows of a sweep with their results as JSON text, a thousand of them in memory at a time."""
    # The lines first, as in `frame`.
    tail = list(read_lines(directory / "runs.jsonl"))
    seen: set[Place] = set()
    for found in (*map(read_part, parts(directory)), tail):
        for row in found:
            if place_of(row) not in seen:
                seen.add(place_of(row))
                yield row


def frame(directory: Path) -> "pl.DataFrame":
    """The rows of a sweep without their results, in the order of the grid."""
    import polars as pl

    # The lines first: a part that is written meanwhile then holds rows twice at worst, and each counts once.
    tail = list(read_lines(directory / "runs.jsonl"))
    frames = [_read_parquet(part, without=["result"]) for part in parts(directory)]
    if tail:
        frames.append(_frame(tail, {}).drop("result"))
    if not frames:
        return pl.DataFrame(schema={"key": pl.String, "point": pl.Int64, "seed": pl.UInt64, "workload": pl.String,
                                    "error": pl.String})  # fmt: skip
    whole = pl.concat(frames, how="diagonal_relaxed").unique(["point", "seed"], keep="first").sort("point", "seed")
    # Parts in which every run failed have no metrics: these came later, but stand last.
    return whole.select([name for name in whole.columns if name != "error"] + ["error"])


def _append(file: RawIOBase, lines: bytes, path: Path) -> None:
    """Appends and syncs; what can't be written whole is taken back.

    Raises:
        FlashweirError: it can't be written.
    """
    end = file.seek(0, os.SEEK_END)
    left = memoryview(lines)
    try:
        while left:
            left = left[file.write(left) or 0 :]
        os.fdatasync(file.fileno())
    except OSError as error:
        file.truncate(end)
        raise FlashweirError(f"{path}: {error.strerror}: runs before are kept, --resume goes on") from error


def replace(path: Path, content: bytes) -> None:
    """Writes a file under a temporary name, syncs it, and gives it its name.

    Raises:
        FlashweirError: it can't be written.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise FlashweirError(f"{path}: {error.strerror}: runs that are done are kept, --resume goes on") from error


def _read_parquet(part: Path, *, columns: Sequence[str] | None = None, without: Sequence[str] = ()) -> "pl.DataFrame":
    import polars as pl

    try:
        found = pl.scan_parquet(part)
        schema = found.collect_schema()
        for name, kinds in _NEEDED.items():
            if str(schema.get(name)) not in kinds:
                raise FlashweirError(f"{part}: damaged: expected a column {name} of type {kinds[0]}")
        return (found.select(columns) if columns else found.drop(without)).collect()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise FlashweirError(f"{part}: damaged: {error}") from error


def _frame(rows: Sequence[Mapping[str, Any]], known: Mapping[str, type]) -> "pl.DataFrame":
    """Rows as a frame, with all known columns; others have the type of what is in them."""
    import polars as pl

    names = dict.fromkeys([*FIRST, *known, *(name for row in rows for name in row if name not in LAST)])
    columns: dict[str, pl.Series] = {}
    for name in names:
        values = [row.get(name) for row in rows]
        columns[name] = pl.Series(name, values, dtype=_type(name, values, known), strict=False)
    columns["error"] = pl.Series("error", [row["error"] for row in rows], dtype=pl.String)
    columns["result"] = pl.Series("result", [row["result"] for row in rows], dtype=pl.String)
    return pl.DataFrame(columns)


def _type(name: str, values: Sequence[object], known: Mapping[str, type]) -> Any:  # noqa: ANN401 - a polars type
    import polars as pl

    if name in FIRST:
        return {"key": pl.String, "point": pl.Int64, "seed": pl.UInt64, "workload": pl.String}[name]
    kinds = {known[name]} if name in known else {type(value) for value in values} - {type(None)}
    if kinds == {bool}:
        return pl.Boolean
    if str in kinds or bool in kinds:
        return pl.String
    return pl.Int64 if kinds == {int} else pl.Float64


def _parquet(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, type]) -> bytes:
    buffer = io.BytesIO()
    _frame(rows, columns).write_parquet(buffer, compression="zstd", metadata=units(columns))
    return buffer.getvalue()
