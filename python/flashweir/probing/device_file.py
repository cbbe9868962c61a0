"""Device file of a probe with the answers as they are after calibration."""

import json
import tomllib
from typing import Any

from flashweir.settings import flat, refusal

# Geometry that is left out, one key after the other, until the engine takes the file: the least sure first.
_GEOMETRY = ("planes", "pages_per_block", "chips", "dies", "channels", "page")
_PLAIN: dict[str, object] = {"pages_per_block": 128, "page": 4096}
# Shares of spare that are tried, least first, where the engine has no room in the spare that was found.
_SPARES = (0.15, 0.2, 0.3, 0.5, 0.75, 1.0)


def in_file(text: str, changed: dict[str, dict[str, Any]], extra: list[dict[str, Any]]) -> str:
    """A device file with changed answers, and those without a key as comments."""
    lines, section = [], ""
    for line in text.splitlines():
        name = line.partition(" = ")[0]
        if line.startswith("["):
            section = line.strip("[]") + "."
        key = section + name
        if " = " in line and not line.startswith("#") and key in changed:
            answer = changed[key]
            line = f"{name} = {json.dumps(answer['value'])} # sure: {answer['sure']:.2f}; {answer['how']}"  # noqa: PLW2901
        lines.append(line)
    lines += ["", "# No keys yet:"] if extra else []
    lines += [f"# {one['key']} = {json.dumps(one['value'])} # sure: {one['sure']:.2f}; {one['how']}" for one in extra]
    return "\n".join(lines) + "\n"


def spare_for(text: str) -> float | None:
    """Share of spare with which the engine takes a file that it refuses; None if it takes it, or with no share."""
    settings = flat(tomllib.loads(text))
    if refusal(settings) is None:
        return None
    found = float(str(settings.get("op_ratio", 0)))
    larger = (spare for spare in _SPARES if spare > found)
    return next((spare for spare in larger if refusal({**settings, "op_ratio": spare}) is None), None)


def taken(
    text: str, changed: dict[str, dict[str, Any]], known: dict[str, dict[str, Any]], extra: list[dict[str, Any]]
) -> str:
    """A device file with changed answers that the engine takes; if there is none, its reason is the first line."""
    reason = for_engine(text, changed, known)
    file = in_file(text, changed, extra)
    return file if reason is None else f"# Refused with plain geometry, too: {' '.join(reason.split())}\n{file}"


def for_engine(text: str, changed: dict[str, dict[str, Any]], known: dict[str, dict[str, Any]]) -> str | None:
    """Adds answers to `changed` with which the engine takes the file, where it would refuse what was found.

    First more spare, then plain geometry in the place of what is least sure. The engine decides alone; nothing of its
    rules is repeated here.

    Returns:
        The engine's reason if it refuses plain geometry, too; None if it takes the file.
    """
    reason = None
    found = [known[key] for key in _GEOMETRY if key in known and known[key]["value"] != _PLAIN.get(key, 1)]
    for answer in [None, *sorted(found, key=lambda one: float(one["sure"]))]:
        if answer is not None:
            why = f"{answer['value']} makes no drive with the other answers; a plain one"
            answer.update(value=_PLAIN.get(answer["key"], 1), sure=0.0, how=why)
            changed[answer["key"]] = answer
        now = in_file(text, changed, [])
        reason = refusal(flat(tomllib.loads(now)))
        if reason is None:
            return None
        spare, share = spare_for(now), known.get("op_ratio")
        if spare is not None and share is not None:
            share.update(value=spare, sure=0.0, how=f"{share['value']:g} leaves no room for so many planes and blocks")
            changed["op_ratio"] = share
            return None
    return reason
