"""Warnings: a result that is there and lacks something. The command line prints each as a line on standard error."""

import sys
import warnings


class FlashweirWarning(UserWarning):
    """Something was left out or assumed; the message says what, where, and what to do."""


def warn(message: str) -> None:
    """Warns whoever called a function of the package."""
    warnings.warn(" ".join(message.split()), FlashweirWarning, stacklevel=3)


def to_standard_error() -> None:
    """Prints warnings of this package as lines from here on, each once."""
    printed: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        line = f"warning: {message}"
        if issubclass(category, FlashweirWarning) and line not in printed:
            printed.add(line)
            print(line, file=sys.stderr, flush=True)

    warnings.showwarning = show
    warnings.simplefilter("always", FlashweirWarning)
