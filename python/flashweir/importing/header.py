"""`#define` lines of a C header with branches, and their whole numbers: as much of a preprocessor as they need."""

import ast
import functools
import operator
import re
import warnings
from collections.abc import Callable, Mapping

from flashweir._native import ConfigError
from flashweir.importing.model import plain, shown

_DIRECTIVE = re.compile(r"^\s*#\s*(?P<name>if|ifdef|ifndef|elif|else|endif|define)\b(?P<rest>.*)$")
_DEFINE = re.compile(r"^\s*(?P<key>[A-Za-z_]\w*)(?P<call>\([^)]*\))?\s*(?P<value>.*)$")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_SUFFIX = re.compile(r"\b((?:0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?))[uUlLfF]+\b")
_SCALES = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_BINARY: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
}  # fmt: skip
_DEPTH = 32
_MAX = 1 << 63
_MAX_SIGNS = 400


def macros(file: str, text: str, model: str) -> dict[str, str]:
    """The macros of a header by name, where `BASE_SSD` is a model.

    Raises:
        ConfigError: its branches do not fit together, or none is for the model.
    """
    found: dict[str, str] = {}
    # For each open branch: whether it is read, and whether any of its alternatives was.
    branches: list[tuple[bool, bool]] = []
    models: list[str] = []
    for number, line in enumerate(_COMMENT.sub(_newlines, text).replace("\\\n", " ").splitlines(), 1):
        directive = _DIRECTIVE.match(line)
        if directive is None:
            continue
        name, rest = directive["name"], directive["rest"].strip()
        if tested := re.search(r"BASE_SSD\s*==\s*(\w+)", rest):
            models.append(tested[1])
        if name != "define":
            if not (name.startswith("if") or branches):
                raise ConfigError(f"{plain(file)}: line {number}: #{name} without #if")
            _branch(branches, name, functools.partial(_holds, name, rest, found, model))
        elif all(is_read for is_read, _ in branches):
            _define(found, rest)
    if branches:
        raise ConfigError(f"{plain(file)}: an #if has no #endif")
    if models and model not in models:
        raise ConfigError(f"--model {shown(model)}: expected one of {', '.join(dict.fromkeys(models))}")
    return found


def _branch(branches: list[tuple[bool, bool]], name: str, holds: Callable[[], bool]) -> None:
    """Opens, changes or closes a branch; its condition is looked at only where it decides."""
    if name.startswith("if"):
        is_read = holds()
        branches.append((is_read, is_read))
    elif name == "endif":
        branches.pop()
    else:
        was = branches[-1][1]
        is_read = not was and (name == "else" or holds())
        branches[-1] = (is_read, was or is_read)


def number(macro: str, known: Mapping[str, str], depth: int = 0) -> float | None:
    """The value of a macro's text: sums and products of numbers, macros and KB(...); None if it is none."""
    if depth > _DEPTH or len(macro) > _MAX_SIGNS:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(_SUFFIX.sub(r"\1", macro).strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = _value(tree.body, known, depth)
    return found if found is not None and abs(found) < _MAX else None


def _value(node: ast.expr, known: Mapping[str, str], depth: int) -> float | None:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return float(node.value) if isinstance(node.value, float) else int(str(node.value)) if _is_small(node) else None
    if isinstance(node, ast.Name):
        return number(known[node.id], known, depth + 1) if node.id in known else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        inner = _value(node.args[0], known, depth)
        scale = _SCALES.get(node.func.id)
        return None if inner is None or scale is None else inner * scale
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, known, depth), _value(node.right, known, depth)
        if left is None or right is None:
            return None
        return _combined(node.op, left, right)
    return None


def _is_small(node: ast.Constant) -> bool:
    return isinstance(node.value, int) and node.value < _MAX


def _combined(sign: ast.operator, left: float, right: float) -> float | None:
    if isinstance(sign, ast.Div):
        if not right:
            return None
        return left // right if isinstance(left, int) and isinstance(right, int) else left / right
    if isinstance(sign, ast.LShift):
        return left * 2**right if 0 <= right < 64 else None  # noqa: PLR2004 - bits of a word
    found = _BINARY.get(type(sign))
    result = None if found is None else found(left, right)
    return result if result is None or abs(result) < _MAX else None


def _define(found: dict[str, str], rest: str) -> None:
    if (parts := _DEFINE.match(rest)) and not (parts["call"] and parts["value"]):
        found[parts["key"]] = f"{parts['call'] or ''}{parts['value']}".strip()


def _holds(name: str, rest: str, known: Mapping[str, str], model: str) -> bool:
    if name in ("ifdef", "ifndef"):
        return (rest in known) == (name == "ifdef")
    if tested := re.fullmatch(r"\(?\s*BASE_SSD\s*==\s*(\w+)\s*\)?", rest):
        return tested[1] == model
    return bool(number(rest, known))


def _newlines(comment: re.Match[str]) -> str:
    return "\n" * comment[0].count("\n") or " "
