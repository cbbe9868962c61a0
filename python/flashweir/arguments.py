"""Arguments of the functions: checks of their kinds, paths as JSON has them, and messages in the words of Python.

The engine's messages name the options of the command line (`--wrap`). `in_python` makes them those of the functions
(`wrap=True`), unless the command line is what calls (`from_command_line`).
"""

import functools
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from flashweir._native import ConfigError, FlashweirError

P = ParamSpec("P")
T = TypeVar("T")

# Names the place of a setting in the messages of the engine: only the command line has it.
SET = "--set: "
MAX_WHOLE = 2**64 - 1
# Options without a value are keywords that are true.
_OPTION = re.compile(r"(?<![\w./-])--([a-z][a-z-]*)(?: ((?:/|sim:)[^\s;]*[^\s,;.]))?")
_RENAMED = {"recover": "recover_log", "speed": "scale", "suite": "suites"}
_SWITCHES = ("wrap", "buffered", "until-steady", "verify", "dry-run", "allow-drops", "resume")
# Words of the command line, if that is what calls.
_called: list[Sequence[str]] = []


def from_command_line(words: Sequence[str] = ()) -> None:
    """Leaves messages as they are from here on: the command line is what calls, with these words."""
    _called[:] = [words]


def on_command_line() -> bool:
    """True if the command line is what calls."""
    return bool(_called)


def command_line() -> str:
    """The command that was called, as one types it; empty if none was."""
    return shlex.join(["flashweir", *_called[0]]) if _called and _called[0] else ""


def typed(*names: str) -> str:
    """The one of an option's names that the command line has; the first if it has none."""
    words = _called[0] if _called else ()
    return next((name for name in names if any(word.partition("=")[0] == name for word in words)), names[0])


def check_path(name: str, value: object) -> None:
    """Refuses an argument that names no file or drive; None is one that is not given.

    Raises:
        ConfigError: it is of another kind.
    """
    if value is not None and not isinstance(value, str | bytes | os.PathLike | Mapping):
        raise ConfigError(f"{name}: {value!r}: expected a path")


def check_file(name: str, value: object) -> None:
    """Refuses an argument that names no file.

    Raises:
        ConfigError: it is of another kind.
    """
    if not isinstance(value, str | os.PathLike):
        raise ConfigError(f"{name}: {value!r}: expected a path")


def check_files(name: str, value: object) -> None:
    """Refuses an argument that is neither the path of a file nor a list of them.

    Raises:
        ConfigError: it is of another kind.
    """
    files = value if isinstance(value, Sequence) and not isinstance(value, str | bytes) else [value]
    if not all(isinstance(one, str | os.PathLike) for one in files):
        raise ConfigError(f"{name}: {value!r}: expected a path, or a list of them")


def place(path: "str | bytes | os.PathLike[str]") -> Any:  # noqa: ANN401 - JSON
    """A path or a workload as the native module takes it: text, or bytes where a file's name is no text."""
    text = os.fsdecode(path)
    return text if is_utf8(text) else {"bytes": list(os.fsencode(text))}


def is_utf8(text: str) -> bool:
    """True if a text can be written: the name of a file may hold any bytes."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def shown(path: str) -> str:
    """A path as the engine writes it in results: bytes that are no UTF-8 are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def in_python(function: Callable[P, T]) -> Callable[P, T]:
    """A function whose errors name its parameters, and not options of the command line. It takes numbers of NumPy."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        numbers = any(_is_scalar(value) for value in (*args, *kwargs.values()))
        try:
            if not numbers:
                return function(*args, **kwargs)
            own: Any = {name: plain(value) for name, value in kwargs.items()}
            return function(*map(plain, args), **own)
        except FlashweirError as error:
            if not on_command_line():
                error.args = (in_words(str(error)), *error.args[1:])
            raise

    return call


def plain(value: Any) -> Any:  # noqa: ANN401 - of any kind
    """A number of NumPy as one of Python; any other value as it is."""
    return value.item() if _is_scalar(value) else value


def _is_scalar(value: object) -> bool:
    # Without NumPy itself, which takes its time to load.
    return type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0


def in_words(message: str) -> str:
    """A message with the parameters of Python instead of options: `--wrap` is `wrap=True`, `--set: ` is left out."""
    message = message.removeprefix(SET)

    def keyword(found: re.Match[str]) -> str:
        name = _RENAMED.get(found[1], found[1].replace("-", "_"))
        if found[1] in _SWITCHES:
            return f"{name}=True"
        return f"{name}={found[2]}" if found[2] else name

    return _OPTION.sub(keyword, message)
