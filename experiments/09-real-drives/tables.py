"""Tables of the README: `python tables.py RESULT.json ...`, results of `flashweir fit --json`."""

import json
import sys
from pathlib import Path

METRICS = ("read_mean", "read_p50", "read_p99", "read_p999", "write_mean", "write_p50", "waf")


def main(paths: list[str]) -> None:
    """Prints medians of all, then every value of each."""
    found = {Path(path).stem: json.loads(Path(path).read_text(encoding="utf-8")) for path in paths}
    print("| fit | drives simulated | " + " | ".join(name.replace("_", " ") for name in METRICS) + " |")
    print("|---|---" * 1 + "|---" * len(METRICS) + "|")
    for name, result in found.items():
        cells = [f"{result['medians'][one]['error']:.1%}" if one in result["medians"] else "" for one in METRICS]
        print(f"| {name} | {result['runs']} | " + " | ".join(cells) + " |")
    for name, result in found.items():
        print(f"\n## {name}\n\n| value | measured | simulated | error |\n|---|---|---|---|")
        for one in result["points"]:
            if one["predicted"] is None:
                print(f"| {one['what']} | {one['measured']:,.4g} | not simulated | |")
            else:
                print(f"| {one['what']} | {one['measured']:,.4g} | {one['predicted']:,.4g} | {one['error']:+.0%} |")


if __name__ == "__main__":
    main(sys.argv[1:])
