"""Drives that are classes of Python, wherever a target is taken (docs/guide/drive-in-python.md).

`py:FILE.py:CLASS[,key=value...]` names a class in a file; Python functions also take an object of such a class.
"""

import contextlib
import contextvars
import os
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from flashweir._native import ConfigError, FlashweirError
from flashweir.answers import one_line
from flashweir.functions import load_function

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PREFIX", "Target", "file_of", "given"]

PREFIX = "py:"


@runtime_checkable
class Target(Protocol):
    """A drive in Python. Its clock is its own and begins at 0; time and state go on from call to call.

    Attributes:
        size_bytes: its capacity.
        block_bytes: the smallest unit of addresses and lengths, a multiple of 512.
        depth: requests that may be outstanding; flashweir sets it before the first call, and again when it changes,
            with nothing outstanding.
        host_written_bytes, media_written_bytes: bytes that the host and the flash wrote so far; both may be missing.
            `diagnose` computes write amplification from them.
    """

    size_bytes: int
    block_bytes: int

    def submit(self, requests: "Mapping[str, NDArray[Any]]") -> "Mapping[str, NDArray[np.int64]]":
        """Executes requests.

        Args:
            requests: columns of one length: `due_ns` int64 (-1: as soon as fewer than `depth` are outstanding), `op`
                uint8 (0 read, 1 write, 2 discard, 3 flush), `offset` and `length` uint64, in bytes.

        Returns:
            `issue_ns` and `complete_ns`, int64, in the order of the requests.
        """
        ...


class _Given:
    """The object given to one call or made for it, and the exception that a model raised."""

    def __init__(self, name: str, drive: object | None) -> None:
        self.name = name
        self.drive = drive
        self.made: object | None = None
        self.raised: BaseException | None = None


_given: contextvars.ContextVar[_Given | None] = contextvars.ContextVar("_given", default=None)


@contextlib.contextmanager
def given(target: "str | bytes | os.PathLike[str] | Target") -> Iterator[str]:
    """The name of a target; an object is known by it in the body. Exceptions of a model become causes of its errors."""
    if isinstance(target, str | bytes | os.PathLike):
        mine = _Given(os.fsdecode(target), None)
    elif hasattr(target, "submit"):
        mine = _Given(f"{PREFIX}{type(target).__name__}", target)
    else:
        raise ConfigError(f"target: {target!r}: expected a name, or an object with size_bytes, block_bytes and submit")
    token = _given.set(mine)
    try:
        yield mine.name
    except FlashweirError as error:
        raised = mine.raised
        if raised is None:
            raise
        # `sys.exit` of a model is its failure; Ctrl-C is the user's.
        if isinstance(raised, KeyboardInterrupt):
            raise raised from None
        raise error from raised
    finally:
        _given.reset(token)


def file_of(name: str) -> str:
    """The file of `py:FILE.py:CLASS[,key=value...]`."""
    return name.removeprefix(PREFIX).partition(",")[0].rpartition(":")[0]


def load(name: str) -> "Model":
    """The model that `py:...` names. Called by the engine.

    Raises:
        ConfigError: there is no such class, or it makes no drive.
    """
    mine = _given.get()
    if mine is not None and mine.drive is not None and mine.name == name:
        return Model(mine.drive, mine, is_new=False)
    place, _, settings = name.removeprefix(PREFIX).partition(",")
    make = load_function(place, "target", "CLASS")
    try:
        drive = make(**_settings(settings))
    except ConfigError:
        raise
    except Exception as error:
        if mine is not None:
            mine.raised = error
        raise ConfigError(f"{_where(error)}; expected __init__(**kwargs: str) of {place} to make a drive") from error
    if mine is not None:
        mine.made = drive
    return Model(drive, mine, is_new=True)


def current() -> object | None:
    """The drive in Python that is the target of this call; None of other targets."""
    mine = _given.get()
    return None if mine is None else mine.drive if mine.drive is not None else mine.made


def _settings(text: str) -> dict[str, str]:
    """`key=value,key=value`; what has no `=` belongs to the value before, as in a list."""
    found: dict[str, str] = {}
    last = None
    for part in text.split(",") if text else ():
        key, equals, value = part.partition("=")
        if equals and key.strip().isidentifier():
            last = key.strip()
            found[last] = value
        elif last is not None:
            found[last] += f",{part}"
        else:
            raise ConfigError(f"{part!r}: expected key=value after the first comma")
    return found


def _where(error: BaseException) -> str:
    """An exception in one line, with the line that raised it."""
    said = one_line(f"{type(error).__name__}: {error}")
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename != __file__]
    return f"{said} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else said


class Model:
    """A drive as the engine asks it: raw columns in, checked columns out."""

    def __init__(self, drive: Any, mine: _Given | None, *, is_new: bool) -> None:  # noqa: ANN401 - whatever the user made
        self._drive = drive
        self._given = mine
        self.is_new = is_new
        self.size_bytes = self._whole("size_bytes")
        self.block_bytes = self._whole("block_bytes")
        if not callable(getattr(drive, "submit", None)):
            raise ConfigError(f"{type(drive).__name__} has no method submit: expected submit(requests) -> completions")

    def _whole(self, name: str) -> int:
        kind = type(self._drive).__name__
        value = getattr(self._drive, name, None)
        if value is None:
            raise ConfigError(f"{kind} has no attribute {name}: expected a number of bytes")
        if isinstance(value, bool) or not hasattr(value, "__index__") or not 0 < value.__index__() < 1 << 63:
            raise ConfigError(f"{kind}.{name} is {value!r}: expected a whole number of bytes above 0")
        return int(value)

    def set_depth(self, depth: int) -> None:
        """Sets how many requests may be outstanding."""
        try:
            self._drive.depth = depth
        except Exception as error:
            raise ConfigError(f"attribute depth can't be set: {_where(error)}") from error

    def submit(
        self, due: bytearray, op: bytearray, offset: bytearray, length: bytearray
    ) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        """Executes requests, given as columns of numbers in little endian."""
        import numpy as np

        requests = {
            "due_ns": np.frombuffer(due, "<i8"),
            "op": np.frombuffer(op, np.uint8),
            "offset": np.frombuffer(offset, "<u8"),
            "length": np.frombuffer(length, "<u8"),
        }
        answer = self._ask(lambda: self._drive.submit(requests))
        if not isinstance(answer, Mapping):
            raise ConfigError(f"submit returned {type(answer).__name__}: expected a dict of issue_ns and complete_ns")
        return _times(answer, "issue_ns"), _times(answer, "complete_ns")

    def _ask(self, call: Callable[[], object]) -> object:
        try:
            return call()
        except BaseException as error:
            if self._given is not None:
                self._given.raised = error
            raise ConfigError(_where(error)) from error


def _times(answer: "Mapping[str, Any]", name: str) -> "NDArray[np.int64]":
    """A column of times, checked but for its length."""
    import numpy as np

    if name not in answer:
        raise ConfigError(f"submit returned no {name}: expected an array of int64")
    times = answer[name]
    if not isinstance(times, np.ndarray):
        raise ConfigError(f"{name} is {type(times).__name__}: expected an array of int64")
    if times.dtype != np.int64 or times.ndim != 1:
        shape = f" of {times.ndim} dimensions" if times.ndim != 1 else ""
        raise ConfigError(f"{name} has dtype {times.dtype}{shape}: expected one column of int64")
    return np.ascontiguousarray(times)
