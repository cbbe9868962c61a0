"""The functions: what `flashweir compare` does, from Python."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flashweir.arguments import check_file, in_python
from flashweir.options import compare as option
from flashweir.options import many
from flashweir.options.option import checked, declared
from flashweir.policies.grammar import CROSSED, crossed, read
from flashweir.policies.setup import SEEDS, check_workloads, life_of, spec_of
from flashweir.policies.workloads import by_name, check_files
from flashweir.sweeps import Progress, sweep
from flashweir.sweeps.spec import SweepSpec

if TYPE_CHECKING:
    from flashweir.policies.matrix import Matrix
    from flashweir.sweeps.frame import SweepFrame

AnyPath = str | os.PathLike[str]


@declared
@in_python
def compare(
    workload: AnyPath | Sequence[AnyPath] | Mapping[str, Any],
    policies: object = None,
    *,
    ftl: Sequence[str] = (),
    planner: Sequence[str] = (),
    units: Sequence[str] = (),
    buffer: Sequence[object] = (),
    throttle: Sequence[object] = (),
    device: AnyPath | None = None,
    set: Mapping[str, object] | None = None,
    seeds: object = SEEDS,
    baseline: option.Baseline = None,
    latency: option.Latency = "write",
    metric: option.Metric = None,
    cycles: option.Cycles = None,
    price: option.Price = None,
    per_day: option.PerDay = None,
    directory: option.Directory = None,
    resume: many.Resume = False,
    force: bool = False,
    threads: many.Threads = None,
    memory_bytes: many.Memory = None,
    progress: Progress | None = None,
    **options: object,
) -> "SweepFrame":
    """Runs policies side by side on the same workloads and seeds.

    Args:
        workload: a trace file or a generator, `NAME=` before it or not, several of them, or a mapping of names to them.
        policies: a text such as `"fast+none,fast+forwarding"`, several, or a mapping of names to such texts or to
            settings (docs/reference/compare.md). Without these and the lists it is `"default"`.
        ftl: translation layers that are crossed with `policies` and with the lists below.
        planner: the same of planners.
        units: the same of units.
        buffer: the same of sizes of the buffer.
        throttle: the same of throttles.
        device: a preset's name or a device file.
        set: keys of the drive for all; what a policy sets holds against them.
        seeds: how many (`5` is 1 to 5), or a list. A recorded trace runs once where nothing draws random numbers.
        force: as of `flashweir.sweep`.
        progress: likewise.
        options: `name` and `set_for` of a sweep, and the options of `simulate` that a sweep has
            (docs/reference/sweep.md).

    Returns:
        The frame of a sweep whose axis is `policy`: `summary()`, `compare()`, `figures()` and `report(path)` are those
        of any sweep. `meta["refused"]` has the policies that make no drive, each with the reason; they were not run.

    Raises:
        ConfigError: a policy, key or option that is none; or no policy makes a drive.
        FlashweirError: `progress` stopped the runs; those that ended are kept if there is a `directory`.
        KeyboardInterrupt: Ctrl-C; likewise.
    """
    checked(compare, locals())
    spec = planned(
        workload,
        policies,
        {"ftl": ftl, "planner": planner, "units": units, "buffer": buffer, "throttle": throttle},
        device=device,
        set=set,
        seeds=seeds,
        baseline=baseline,
        latency=latency,
        options={**options, **life_of(metric, cycles, price, per_day)},
    )
    return sweep(
        spec, directory, resume=resume, force=force, threads=threads, memory_bytes=memory_bytes, progress=progress
    )


def planned(
    workload: object,
    policies: object,
    lists: Mapping[str, Sequence[object]],
    *,
    device: AnyPath | None,
    set: Mapping[str, object] | None,
    seeds: object,
    baseline: str | None,
    latency: str,
    options: Mapping[str, object],
) -> SweepSpec:
    """The sweep that `compare` runs; arguments and errors are its own, `lists` those that are crossed by name."""
    chosen = policies is not None or any(lists.get(option) for option in CROSSED)
    named = read("default" if not chosen else policies) if policies is not None or not chosen else {}
    groups, common = crossed(named, lists)
    more: dict[str, Any] = {
        "name": "comparison",
        **{key: value for key, value in options.items() if value not in (None, False)},
    }
    if device is not None:
        more["device"] = os.fspath(device)
    workloads = by_name([os.fspath(workload)] if isinstance(workload, str | os.PathLike) else workload)
    check_files(workloads)
    # The default policies are those of drives with a small buffer; some can't do without.
    small_buffer = {} if chosen else {"buffer.bytes": "32KiB"}
    common = {**small_buffer, **(set or {}), **common}
    spec = spec_of(workloads, groups, common, baseline=baseline, latency=latency, seeds=seeds, **more)
    check_workloads(spec)
    return spec


@declared
@in_python
def judge(
    file: AnyPath,
    directory: option.Directory = None,
    *,
    resume: many.Resume = False,
    force: bool = False,
    threads: many.Threads = None,
    memory_bytes: many.Memory = None,
    progress: Progress | None = None,
) -> "Matrix":
    """Runs the trial that a file describes: a frozen policy against rivals, on workloads it was made for and others.

    Args:
        file: TOML (docs/reference/compare.md).
        force: as of `flashweir.sweep`.
        progress: likewise.

    Returns:
        Who won where, and the frame of all runs.

    Raises:
        ConfigError: the file is none, or the candidate or every rival makes no drive.
        FlashweirError, KeyboardInterrupt: as of `compare`.
    """
    checked(judge, locals())
    check_file("file", file)
    from flashweir.policies.matrix import judged
    from flashweir.policies.trial import load

    trial = load(file)
    frame = sweep(
        trial.spec, directory, resume=resume, force=force, threads=threads, memory_bytes=memory_bytes, progress=progress
    )
    return judged(trial, frame)
