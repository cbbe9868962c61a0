#!/usr/bin/env python3
"""Finds the loads of this experiment, and writes them: loads.toml.

Usage: experiments/06-together/loads.py

The capacity of a mix is its requests over the time that the plain drive takes for them when all arrive at once. Its
loads are 30, 60 and 90% of that: host.time_scale is such that the arrivals take that time, divided by the load. The
plain drive is that of base.toml with the first value of every axis.
"""

import sys
import tomllib
from pathlib import Path
from typing import Any

import flashweir

HERE = Path(__file__).parent
LOADS = (0.3, 0.6, 0.9)
AT_ONCE = 1e-9
HEAD = "# Made by loads.py. Behind each load the share of the time for which a die of the plain drive is busy."


def run(drive: dict[str, Any], mix: Path, scale: float) -> dict[str, Any]:
    """A run of the plain drive, its times of arrival multiplied by the scale."""
    host = {**drive.get("host", {}), "time_scale": scale}
    return flashweir.simulate(f"mix:{mix}", **{**drive, "host": host}).to_dict()


def plain(spec: dict[str, Any]) -> dict[str, Any]:
    """Keys of the plain drive: those of `set` and of the first value of each axis."""
    drive: dict[str, Any] = {"device": spec["device"]}
    for part in (spec["set"], *(next(iter(values.values())) for values in spec["axes"].values())):
        for key, value in part.items():
            drive[key] = {**drive.get(key, {}), **value} if isinstance(value, dict) else value
    return drive


def main() -> None:
    """Writes loads.toml."""
    drive = plain(tomllib.loads((HERE / "base.toml").read_text(encoding="utf-8")))
    workloads, settings = [], []
    for mix in sorted(HERE.glob("mix-*.toml")):
        spec = tomllib.loads(mix.read_text(encoding="utf-8"))
        arrivals_s = float(str(spec["duration"]).removesuffix("s"))
        at_once_s = run(drive, mix, AT_ONCE)["simulated_s"]
        for load in LOADS:
            scale = float(f"{at_once_s / load / arrivals_s:.4g}")
            busy = 1 - run(drive, mix, scale)["time_share"]["idle"]
            name = f'"{mix.stem.removeprefix("mix-").replace("-", " ")}, {load:.0%}"'
            workloads.append(f'{name} = "mix:{mix.name}"')
            settings.append(f"{name} = {{ host.time_scale = {scale} }}  # {busy:.2f}")
            print(settings[-1], file=sys.stderr)
    text = "\n".join([HEAD, "[workloads]", *workloads, "", "[set_for]", *settings, ""])
    (HERE / "loads.toml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
