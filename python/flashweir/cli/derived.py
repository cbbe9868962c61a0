"""Options of commands, made of what the functions declare that they call (`flashweir.options`)."""

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer.models import OptionInfo

from flashweir.options.option import Declared, Option, Row, options_of

_KINDS: dict[str, type] = {"flag": bool, "whole": int, "number": float, "text": str, "path": Path, "function": str}


def takes(
    *functions: Callable[..., object], only: Callable[[Option], bool] | None = None, without: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command that has the options of functions, and gets those that were given as keywords.

    An option of its own is annotated with a declaration of `flashweir.options`, and maybe a `Row` with its words.

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
        own = [_own(one) for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        parameters = [*own, *added.values()]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = command.__annotations__ | {one.name: one.annotation for one in parameters}
        return run

    return with_options


def _own(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter of a command itself: its option of the command line, if it has a declaration and no such option."""
    parts = get_args(parameter.annotation)
    option = next((one for one in parts if isinstance(one, Option)), None)
    if option is None or any(isinstance(one, OptionInfo) for one in parts):
        return parameter
    row = next((one for one in reversed(parts) if isinstance(one, Row)), None)
    shown = row.help if row is not None and row.help else option.help
    kind: Any = _kind(option, optional=parameter.default is None)
    made = _made(option, option.names(parameter.name), shown)
    annotation = Annotated[kind, made, option] if row is None else Annotated[kind, made, option, row]
    return parameter.replace(annotation=annotation)


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
    default = False if option.kind == "flag" else None
    shown = "" if one.default in (None, False, 0, ()) else f"  [default: {one.default}]"
    kind: Any = _kind(option, optional=True)
    annotation = Annotated[kind, _made(option, names, option.help + shown), option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _kind(option: Option, *, optional: bool) -> Any:  # noqa: ANN401 - a type
    kind: Any = _KINDS[option.kind]
    kind = list[kind] if option.several else kind
    return kind | None if optional and option.kind != "flag" else kind


def _made(option: Option, names: Sequence[str], text: str) -> Any:  # noqa: ANN401 - as the library has it
    limits: dict[str, Any] = {"min": option.low, "max": option.high} if option.kind == "whole" else {}
    return typer.Option(*names, metavar=option.metavar or None, help=text, **limits)
