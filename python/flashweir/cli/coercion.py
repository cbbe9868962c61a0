"""Values of options without the validation library of Typer, whose import takes as long as the rest of the start.

Values that are plainly right (texts, paths, digits within their limits, flags) are converted here; any other goes the
library's own way. What it refuses is said in the words of this package: option, value, what was expected. With a
version of Typer that is built otherwise nothing is changed.
"""

import importlib
import re
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer

from flashweir._native import ConfigError

_WHOLE = re.compile(r"[0-9]{1,20}")
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")
_UNKNOWN = object()
# Limits from here on are those of 64 bits, beyond any real value.
_MAX = 2**63 - 1


def install() -> None:
    """Makes the command line convert plain values by itself."""
    core = importlib.import_module("typer.core")
    library = importlib.import_module("typer._coercion")
    base: Any = getattr(library, "RuntimeParam", None)
    build: Any = getattr(core, "build_runtime_param", None)
    if base is None or build is None or not hasattr(base, "_coerce_value"):
        return

    class Plain(base):  # type: ignore[misc]
        """A parameter whose own conversion is made where a value is not plain."""

        def _coerce_value(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401 - as the library has it
            found = plain(self.annotation, value, self.parameter_info)
            if found is not _UNKNOWN:
                return found
            real = build(library.resolve_type_descriptor(self.annotation, self.parameter_info))
            try:
                return real._coerce_value(value, param=param, ctx=ctx)  # noqa: SLF001 - what it stands for
            except typer.BadParameter as error:
                if wanted := expected(self.annotation, self.parameter_info):
                    raise ConfigError(f"{_name(param)} {value}: expected {wanted}") from error
                raise

    def light(descriptor: Any) -> Any:  # noqa: ANN401 - as the library has it
        if descriptor.file_annotation is not None or descriptor.parameter_info.parser is not None:
            return build(descriptor)
        return Plain(annotation=descriptor.annotation, parameter_info=descriptor.parameter_info)

    core.build_runtime_param = light  # type: ignore[attr-defined]


def expected(annotation: object, info: Any) -> str:  # noqa: ANN401 - of the library
    """Description of the values of an option; empty where the library's words are as good."""
    if annotation is int:
        low, high = info.min, info.max
        ends = f" from {low}" if low is not None and (high is None or high >= _MAX) else ""
        ends = f" from {low} to {high}" if low is not None and high is not None and high < _MAX else ends
        return f"a whole number{ends}"
    if annotation is float:
        return "a number"
    return f"one of {', '.join(map(str, get_args(annotation)))}" if get_origin(annotation) is Literal else ""


def _name(param: Any) -> str:  # noqa: ANN401 - of the library
    """The name of an option as one types it; of an argument, as the help has it."""
    names = [name for name in param.opts if name.startswith("-")]
    return names[-1] if names else str(param.metavar or param.name)


def plain(annotation: object, value: object, info: Any) -> object:  # noqa: ANN401 - of the library
    """A value that is right beyond doubt; `_UNKNOWN` for any other."""
    if get_origin(annotation) is list and isinstance(value, list | tuple):
        (kind,) = get_args(annotation)
        each = [plain(kind, one, info) for one in value]
        return _UNKNOWN if any(one is _UNKNOWN for one in each) else each
    if isinstance(value, bool) or not isinstance(value, str):
        return value if annotation is bool and isinstance(value, bool) else _UNKNOWN
    found: object = _UNKNOWN
    if annotation is str:
        found = value
    elif annotation is Path and not (info.exists or info.resolve_path or info.path_type):
        found = Path(value)
    elif annotation is int and _WHOLE.fullmatch(value):
        number = int(value)
        within = (info.min is None or number >= info.min) and (info.max is None or number <= info.max)
        found = number if within else _UNKNOWN
    elif annotation is float and info.min is None and info.max is None and _NUMBER.fullmatch(value):
        found = float(value)
    return found
