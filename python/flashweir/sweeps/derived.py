"""Derived columns: arithmetic over the numbers of a result, such as `flash.gc.programs / flash.programs`.

The text is Python's expression syntax, of which only arithmetic, comparisons and a few functions are let through: a
spec from a stranger can do no harm.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from flashweir._native import ConfigError

_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: math.pow,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs, "min": min, "max": max, "sqrt": math.sqrt, "log": math.log, "log2": math.log2, "log10": math.log10,
    "exp": math.exp, "round": round,
}  # fmt: skip
_NAMES = ", ".join(_FUNCTIONS)
_SYNTAX = f"expected arithmetic over columns, such as flash.gc.programs / flash.programs; functions: {_NAMES}"
# Deeper than anyone writes, and far from what the interpreter bears.
_DEEPEST = 50


class Expression:
    """One derived column, or another expression of a spec."""

    def __init__(self, name: str, text: object, section: str = "derived") -> None:
        """Reads and checks the expression `text` of column `name`; messages name the `section` of the spec.

        Raises:
            ConfigError: it is no arithmetic over columns.
        """
        self.name = name
        self._where = f"{section}.{name}"
        if not isinstance(text, str):
            raise ConfigError(f"{self._where}: {text!r}: {_SYNTAX}")
        self.text = text
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ConfigError(f"{self._where}: {text!r}: {_SYNTAX}") from error
        self._check(self._tree, 0)

    def value(self, columns: Mapping[str, Any]) -> float | None:
        """The column's value.

        Args:
            columns: a result with nested mappings, and axes and earlier derived columns by dotted name.

        Returns:
            The number, or None where an operand is null or the operation has no value (a division by zero).

        Raises:
            ConfigError: a name is in no column.
        """
        try:
            found = self._evaluate(self._tree, columns)
        except (ArithmeticError, ValueError):
            return None
        except TypeError:
            # Null operands; text operands make no number either.
            return None
        return float(found) if isinstance(found, (bool, int, float)) and math.isfinite(found) else None

    def names(self) -> list[str]:
        """The columns that it takes, by dotted name."""
        nodes = [node for node in ast.walk(self._tree) if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))]
        # Of nested paths, the outermost is the column; the name of a function is none.
        inner = {id(node.value) for node in nodes if not isinstance(node, ast.Name)}
        inner |= {id(node.func) for node in ast.walk(self._tree) if isinstance(node, ast.Call)}
        return [".".join(self._path(node)) for node in nodes if id(node) not in inner]

    def _check(self, node: ast.expr, depth: int) -> None:
        parts: list[ast.expr] = []
        match node:
            case ast.BinOp(left, operator_, right) if type(operator_) in _OPERATORS:
                parts = [left, right]
            case ast.UnaryOp(ast.UAdd() | ast.USub(), operand):
                parts = [operand]
            case ast.Compare(left, [operator_], [right]) if type(operator_) in _OPERATORS:
                parts = [left, right]
            case ast.Call(ast.Name(function), arguments, []) if function in _FUNCTIONS and arguments:
                parts = arguments
            case ast.Constant(value) if isinstance(value, (int, float)):
                pass
            case ast.Name() | ast.Attribute() | ast.Subscript():
                self._path(node)
            case _:
                raise ConfigError(f"{self._where}: {ast.unparse(node)}: {_SYNTAX}")
        if depth > _DEEPEST:
            raise ConfigError(f"{self._where}: nested too deeply: {_SYNTAX}")
        for part in parts:
            self._check(part, depth + 1)

    def _path(self, node: ast.expr) -> list[str]:
        match node:
            case ast.Name(name):
                return [name]
            case ast.Attribute(value, name):
                return [*self._path(value), name]
            case ast.Subscript(value, ast.Constant(str() as name)):
                return [*self._path(value), name]
        raise ConfigError(f"{self._where}: {ast.unparse(node)}: {_SYNTAX}")

    def _evaluate(self, node: ast.expr, columns: Mapping[str, Any]) -> Any:  # noqa: ANN401 - numbers or None
        match node:
            case ast.BinOp(left, operator_, right) | ast.Compare(left, [operator_], [right]):
                return _OPERATORS[type(operator_)](self._evaluate(left, columns), self._evaluate(right, columns))
            case ast.UnaryOp(operator_, operand):
                value = self._evaluate(operand, columns)
                return -value if isinstance(operator_, ast.USub) else value
            case ast.Call(ast.Name(function), arguments):
                return _FUNCTIONS[function](*(self._evaluate(argument, columns) for argument in arguments))
            case ast.Constant(value):
                return value
            case _:
                return self._column(self._path(node), columns)

    def _column(self, path: list[str], columns: Mapping[str, Any]) -> object:
        dotted = ".".join(path)
        if dotted in columns:
            return _number(columns[dotted])
        value: Any = columns
        for part in path:
            if not isinstance(value, Mapping) or part not in value:
                raise ConfigError(f"{self._where}: {dotted} is no column of this sweep")
            value = value[part]
        return _number(value)


def _number(value: object) -> object:
    """An axis value such as "64KiB" counts as its number."""
    from flashweir.quantity import number_of

    return number_of(value) if isinstance(value, str) else value
