"""Options of commands, made of what the functions declare that they call (`flashweir.options`)."""

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from flashweir.options.option import Declared, Option, options_of

_KINDS: dict[str, type] = {"flag": bool, "whole": int, "number": float, "text": str, "path": Path, "function": str}


def takes(
    *functions: Callable[..., object], only: Callable[[Option], bool] | None = None, without: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command that has the options of functions, and gets those that were given as keywords.

    Args:
        functions: their options, in their order.
        only: says which of them, if not all.
        without: names of options that the command declares itself, or does not have.
    """

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        added = dict(_parameters(functions, only, without))

        @functools.wraps(command)
        def run(**arguments: object) -> None:
            absent = [name for name in added if _is_absent(arguments[name])]
            command(**{name: value for name, value in arguments.items() if name not in absent})

        signature = inspect.signature(command)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        run.__signature__ = signature.replace(parameters=[*own, *added.values()])  # type: ignore[attr-defined]
        run.__annotations__ = command.__annotations__ | {name: one.annotation for name, one in added.items()}
        return run

    return with_options


def _is_absent(value: object) -> bool:
    # Zero is a value, though it equals False.
    return value is None or value is False or value == []


def _parameters(
    functions: Sequence[Callable[..., object]], only: Callable[[Option], bool] | None, without: Sequence[str]
) -> Iterator[tuple[str, inspect.Parameter]]:
    for function in functions:
        for name, one in options_of(function).items():
            names = one.option.names(name)
            if names and name not in without and (only is None or only(one.option)):
                yield name, _parameter(name, names, one)


def _parameter(name: str, names: Sequence[str], one: Declared) -> inspect.Parameter:
    option = one.option
    kind: Any = _KINDS[option.kind]
    default: object = None
    if option.kind == "flag":
        default = False
    else:
        kind = list[kind] | None if option.several else kind | None
    shown = "" if one.default in (None, False, 0, ()) else f"  [default: {one.default}]"
    limits: dict[str, Any] = {"min": option.low, "max": option.high} if option.kind == "whole" else {}
    made = typer.Option(*names, metavar=option.metavar or None, help=option.help + shown, **limits)
    annotation = Annotated[kind, made, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
