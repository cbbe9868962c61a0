"""An active diagnosis in lines: the verdict first, its symptoms, the drive, and what that means for workloads."""

from collections.abc import Iterator, Mapping
from typing import Any

from flashweir.diagnosis.report import NAMES, amount

_VERDICTS = {
    "healthy": "healthy: every tested part of the drive is good.",
    "ill": "ill: the drive is bad at {bad}.",
    "uncertain": "uncertain: no part is bad as far as the tests can tell, but not all could.",
}
_LITTLE_SPARE, _MUCH_AMPLIFICATION = 0.05, 4.0


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The lines that the command prints."""
    symptoms = found["symptoms"]
    written = f"{found['written_bytes'] / 1e6:,.0f} MB written in {found['elapsed_s']:.4g} s of the drive's time"
    yield from verdict(found)
    if not found["admissible"]:
        yield ""
        yield written
        return
    yield ""
    for name, one in symptoms.items():
        yield f"{NAMES[name]}: {one['verdict']}: {one['reason']}"
    yield ""
    for name, said in values(found).items():
        yield f"{name}: {said}"
    yield ""
    yield from advice(found)
    yield written


def verdict(found: Mapping[str, Any]) -> Iterator[str]:
    """The verdict in a sentence; of a target that is no flash, the sign of it instead."""
    if not found["admissible"]:
        yield f"no flash: {found['not_flash']}."
        return
    bad = " and ".join(NAMES[name] for name, one in found["symptoms"].items() if one["verdict"] == "bad")
    yield _VERDICTS[found["verdict"]].format(bad=bad)


def values(found: Mapping[str, Any]) -> dict[str, str]:
    """Values of the drive with their intervals, by name."""
    drive, buffered = found["drive"], found["buffer"]
    return {
        "effective spare": _interval(drive["spare"], lambda value: f"{100 * value:.3g} %"),
        "mapping unit": _interval(drive["mapping_unit_bytes"], amount),
        "map cache": _interval(drive["map_cache_bytes"], amount),
        "write buffer": ("at least " if buffered["at_least"] else "") + _interval(drive["buffer_bytes"], amount),
        "write amplification": _interval(drive["write_amplification"], lambda value: f"{value:.3g}"),
        "longest stall": _interval(drive["stall_max_us"], lambda value: f"{value / 1e3:.3g} ms"),
        "time in stalls": _interval(drive["stall_time_share"], lambda value: f"{100 * value:.3g} %"),
    }


def advice(found: Mapping[str, Any]) -> Iterator[str]:
    """Meaning of the values for a workload."""
    drive, symptoms = found["drive"], found["symptoms"]
    amplification, spare, unit = (
        drive[name] and drive[name]["value"] for name in ("write_amplification", "spare", "mapping_unit_bytes")
    )
    if amplification is not None:
        yield f"sustained short random writes wear the flash {amplification:.2g} times as fast as writes in order."
    if spare is not None and spare < _LITTLE_SPARE and (amplification or 0) > _MUCH_AMPLIFICATION:
        yield "the spare is little: leave a part of the drive discarded if it is written at random for long."
    if unit is not None and symptoms["mapping"]["verdict"] == "bad":
        yield f"write in units of {amount(unit)}, aligned to them."
    if symptoms["buffer"]["verdict"] == "bad":
        yield "single writes wait for flash: use several at a time, or large ones."
    if drive["stall_max_us"] is not None:
        longest = drive["stall_max_us"]["value"] / 1e3
        yield f"a write may wait {longest:.3g} ms under sustained random writes: plan timeouts by that."


def _interval(value: Mapping[str, Any] | None, text: Any) -> str:  # noqa: ANN401 - a function of a number
    if value is None:
        return "not measured"
    if value["low"] == value["high"]:
        return f"{text(value['value'])}"
    return f"{text(value['value'])} ({text(value['low'])} to {text(value['high'])}, {value['method']})"
