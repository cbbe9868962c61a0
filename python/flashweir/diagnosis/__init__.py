"""Diagnosis of a drive, from a log of its requests or by tests that write it: `diagnose` and its report."""

import json
import os

from flashweir import _native
from flashweir.api import Progress, as_json, as_native_progress
from flashweir.arguments import in_python
from flashweir.diagnosis.active import diagnose_target
from flashweir.diagnosis.passive import answered
from flashweir.healthlogs.around import Health
from flashweir.options import reading
from flashweir.options import target as option
from flashweir.options.option import checked, declared
from flashweir.quantity import kind_of, number_of, unit_of
from flashweir.results.section import Section
from flashweir.targets import Target
from flashweir.tenants import AnyPath


@declared
@in_python
def diagnose(
    log: AnyPath | Target,
    *,
    active: bool = False,
    erase: option.Erase = None,
    seed: option.Seed = 1,
    empty: bool = False,
    capacity: int | str | None = None,
    format: reading.Format = None,
    columns: reading.Columns = None,
    skip_bad: reading.SkipBad = 0,
    hint: reading.Hint = None,
    health_before: option.HealthBefore = None,
    health_after: option.HealthAfter = None,
    progress: Progress | None = None,
) -> Section:
    """Says which symptoms of bad management a log of requests shows, or by tests a drive has.

    With `active` the first argument is a target, a drive or its name as for `probe`. All of it is overwritten, several
    times, to measure spare, mapping unit, write buffer, amplification and stalls (docs/guide/diagnose-active.md).

    Without, the log is one that `flashweir simulate --requests` wrote, or a trace of any format that has response
    times. Only what it says is looked at, nothing of the drive itself. It should hold the writes of a drive that was
    empty before, made one after the other without pauses; docs/concepts/diagnosis.md says what else works, and how
    well.

    Args:
        log: a file; with `active` a target.
        active: writes the drive, instead of reading a log.
        empty: of a log, that the drive held nothing when it began; without it a log can't show bad mapping.
        capacity: what the drive holds for its owner, in bytes or as text (`"120GB"`). Without it the addresses that
            were written count as all of it.
        progress: is that of `trace_info`.

    Returns:
        The object `flashweir-diagnosis-2` (docs/reference/diagnosis.md): `symptoms`, each with `verdict` and `reason`;
        `admissible`. Of a log also `limits`, reasons for which it can't answer; `verdict` and `sentence` for everybody;
        `findings` of the detectors, each with `shown`, `probability`, `sentence` and `evidence`; `picture`, the log as
        at most 12,288 points of request number, address and PBR (response time by bytes, ns a byte); `features`;
        `health`, changes in the health logs, None without them.

    Raises:
        TraceError: the log can't be read.
        ConfigError: `capacity` is no size; with `active` an option of logs, or a drive that can't be.
        DeviceError: the target can't be used, is too small, or may not be written.
        FlashweirError: `progress` stopped it, or the drive failed.
    """
    options = checked(diagnose, locals())
    if active:
        of_logs = {"capacity": capacity, "format": format, "columns": columns, "skip_bad": skip_bad or None,
                   "hint": hint}  # fmt: skip
        of_logs["empty"] = empty or None
        if given := [name for name, value in of_logs.items() if value is not None]:
            raise _native.ConfigError(f"{given[0]}: has no effect with active=True")
        watch = Health(log, health_before, health_after)
        found = diagnose_target(log, erase=erase, seed=seed, progress=progress)
        return Section(found | {"health": watch.end()})
    if erase is not None:
        raise _native.ConfigError("erase: has no effect without active=True")
    if not isinstance(log, str | os.PathLike):
        raise _native.ConfigError(f"log: {log!r}: expected a file, or active=True")
    watch = Health(log, health_before, health_after)
    held = None if capacity is None else _size(capacity)
    reading_options = as_json({name: options[name] for name in ("format", "columns", "skip_bad", "hint")})
    found = json.loads(_native.diagnose(os.fspath(log), reading_options, as_native_progress(progress), held))
    return Section(answered(found, empty=empty) | {"health": watch.end()})


def _size(capacity: int | str) -> int:
    number = number_of(capacity)
    if (
        number is None
        or not 1 <= number < 1 << 63
        or (isinstance(capacity, str) and kind_of(unit_of(capacity)) != "size")
    ):
        raise _native.ConfigError(f"capacity {capacity}: expected a size such as 120GB")
    return int(number)
