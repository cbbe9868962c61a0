"""The JSON Schema of a result, with units, from its structure; and the check of a result against it."""

import re
from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Any, get_args

from flashweir._native import __version__
from flashweir.results.run import Run
from flashweir.results.section import Declared, Section, fields_of, json_types, structure_in

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_NAMES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    dict: "object",
    list: "array",
    NoneType: "null",
}


def result_schema() -> dict[str, Any]:
    """Every field of a result as JSON Schema, with units and meanings."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Result of flashweir simulate {__version__}",
        **_object(Run),
    }


def _object(structure: type[Section]) -> dict[str, Any]:
    fields = fields_of(structure)
    return {
        "type": "object",
        "properties": {key: _property(one) for key, one in fields.items()},
        "required": [key for key, one in fields.items() if not one.field.optional],
        "additionalProperties": False,
    }


def _property(one: Declared) -> dict[str, Any]:
    names = [_NAMES[kind] for kind in json_types(one)]
    if "number" in names:
        names.remove("integer")
    found: dict[str, Any] = {"type": names[0] if len(names) == 1 else names}
    found["description"] = _LINK.sub(r"\1", one.field.meaning)
    if one.field.unit:
        found["unit"] = one.field.unit
    inner, by_key = structure_in(one.type)
    if by_key:
        (kind,) = get_args(one.type)
        values = one._replace(type=kind, null=False)
        within = _object(inner) if inner is not None else {"type": _property(values)["type"]}
        found["additionalProperties"] = within
    elif inner is not None:
        found |= {key: value for key, value in _object(inner).items() if key != "type"}
    if one.field.each is not None:
        found["items"] = _object(one.field.each)
    return found


def differences(value: object, schema: Mapping[str, Any] | None = None, where: str = "") -> Iterator[str]:
    """Places where a result is not as its schema says: keys that lack or are too many, and values of other types."""
    schema = result_schema() if schema is None else schema
    names = schema.get("type", [])
    allowed = [names] if isinstance(names, str) else names
    if allowed and not any(_is(value, name) for name in allowed):
        yield f"{where}: {type(value).__name__}, expected {' or '.join(allowed)}"
        return
    if isinstance(value, Mapping):
        yield from (f"{where}.{key}: lacks" for key in schema.get("required", []) if key not in value)
        known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        for key, inner in value.items():
            if key in known:
                yield from differences(inner, known[key], f"{where}.{key}")
            elif more is False:
                yield f"{where}.{key}: unknown"
            elif isinstance(more, Mapping):
                yield from differences(inner, more, f"{where}.{key}")
    if isinstance(value, list) and "items" in schema:
        for number, inner in enumerate(value):
            yield from differences(inner, schema["items"], f"{where}[{number}]")


def _is(value: object, name: str) -> bool:
    kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "object": Mapping, "array": list,
             "null": NoneType}[name]  # fmt: skip
    return isinstance(value, kinds) and (not isinstance(value, bool) or name == "boolean")  # type: ignore[arg-type]
