"""Requests as a caller writes them, as columns of the types that the native module takes."""

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from flashweir._native import ConfigError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

OPERATIONS = ("read", "write", "trim", "flush", "append", "open", "close", "finish", "reset", "offline", "open_zrwa",
              "commit")  # fmt: skip
FIELDS = ("op", "offset", "length", "time_ns", "tenant")
_EXPECTED_OP = f"expected read, write, trim or flush, or a command to a zone: {', '.join(OPERATIONS[4:])}"


class Columns(NamedTuple):
    """Requests, a field an array, all of one length."""

    op: "npt.NDArray[np.uint8]"
    offset: "npt.NDArray[np.uint64]"
    length: "npt.NDArray[np.uint64]"
    time_ns: "npt.NDArray[np.uint64]"
    tenant: "npt.NDArray[np.uint16]"


def by_field(requests: object) -> dict[str, Any]:
    """The fields of requests in any form: a mapping or frame of columns, a record array, or a sequence of mappings.

    Raises:
        ConfigError: it is none of them, or has other fields.
    """
    names = getattr(getattr(requests, "dtype", None), "names", None) or getattr(requests, "columns", None)
    if names is not None:
        found = {str(name): requests[name] for name in names}  # type: ignore[index]
    elif isinstance(requests, Mapping):
        found = {str(name): value for name, value in requests.items()}
    elif isinstance(requests, Sequence) and not isinstance(requests, (str, bytes)):
        found = _of_rows(requests)
    else:
        expected = "expected columns by name, a frame, a record array or a list of mappings"
        raise ConfigError(f"requests: {type(requests).__name__}; {expected}")
    _check_fields(found, "requests")
    return found


def _of_rows(rows: Sequence[object]) -> dict[str, Any]:
    """Columns of requests that are a mapping each."""
    found: dict[str, list[Any]] = {}
    for number, row in enumerate(rows, 1):
        where = f"request {number} of {len(rows)}"
        if not isinstance(row, Mapping):
            raise ConfigError(f"{where}: {type(row).__name__}; expected a mapping with {', '.join(FIELDS)}")
        _check_fields(row, where)
        needed = ("op",) if row.get("op") == "flush" else ("op", "offset", "length")
        given = [name for name in FIELDS if row.get(name) is not None]
        if lacking := next((name for name in needed if name not in given), None):
            raise ConfigError(f"{where}: no {lacking}; only a flush has no offset and no length")
        for name in ("time_ns", "tenant"):
            if (name in given) != (name in found) and number > 1:
                raise ConfigError(f"{where}: {name}: expected one for every request, or for none")
        for name in {*given, "offset", "length"}:
            found.setdefault(name, []).append(row.get(name) or 0)
    return found or {"op": []}


def _check_fields(found: Mapping[Any, object], where: str) -> None:
    for name in found:
        if name not in FIELDS:
            raise ConfigError(f"{where}: unknown field {str(name)!r}; expected {', '.join(FIELDS)}")


def scalar(value: object) -> int | None:
    """A whole number as an int; None if it is anything else, a column for example."""
    if isinstance(value, bool) or hasattr(value, "__len__"):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def columns(fields: Mapping[str, object], now_ns: int, tenants: Sequence[str]) -> Columns:
    """Requests as arrays. A field may be one value for all of them; those that are not given have their defaults.

    Args:
        fields: what was given, by name.
        now_ns: the time of requests without one.
        tenants: names of the tenants.

    Raises:
        ConfigError: a field of the wrong type or shape.
    """
    import numpy as np

    if fields.get("op") is None:
        raise ConfigError(f"op: {_EXPECTED_OP}")
    defaults = {"offset": 0, "length": 0, "time_ns": now_ns, "tenant": 0}
    given = {name: fields.get(name) for name in FIELDS}
    whole = {name: defaults[name] if value is None else value for name, value in given.items() if name != "op"}
    found = {
        "op": _codes(given["op"], "op", OPERATIONS, _EXPECTED_OP),
        "offset": _numbers(whole["offset"], "offset"),
        "length": _numbers(whole["length"], "length"),
        "time_ns": _numbers(whole["time_ns"], "time_ns"),
        "tenant": _tenants(whole["tenant"], tenants),
    }
    lengths = {name: array.size for name, array in found.items() if array.ndim}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{size} of {name}" for name, size in lengths.items())
        raise ConfigError(f"{said}: expected one value, or as many of each")
    count = next(iter(lengths.values()), 1)
    if given["op"] is not None and any(given[name] is None for name in ("offset", "length")):
        flush = OPERATIONS.index("flush")
        if bool(np.any(found["op"] != flush)):
            name = "offset" if given["offset"] is None else "length"
            raise ConfigError(f"{name}: expected bytes; only a flush has none")
    types = {"op": np.uint8, "tenant": np.uint16}
    filled = {
        name: np.ascontiguousarray(np.broadcast_to(array.astype(types.get(name, np.uint64)), count))
        for name, array in found.items()
    }
    return Columns(**filled)


def _array(value: object, name: str) -> "npt.NDArray[Any]":
    import numpy as np

    mask = np.asarray(getattr(value, "mask", False) if isinstance(value, np.ma.MaskedArray) else False)
    if mask.any():
        masked = f"{int(mask.sum())} of {mask.size}"
        raise ConfigError(f"{name}: {masked} values are masked; expected a value for each request")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from error
    if array.ndim > 1:
        raise ConfigError(f"{name}: an array of shape {array.shape}; expected one value or one dimension")
    return array


def _numbers(value: object, name: str) -> "npt.NDArray[Any]":
    import numpy as np

    array = _array(value, name)
    if array.size == 0:
        return array.astype(np.uint64)
    if array.dtype.kind not in "iu":
        raise ConfigError(f"{name}: {array.dtype} values; expected whole numbers, such as int64 or uint64")
    if array.dtype.kind == "i" and int(array.min()) < 0:
        raise ConfigError(f"{name}: {int(array.min())}; expected whole numbers from 0 on")
    return array


def _codes(value: object, name: str, known: Sequence[str], expected: str) -> "npt.NDArray[Any]":
    """Numbers of names in `known`."""
    import numpy as np

    array = _array(value, name)
    if array.size and array.dtype.kind not in "UOT":
        raise ConfigError(f"{name}: {array.dtype} values; {expected}")
    codes = np.full(array.shape, len(known), dtype=np.int64)
    for code, text in enumerate(known):
        codes[array == text] = code
    unknown = codes == len(known)
    if bool(np.any(unknown)):
        raise ConfigError(f"{name}: {str(array[unknown].flat[0])!r}; {expected}")
    return codes


def _tenants(value: object, tenants: Sequence[str]) -> "npt.NDArray[Any]":
    array = _array(value, "tenant")
    if array.size and array.dtype.kind in "UOT":
        return _codes(array, "tenant", tenants, f"expected a number, or one of {', '.join(tenants)}")
    array = _numbers(array, "tenant")
    if array.size and int(array.max()) >= len(tenants):
        raise ConfigError(f"tenant: {int(array.max())}; the drive has {len(tenants)}, numbered from 0")
    return array
