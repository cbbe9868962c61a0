"""Presets of the fitted drives, `crates/ssd/presets`: `python presets.py`, from the results beside this file.

A preset has the keys of the device file `NAME.toml`, but for a capacity that is quick to fill. Its head says how far
the fit was off, from `NAME.json`, the result of the same fit.
"""

import json
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PRESETS = HERE.parent.parent / "crates" / "ssd" / "presets"
CAPACITY = "16GiB"
DRIVES = {
    "pe8110": "sk-hynix-pe8110",
    "d7-p5520": "solidigm-d7-p5520",
    "7450-max": "micron-7450-max",
    "pm9a3": "samsung-pm9a3",
}
NAMES = {
    "read_mean": "read mean", "read_p50": "p50", "read_p99": "p99", "read_p999": "p99.9",
    "write_mean": "write mean", "write_p50": "p50", "write_p99": "p99", "waf": "write amplification",
}  # fmt: skip
AT_SATURATION = {"iops": "throughput", "read_p50": "read p50", "read_p99": "p99", "write_p50": "write p50",
                 "write_p99": "p99"}  # fmt: skip
# Ends of the names of keys that are times.
TIMES = ("_time", "timing.read", "timing.program", "timing.erase")
# From this factor on an error is said as one.
DOUBLE = 1.0


def main() -> None:
    """Writes a preset for each drive."""
    for name, preset in DRIVES.items():
        (PRESETS / f"{preset}.toml").write_text(text(name), encoding="utf-8")


def text(name: str) -> str:
    """The preset of a fit."""
    result = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    drive = tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))
    wrapped = textwrap.wrap(head(result), 113, break_on_hyphens=False)
    return "\n".join([*(f"# {line}" for line in wrapped), *keys(drive, result)]) + "\n"


def head(result: Mapping[str, Any]) -> str:
    """The drive, the source, and the errors of a fit."""
    loads = result["medians"]["read_mean"]["n"]
    below = ", ".join(f"{said} {percent(result['medians'][name]['error'])}"
                      for name, said in NAMES.items() if name in result["medians"])  # fmt: skip
    full = {one["metric"]: one["error"] for one in result["points"] if one["what"].endswith("@saturated")}
    at = ", ".join(f"{said} {full[name]:+.1%}" for name, said in AT_SATURATION.items() if full.get(name) is not None)
    return (
        f"A drive fitted to the {result['drive']}: reads under uniform random 4 KiB writes, steady state. "
        f"Source: `flashweir fit` to the measurements of Haas and others (SSD-iq, PVLDB 18, 2025; "
        f"experiments/09-real-drives), {result['runs']} drives simulated, seed {result['seed']}. "
        f"Median errors over the {loads} loads below saturation: {below}. At saturation: {at}. They hold in an open "
        f"loop (host.mode=open). Intervals (of the middle page's time) have the values of drives that fit almost as "
        f"well, one key at a time: dies, program time and over-provisioning compensate each other, and one curve does "
        f"not determine them. The capacity is small for a quick fill."
    )


def percent(error: float) -> str:
    """An error, as a factor where it is large."""
    return f"{error:.1%}" if error < DOUBLE else f"{1 + error:.1f} times"


def keys(drive: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[str]:
    """Lines of all keys, those of the drive itself before the tables."""
    sources = {one["key"]: one for one in result["keys"]}
    for key, value in drive.items():
        if not isinstance(value, Mapping):
            yield line(key, key, CAPACITY if key == "capacity" else value, sources)
    for table, values in drive.items():
        if isinstance(values, Mapping):
            yield f"\n[{table}]"
            own = {key: value for key, value in values.items() if has_effect(key, values)}
            yield from (line(f"{table}.{key}", key, value, sources) for key, value in own.items())


def has_effect(key: str, table: Mapping[str, Any]) -> bool:
    """False for `sched.preempt_gc` of a drive that suspends: reads get in between the copies of a collection anyway."""
    return key != "preempt_gc" or table["kind"] != "suspend"


def line(path: str, key: str, value: object, sources: Mapping[str, Mapping[str, Any]]) -> str:
    """One key, its value with its unit, and where it comes from."""
    is_time = path.endswith(TIMES)
    given = [f"{one}ns" for one in value] if is_time and isinstance(value, list) else f"{value}ns" if is_time else value
    return f"{key} = {json.dumps(given)}  # {source(sources.get(path), is_time=is_time)}"


def source(found: Mapping[str, Any] | None, *, is_time: bool) -> str:
    """Origin of a value, and its interval where the measurements determine it."""
    if found is None or found["source"] == "assumed":
        return "assumed"
    origin = str(found["source"]).partition(";")[0].partition(":")[0]
    if found["low"] is None:
        return origin
    if not found["determined"]:
        return f"{origin}, not determined"
    unit = " ns" if is_time else ""
    return f"{origin}, {found['low']:,g} to {found['high']:,g}{unit}"


if __name__ == "__main__":
    main()
