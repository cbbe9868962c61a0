"""Device file of a probe with the answers as they are after calibration."""

import json
import tomllib
from typing import Any

from flashweir.settings import flat, refusal

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
    lines += ["", "# No keys yet:"]
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
