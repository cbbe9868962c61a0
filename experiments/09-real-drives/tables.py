"""Tables of the fits: `python tables.py` writes them into README.md and values.md, from the results beside it.

`python tables.py RESULT.json ...` prints the tables of other results of `flashweir fit --json`: medians, and every
value.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NAMES = {"pe8110": "PE8110", "pm9a3": "PM9A3", "d7-p5520": "D7-P5520", "7450-max": "7450 MAX"}
METRICS = ("read_mean", "read_p50", "read_p99", "read_p999", "write_mean", "write_p50", "write_p99", "waf")
MARKS = ("<!-- aims of tables.py -->", "<!-- end of aims -->")
# From this value on numbers have all their digits.
WHOLE_FROM = 1000
Result = Mapping[str, Any]


@dataclass(frozen=True)
class Aim:
    """An aim by metric: the largest error, or from 1 on the largest factor; None for what is shown alone."""

    metric: str
    most: float | None

    @property
    def left_out(self) -> float | None:
        """The aim for loads that were left out: 1.5 times that of fitted ones, and 3 points."""
        return None if self.most is None else 1.5 * self.most + 0.03


BELOW = (
    Aim("read_mean", 0.05),
    Aim("read_p50", 0.08),
    Aim("read_p99", 0.08),
    Aim("read_p999", 0.15),
    Aim("write_mean", 0.12),
    Aim("write_p50", 0.12),
    Aim("write_p99", None),
    Aim("write_p999", None),
)
AT_SATURATION = (
    Aim("iops", 0.02),
    Aim("read_p50", 0.3),
    Aim("write_p50", 0.3),
    Aim("read_p99", 2.0),
    Aim("write_p99", 2.0),
)
AMPLIFICATION = 0.015
# Loads by which the simulated knee is away from the measured one at most.
STEPS = 1
MISSED = " **missed**"


def main(paths: list[str]) -> None:
    """Writes the tables, or prints those of other results."""
    if paths:
        print("\n".join(of_results({Path(path).stem: _read(Path(path)) for path in paths})))
        return
    readme = HERE / "README.md"
    start, end = MARKS
    before, _, rest = readme.read_text(encoding="utf-8").partition(start)
    readme.write_text(f"{before}{start}\n{aims()}\n{end}{rest.partition(end)[2]}", encoding="utf-8")
    (HERE / "values.md").write_text(values(), encoding="utf-8")


def aims() -> str:
    """Aims beside what each drive's fit reached, and the loads that were left out."""
    fits = [_read(HERE / f"{name}.json") for name in NAMES]
    left_out = [_read(HERE / f"{name}-left-out.json") for name in NAMES]
    return "\n".join(
        [
            *_head("median error of fitted loads below saturation"),
            *(_row(_said(aim.metric), aim.most, [_median(fit, aim.metric) for fit in fits]) for aim in BELOW),
            _row("amplification, the worst uniform point", AMPLIFICATION, [worst_amplification(fit) for fit in fits]),
            "",
            *_head("error at saturation"),
            *(_row(_said(aim.metric), aim.most, [_at_saturation(fit, aim.metric) for fit in fits], signed=True)
              for aim in AT_SATURATION),
            _row_of_steps([knee(fit, "predicted") - knee(fit, "measured") for fit in fits]),
            "",
            *_head("median error of loads that were left out"),
            *(_row(_said(aim.metric), aim.left_out, [_median(fit, aim.metric) for fit in left_out]) for aim in BELOW),
            f"| drives simulated | | {' | '.join(str(fit['runs']) for fit in left_out)} |",
        ]
    )  # fmt: skip


def values() -> str:
    """The page of every value."""
    text = "# Every value, measured and simulated\n\n[Findings](README.md). Latencies are in us, by writes a second.\n"
    return text + "\n".join(_values({name: _read(HERE / f"{name}.json") for name in NAMES})) + "\n"


def of_results(found: Mapping[str, Result]) -> Iterator[str]:
    """Medians of all results, then every value of each."""
    yield "| fit | drives simulated | " + " | ".join(map(_said, METRICS)) + " |"
    yield "|---|---" + "|---" * len(METRICS) + "|"
    for name, result in found.items():
        cells = [f"{result['medians'][one]['error']:.1%}" if one in result["medians"] else "" for one in METRICS]
        yield f"| {name} | {result['runs']} | " + " | ".join(cells) + " |"
    yield from _values(found)


def _values(found: Mapping[str, Result]) -> Iterator[str]:
    for name, result in found.items():
        yield f"\n## {name}\n\n| value | measured | simulated | error |\n|---|---|---|---|"
        for one in result["points"]:
            row = f"| {one['what']} | {_number(one['measured'])} |"
            if one["predicted"] is None:
                yield f"{row} not simulated | |"
            else:
                yield f"{row} {_number(one['predicted'])} | {one['error']:+.0%} |"


def knee(result: Result, of: str) -> int:
    """The number of the first load whose writes take, in the median, more than the mean of the lowest and saturation.

    The mean is the geometric one: the median of writes grows a hundredfold within a step or two.
    """
    medians = [one[of] for one in result["points"] if one["metric"] == "write_p50"]
    between = math.sqrt(medians[0] * medians[-1])
    return next(at for at, median in enumerate(medians) if median > between)


def worst_amplification(result: Result) -> float | None:
    """The largest error of write amplification; None where none was measured and simulated."""
    return max((abs(one["error"]) for one in result["points"] if one["metric"] == "waf" and one["error"] is not None),
               default=None)  # fmt: skip


def _median(result: Result, metric: str) -> float | None:
    found = result["medians"].get(metric)
    return None if found is None else float(found["error"])


def _at_saturation(result: Result, metric: str) -> float | None:
    return next((one["error"] for one in result["points"] if one["what"] == f"{metric}@saturated"), None)


def _head(title: str) -> tuple[str, str]:
    return f"| {title} | aim | {' | '.join(NAMES.values())} |", f"|---|---{'|---' * len(NAMES)}|"


def _row(title: str, most: float | None, errors: Sequence[float | None], *, signed: bool = False) -> str:
    aim = "none" if most is None else f"a factor of {most:g}" if most > 1 else f"{most:.1%}"
    cells = [_cell(error, most, f"{error or 0:+.1%}" if signed else f"{error or 0:.1%}") for error in errors]
    return f"| {title} | {aim} | {' | '.join(cells)} |"


def _cell(error: float | None, most: float | None, text: str) -> str:
    if error is None:
        return "not measured"
    is_far = most is not None and (max(1 + error, 1 / (1 + error)) > most if most > 1 else abs(error) > most)
    return text + (MISSED if is_far else "")


def _row_of_steps(steps: Sequence[int]) -> str:
    cells = [f"{step:+d}{MISSED if abs(step) > STEPS else ''}" if step else "same" for step in steps]
    return f"| load of the knee, in load steps | {STEPS} | {' | '.join(cells)} |"


def _said(metric: str) -> str:
    return {"iops": "throughput", "waf": "waf"}.get(metric, metric.replace("_", " ").replace("p999", "p99.9"))


def _number(value: float) -> str:
    """Four digits; all of them from a thousand on."""
    return f"{value:,.0f}" if value >= WHOLE_FROM else f"{value:.4g}"


def _read(path: Path) -> Result:
    result: Result = json.loads(path.read_text(encoding="utf-8"))
    return result


if __name__ == "__main__":
    main(sys.argv[1:])
