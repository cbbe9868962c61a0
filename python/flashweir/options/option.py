"""One declaration of an option, from which follow parameter, command line, spec, check and documents.

An option is the annotation of a function's parameter: `verify: run.Verify = False`, where `Verify` is `Annotated[bool,
Option(...)]`. `declared` makes the function's help of it, `checked` checks arguments, `as_spec` makes the keys that the
native module takes; `flashweir.cli.derived` makes options of the command line, `scripts/options` rows of the documents.
"""

import inspect
import os
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, ParamSpec, TypeVar, get_args, get_origin

from flashweir._native import ConfigError
from flashweir.arguments import MAX_WHOLE, on_command_line, place

P = ParamSpec("P")
T = TypeVar("T")

Kind = Literal["flag", "whole", "number", "text", "path", "function"]

_ENTRY = re.compile(r"^    (\w+): ", re.MULTILINE)
_WIDTH = 116


@dataclass(frozen=True, repr=False)
class Option:
    """An option: kind, texts, limits, and where it holds.

    `help` is the line of `--help`, `doc` what Python's help says (the same if not given), `row` the Markdown of the
    documents (`doc` if not given). `kind` is that of its values on the command line; `also` are kinds that the function
    takes besides: a text where a flag is, or anything (`object`).
    """

    kind: Kind
    help: str
    doc: str = ""
    row: str = ""
    metavar: str = ""
    low: int = 0
    high: int = MAX_WHOLE
    choices: tuple[str, ...] = ()
    # A text that it takes, for the message about another kind.
    example: str = ""
    also: type | None = None
    several: bool = False
    flags: tuple[str, ...] = ()
    # False: only of the functions.
    on_command_line: bool = True
    # Holds for every run of a sweep too: a key of its spec, and part of the identity of its runs.
    in_sweeps: bool = False
    # False: the function does it, and the native module does not know it.
    in_spec: bool = True

    def refusal(self, value: object) -> str:
        """Says what is expected instead of a value of another kind; empty if it is right. None is what is not given."""
        if value is None or (self.also is not None and isinstance(value, self.also)):
            return ""
        right, expected = {
            "flag": (isinstance(value, bool), "True or False"),
            "whole": (is_whole(value, self.low, self.high), f"a whole number from {self.low} to {self.high}"),
            "number": (isinstance(value, int | float) and not isinstance(value, bool), "a number"),
            "path": (isinstance(value, str | bytes | os.PathLike), "a path"),
            "text": (isinstance(value, str), f"a text such as {self.example}" if self.example else "a text"),
            "function": (True, ""),
        }[self.kind]
        if right and self.choices and value not in self.choices:
            right, expected = False, f"one of {', '.join(self.choices)}"
        return "" if right else f"expected {expected}"

    def check(self, name: str, value: object) -> None:
        """Refuses a value of another kind, or beyond the limits.

        Raises:
            ConfigError: it is one.
        """
        if expected := self.refusal(value):
            if on_command_line() and self.names(name):
                raise ConfigError(f"{self.names(name)[-1]} {value}: {expected}")
            raise ConfigError(f"{name}: {value!r}: {expected}")

    def names(self, name: str) -> tuple[str, ...]:
        """Names on the command line; none if it is not there."""
        return () if not self.on_command_line else self.flags or (f"--{name.replace('_', '-')}",)


@dataclass(frozen=True)
class Row:
    """The words of a command for an option: the Markdown of the documents' row, and its help.

    `help` is that of the declaration if not given. Names, kind, limits and metavar are always those of the declaration.
    """

    text: str
    help: str = ""


class Declared(NamedTuple):
    """An option as a function declares it."""

    option: Option
    default: object


_DECLARED: dict[object, dict[str, Declared]] = {}


def is_whole(value: object, low: int = 0, high: int = MAX_WHOLE) -> bool:
    """True for a whole number within limits; a truth value is none."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def said(name: str, annotation: object) -> str:
    """The name of an option in a message: that of the command line, if that is what calls."""
    option = _option_of(annotation)
    names = option.names(name) if option is not None and on_command_line() else ()
    return names[-1] if names else name


def declared(function: Callable[P, T]) -> Callable[P, T]:
    """Registers the options of a function's parameters, and puts them into its help."""
    signature = inspect.signature(function)
    options: dict[str, Declared] = {}
    shown = dict(function.__annotations__)
    for name, parameter in signature.parameters.items():
        option = _option_of(parameter.annotation)
        if option is not None:
            options[name] = Declared(option, parameter.default)
            shown[name] = get_args(parameter.annotation)[0]
    plain = [one.replace(annotation=shown.get(name, one.annotation)) for name, one in signature.parameters.items()]
    function.__signature__ = signature.replace(parameters=plain)  # type: ignore[attr-defined]
    function.__annotations__ = shown
    function.__doc__ = _documented(function.__doc__ or "", list(signature.parameters), options)
    _DECLARED[function] = options
    return function


def options_of(function: object) -> Mapping[str, Declared]:
    """The options that a function declares, by name, in its order."""
    return _DECLARED[function]


def defaults_of(function: object) -> dict[str, Any]:
    """The options of a function as they are where none is given."""
    return {name: one.default for name, one in options_of(function).items()}


def checked(function: object, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The options among the arguments of a function, checked.

    Raises:
        ConfigError: one is of another kind.
    """
    options = options_of(function)
    for name, one in options.items():
        one.option.check(name, arguments[name])
    return {name: arguments[name] for name in options}


def as_spec(function: object, values: Mapping[str, Any]) -> dict[str, Any]:
    """Options as the native module takes them: paths by the bytes of their names."""
    found = {}
    for name, one in options_of(function).items():
        if one.option.in_spec:
            value = values[name]
            is_place = one.option.kind == "path" and isinstance(value, str | bytes | os.PathLike)
            found[name] = place(value) if is_place else value
    return found


def _option_of(annotation: object) -> Option | None:
    if get_origin(annotation) is not Annotated:
        return None
    return next((one for one in get_args(annotation)[1:] if isinstance(one, Option)), None)


def _documented(text: str, order: list[str], options: Mapping[str, Declared]) -> str:
    """A docstring whose arguments have the options among them, in the order of the parameters."""
    text = inspect.cleandoc(text)
    head, mark, rest = text.partition("\nArgs:\n")
    if not mark:
        return text
    arguments, gap, tail = rest.partition("\n\n")
    starts = [*(found.start() for found in _ENTRY.finditer(arguments)), len(arguments)]
    entries = {}
    for start, end in pairwise(starts):
        entry = arguments[start:end].rstrip("\n")
        entries[entry.strip().partition(":")[0]] = entry
    for name, one in options.items():
        said = f"{name}: {one.option.doc or one.option.help}"
        entries[name] = textwrap.fill(said, _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8)
    lines = [entries[name] for name in order if name in entries]
    return "".join([head, mark, "\n".join(lines), gap, tail])
