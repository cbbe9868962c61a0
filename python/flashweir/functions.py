"""Functions and classes of files, as `FILE.py:FUNCTION` names them."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flashweir._native import ConfigError
from flashweir.answers import one_line


def load_function(place: str, user: str, noun: str = "FUNCTION") -> Callable[..., Any]:
    """The function at `FILE.py:FUNCTION`. Runs the file, which may import its neighbours. `user` is named in errors.

    Raises:
        ConfigError: there is no such file or function, or the file does not run.
    """
    file, _, name = place.rpartition(":")
    path = Path(file)
    if not file or not name.isidentifier() or not path.is_file():
        raise ConfigError(f"{user} {place!r}: expected FILE.py:{noun}, with a file that is there")
    spec = importlib.util.spec_from_file_location(f"_flashweir_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{user} {place!r}: {file} is no Python file (expected a name that ends in .py)")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look for their module there.
    sys.modules[spec.name] = module
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # `sys.exit` among them: it would end the command without a message
        is_exit = not isinstance(error, Exception)
        why = f"it {called_exit(error)}" if is_exit else one_line(f"{type(error).__name__}: {error}")
        raise ConfigError(f"{user} {place!r}: {file} does not run: {why}") from error
    found = getattr(module, name, None)
    if not callable(found):
        kind = noun.lower()
        known = f"no {kind}" if found is None else f"{type(found).__name__}, not a {kind},"
        raise ConfigError(f"{user} {place!r}: {file} has {known} {name}")
    function: Callable[..., Any] = found
    return function


def called_exit(error: BaseException) -> str:
    """Words for an exception that ends a program: `called sys.exit(0)`."""
    if not isinstance(error, SystemExit):
        return f"raised {type(error).__name__}"
    return f"called sys.exit({'' if error.code is None else repr(error.code)})"
