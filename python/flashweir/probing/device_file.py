"""Device file of a probe with the answers as they are after calibration."""

import json
from typing import Any


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
