"""Learns how sure answers are: `python -m research.probing.learning ANSWERS.jsonl` writes `learned.py` anew.

The file is that of `research.probing.calibration work`, never of `held`.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

import flashweir

_LEARNED = Path(flashweir.__file__).parent / "probing" / "learned.py"


def rates(lines: list[str]) -> dict[str, dict[str, tuple[int, int]]]:
    """Answers that were right, and all, by key and evidence."""
    found: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        one = json.loads(line)
        if one["evidence"] and one["value"] is not None:
            found[one["key"]][one["evidence"]].append(one["right"])
    return {key: {kind: (sum(all_), len(all_)) for kind, all_ in sorted(found[key].items())} for key in sorted(found)}


def text(learned: dict[str, dict[str, tuple[int, int]]]) -> str:
    """The table as Python."""
    rows = []
    for key, kinds in learned.items():
        rows += [f'    "{key}": {{', *(f'        "{kind}": {rate},' for kind, rate in kinds.items()), "    },"]
    return "\n".join(["RIGHT: dict[str, dict[str, tuple[int, int]]] = {", *rows, "}"])


def main(arguments: list[str]) -> int:
    """Puts the table in the place of the former one."""
    if len(arguments) != 1:
        print("error: expected a file of `research.probing.calibration work`", file=sys.stderr)
        return 2
    learned = text(rates(Path(arguments[0]).read_text(encoding="utf-8").splitlines()))
    module = _LEARNED.read_text(encoding="utf-8")
    begin = module.index("RIGHT: ")
    end = module.index('\n"""Answers that were right')
    _LEARNED.write_text(module[:begin] + learned + module[end:], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
