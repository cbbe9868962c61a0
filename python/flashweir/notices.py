"""Warnings: a result that is there and lacks something. The command line prints each as a line on standard error."""

import sys
import warnings


class FlashweirWarning(UserWarning):
    """Something was left out or assumed; the message says what, where, and what to do."""


def warn(message: str) -> None:
    """Warns whoever called a function of the package."""
    warnings.warn(" ".join(message.split()), FlashweirWarning, stacklevel=3)


_quiet = {"quiet": False}


def be_quiet() -> None:
    """Leaves warnings, progress and summaries out from here on."""
    _quiet["quiet"] = True


def is_quiet() -> bool:
    """True if only requested outputs and errors are printed."""
    return _quiet["quiet"]


def say(line: str) -> None:
    """Prints a line on standard error, unless it is to be quiet."""
    if not is_quiet():
        print(line, file=sys.stderr, flush=True)


def to_standard_error() -> None:
    """Prints warnings of this package as lines from here on, each once."""
    printed: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        line = f"warning: {message}"
        if issubclass(category, FlashweirWarning) and line not in printed:
            printed.add(line)
            say(line)

    warnings.showwarning = show
    warnings.simplefilter("always", FlashweirWarning)
