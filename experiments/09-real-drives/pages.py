"""Pages of the fitted drives, `docs/drives`: `python pages.py`, from the results of the fits beside this file.

Errors are those of the presets alone, too, which have every key of the fit: `flashweir fit measured.toml --drive NAME
--base PRESET --budget 0` predicts the same values.
"""

import json
import textwrap
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from flashweir.charts import matplotlib
from flashweir.charts.from_curves import Measured, lines

HERE = Path(__file__).parent
PAGES = HERE.parent.parent / "docs" / "drives"
METRICS = ("read_mean", "read_p50", "read_p99", "read_p999", "write_mean", "write_p50", "write_p99", "iops", "waf")
SHOWN = ("read_mean", "read_p50", "read_p99", "read_p999", "write_mean", "write_p99")
DRAWN = ("read_mean", "read_p50", "read_p99", "read_p999")
# From this value on numbers have all their digits.
WHOLE_FROM = 1000
# Of each fit: the preset, and what the drive does that the model does not.
DRIVES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "pe8110": (
        "sk-hynix-pe8110",
        (
            "Tails of writes close to saturation (69,338/s): p99.9 of 671 us; the model has 16 us.",
            "The knee, 79,208/s: the model's reads and writes take 27 to 32% longer (p50 and mean).",
        ),
    ),
    "d7-p5520": (
        "solidigm-d7-p5520",
        (
            "Tails of writes at low load: a p99 of up to 86 us and a p99.9 of some 160 us, which fall as load grows.",
            "The first load, 9,953/s: its reads take 70 us (p50); the model has 109 us, as from the next load on.",
            "Reads of the two highest loads below saturation, whose p50 falls again; the model's goes on rising.",
            "Tails at saturation: p99 of 2,182 us (reads) and 7,036 us (writes); the model has 1,574 and 3,966 us.",
            "Hot and cold data apart: under skew its write amplification is lower than greedy collection alone.",
        ),
    ),
    "7450-max": (
        "micron-7450-max",
        (
            (
                "Writes alone: a host that writes faster than 480 MB/s for long is held to that "
                "(`buffer.refill_rate`). So 4 KiB writes make 458 MiB/s however much of the space is used, where"
                " the drive makes 623 to 1,214, and sequential ones of 128 KiB 461 MiB/s, where it makes 1,378 "
                "(512 KiB, one zone). Set `buffer.backpressure=none` for such workloads: 465 to 625 and 1,215 "
                "MiB/s."
            ),
            "Slow writes at 19,849/s: 1% of them take 0.8 ms or longer; the model has none.",
            (
                "Medians of writes that are partly slow: 13 and 17 us at 69,351 and 79,248 writes/s, where the "
                "drive has 10, and 18% less at 99,052; the mean at 108,933, which is 26% high."
            ),
            (
                "Reads while writes are held back: a p99 of 2.6 and 4.0 ms at 49,558 and 59,446 writes/s, a "
                "p99.9 of 3 to 5 ms from 39,644 to 59,446; the model has 0.4 and 0.5 ms."
            ),
            "The reserve is a count of bytes, apart from the blocks, which are collected as without it.",
        ),
    ),
    "pm9a3": (
        "samsung-pm9a3",
        (
            "The rise of writes from 11 to 23 us (p50) before saturation: the model stays at 11 us.",
            "Tails of writes: a p99 of 14 us up to 39,650 writes/s, of 43 to 324 us above; the model has 18 to 41 us.",
            "The read p99.9 of 780 us at 69,341 writes/s; the model has 531 us.",
        ),
    ),
}


def main() -> None:
    """Writes a page and a figure for each drive."""
    PAGES.mkdir(exist_ok=True)
    for name, (preset, missing) in DRIVES.items():
        fitted = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
        matplotlib.write(figure(preset, fitted), PAGES / f"{preset}.svg")
        (PAGES / f"{preset}.md").write_text(page(name, preset, missing, fitted), encoding="utf-8")


def by_load(result: Mapping[str, Any], metric: str) -> dict[str, tuple[float, float | None]]:
    """Measured and predicted values of a metric by load."""
    return {
        one["what"].partition("@")[2]: (one["measured"], one["predicted"])
        for one in result["points"]
        if one["metric"] == metric
    }


def figure(preset: str, result: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a chart
    """Latencies of reads over the rate of writes, below saturation."""
    curves = []
    for metric in DRAWN:
        known = [(load, *values) for load, values in by_load(result, metric).items() if load.isdecimal()]
        known = [one for one in known if one[2] is not None]
        label = metric.replace("read_p999", "p99.9").replace("read_", "")
        places = [load for load, _, _ in known]
        curves.append(Measured(f"{label}, measured", places, [one[1] for one in known]))
        curves.append(Measured(f"{label}, simulated", places, [float(one[2]) for one in known if one[2] is not None]))
    plot = lines(preset, f"Reads of {result['drive']}", ("writes a second", "read latency, us"), curves, scale="log")
    # Simulated curves are dashed, in the colours of the measured ones.
    beside = {f"{one.name.partition(',')[0]}, simulated": one.name for one in plot.series if "measured" in one.name}
    return replace(plot, series=[replace(one, beside=beside.get(one.name)) for one in plot.series])


def page(name: str, preset: str, missing: tuple[str, ...], fitted: Mapping[str, Any]) -> str:
    """The page of a drive."""
    workload = "random:span=1GiB,size=4KiB,count=20000,write=0.9,rate=30000"
    medians = "\n".join(
        f"| {_name(metric)} | {_percent(fitted, metric)} |" for metric in METRICS if metric in fitted["medians"]
    )
    loads = [load for load in by_load(fitted, "read_mean") if load.isdecimal() or load == "saturated"]
    head = " | ".join(map(_name, SHOWN))
    rows = "\n".join(
        f"| {load} | " + " | ".join(_pair(*by_load(fitted, metric).get(load, (0.0, None))) for metric in SHOWN) + " |"
        for load in loads
    )
    lacks = "\n".join(f"- {_wrapped(one)}" for one in missing)
    intro = _wrapped(
        f"The preset `{preset}` is a drive [fitted](../guide/fit.md) to published latencies of this drive under load "
        f"([experiment 09](../../experiments/09-real-drives/README.md)). Its pages leave the write buffer as soon as a "
        f"unit is free (`buffer.destage=eager`){_limit(name)}.{_held(name)} Terms: "
        "[glossary](../reference/glossary.md).",
        "",
    )
    below = _wrapped(
        f"Median absolute errors over the {fitted['medians']['read_mean']['n']} loads below 97% of saturation, which "
        f"the drive was fitted to; {fitted['runs']} drives were simulated, seed {fitted['seed']}. They are those of "
        f"the preset in an open loop, with 20,000 reads a load:",
        "",
    )
    return f"""# {fitted["drive"]}

```sh
flashweir simulate {workload} \\
  --device {preset} --set host.mode=open
```

{intro}

## Errors

{below}

```sh
flashweir fit experiments/09-real-drives/measured.toml --drive {name} --base {preset} --budget 0
```

| metric | error |
|---|---|
{medians}

![Latencies of reads over the rate of writes, measured and simulated]({preset}.svg)

## Measured and simulated

Measured / simulated, in us, by writes a second:

| writes/s | {head} |
|---|{"---|" * len(SHOWN)}
{rows}

The highest rate below `saturated` is the knee, which is not fitted.

## Differences from the drive

{lacks}
- The capacity is 16 GiB: set `capacity` for another. `op_ratio`, a share, stays.
- Dies, program time and over-provisioning compensate each other: their product is fitted, not each of them.
- Sequential writes, request sizes other than 4 KiB, and idle times have not been fitted.
"""


def _limit(name: str) -> str:
    """The limit of fetched commands, if there is one."""
    slots = tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))["host"].get("slots")
    return f"; its front end takes {slots} commands at once (`host.slots`)" if slots else ""


def _held(name: str) -> str:
    """The sentence on writes that are held back, if they are."""
    buffer = tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))["buffer"]
    if buffer.get("backpressure") != "reserve":
        return ""
    return " Writes are [held back in phases](../concepts/drive.md#backpressure) (`buffer.backpressure=reserve`)."


def _percent(result: Mapping[str, Any], metric: str) -> str:
    found = result["medians"].get(metric)
    if found is None:
        return "-"
    return f"{found['error']:.1%}" if found["error"] < 1 else f"{1 + found['error']:.1f} times"


def _name(metric: str) -> str:
    return metric.replace("_", " ").replace("p999", "p99.9")


def _pair(measured: float, predicted: float | None) -> str:
    return f"{_number(measured)} / {'-' if predicted is None else _number(predicted)}"


def _number(value: float) -> str:
    """Four digits; all of them from a thousand on."""
    return f"{value:,.0f}" if value >= WHOLE_FROM else f"{value:.4g}"


def _wrapped(text: str, indent: str = "  ") -> str:
    return f"\n{indent}".join(textwrap.wrap(text, 116, break_on_hyphens=False))


if __name__ == "__main__":
    main()
