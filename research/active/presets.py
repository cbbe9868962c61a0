"""Presets of today as drives to be graded: small, with all of their flash, firmware, buffer and mapping."""

import flashweir
from flashweir.quantity import number_of
from flashweir.settings import flat
from research.active.truth import Drive

# Two channels of two dies have every kind of conflict; blocks of three, four or two kinds of pages are whole.
_CHANNELS, _DIES, _PAGES = 2, 2, 48
# Blocks of a die, without spare: with fewer, the closed forms for spare do not hold.
_BLOCKS = 40
_MIN_MIB = 64
# Spare of a drive whose map is on flash: it takes blocks of each die, however small that is.
_SPARE_WITH_MAP = 0.2
# Settings of a page map in RAM without look-ups.
_PAGE_MAP = {"ftl.kind": "page", "firmware.hmb_bytes": 0}
_GREEDY = {"gc.victim": "greedy"}


def names() -> list[str]:
    """All presets that ship."""
    return [str(one["name"]) for one in flashweir.presets()]


def preset(name: str) -> Drive:
    """A preset as a small drive, with its twins: a page map in RAM, and greedy collection, in place of its own."""
    config = next(one["config"] for one in flashweir.presets() if one["name"] == name)
    page = int(number_of(config["page"]) or 0)
    channels, dies = min(config["channels"], _CHANNELS), _DIES
    row = channels * dies * config["planes"] * page * _PAGES
    settings: dict[str, object] = {"channels": channels, "chips": 1, "dies": dies, "pages_per_block": _PAGES}
    settings["capacity"] = f"{max(_MIN_MIB, _BLOCKS * row >> 20)}MiB"
    if config["ftl"]["kind"] == "dftl":
        settings["op_raw"] = _SPARE_WITH_MAP
    if config["slc"]["kind"] != "none":
        settings["slc.static_blocks"] = 4
    buffer = int(number_of(config["buffer"]["bytes"]) or 0)
    now = flat(config)
    twins = {}
    for symptom, healthy in (("mapping", _PAGE_MAP), ("collection", _GREEDY)):
        changed = {key: value for key, value in healthy.items() if key in now and now[key] not in (value, "0B", None)}
        twins[symptom] = _target(name, settings | changed)
    return Drive(_target(name, settings), {}, twins, buffer, 8, "preset")


def _target(name: str, settings: dict[str, object]) -> str:
    return ",".join([f"sim:{name}", *(f"{key}={value}" for key, value in settings.items())])
