"""Runs steady-state tests on a target; the result is written after each."""

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from flashweir import _native, whole
from flashweir._native import ConfigError
from flashweir.arguments import check_path, in_python
from flashweir.benchmark.naming import named
from flashweir.benchmark.pts import load, patterns, trials
from flashweir.benchmark.pts.driver import Driver
from flashweir.importing import device
from flashweir.options import bench as bench_option
from flashweir.options import target as option
from flashweir.options.option import checked, declared
from flashweir.targets import Target, given

FORMAT = "flashweir-pts-1"
TESTS: dict[str, Callable[[Driver, trials.Settings], dict[str, Any]]] = {
    "iops": trials.iops,
    "throughput": trials.throughput,
    "latency": trials.latency,
    "write-saturation": trials.write_saturation,
    "read-under-writes": load.read_under_writes,
    "patterns": patterns.patterns,
}
# Drives of this size and more have the minutes of the specification; smaller ones a share of them.
_FULL_SIZE, _MIN_SCALE = 256 << 30, 0.0005
_SATURATION_S = 6 * 3600.0


@declared
@in_python
def run_pts(
    target: str | os.PathLike[str] | Target,
    tests: Sequence[str] | None = None,
    *,
    scale: float | None = None,
    seed: option.Seed = 1,
    erase: option.Erase = None,
    name: bench_option.Name = None,
    output: str | os.PathLike[str] | None = None,
    tell: Callable[[str], None] | None = None,
    begin: Callable[[str, int, int], None] | None = None,
) -> dict[str, Any]:
    """Tests a drive in steady state. Overwrites it.

    Args:
        target: as of `bench`.
        tests: `iops`, `throughput`, `latency`, `write-saturation`, `read-under-writes`, `patterns`; all if not
            given.
        scale: length of a minute of the specification, above 0 to 1; by the size of the target if not given.
        output: a file that has the result after each test.
        tell: is called with what is done.
        begin: is called with the name of each test before it, its number and how many there are.

    Returns:
        `format`, `target`, `size_bytes`, `scale`, `seed`, `tests` (docs/guide/steady-state.md), `written_bytes` and
        `complete`.

    Raises:
        ConfigError: a setting.
        DeviceError: the drive can't be used, or was not named again.
        FlashweirError: it failed.
    """
    checked(run_pts, locals())
    check_path("output", output)
    chosen = list(dict.fromkeys(TESTS if tests is None else tests))
    for test in chosen:
        if test not in TESTS:
            raise ConfigError(f"--pts {test}: expected {', '.join(TESTS)} or all")
    if scale is not None and not 0 < scale <= 1:
        raise ConfigError(f"--scale {scale}: expected above 0 to 1")
    with given(target) as drive:
        called = named(drive, name)
        asked = device.target(drive)
        again = None if erase is None else os.fspath(erase)
        with device.named(drive, asked):
            driver = Driver(asked, asked if again == drive else again, seed, tell or (lambda _: None))
            by_size = min(1.0, max(driver.size / _FULL_SIZE, _MIN_SCALE))
            share = by_size if scale is None else scale
            result: dict[str, Any] = {"format": FORMAT, "version": _native.__version__, "target": drive,
                                      **called, "size_bytes": driver.size, "scale": share, "seed": seed, "tests": [],
                                      "complete": False}  # fmt: skip
            settings = trials.Settings(trials.MINUTE_S * share, _SATURATION_S * min(share / by_size, 1.0))
            for number, test in enumerate(chosen):
                if begin is not None:
                    begin(test, number + 1, len(chosen))
                result["tests"].append(TESTS[test](driver, settings))
                result |= {"written_bytes": driver.written, "complete": number + 1 == len(chosen)}
                if output is not None:
                    whole.write(os.fspath(output), json.dumps(result, indent=1) + "\n")
    return result
