"""Health logs of drives, as nvme-cli and smartctl write them in JSON, as counters in bytes.

Units: `data_units_*` of the SMART log are 512,000 bytes, those of an endurance group and its `media_units_written` 10^9
bytes, OCP's physical media units (`hi` and `lo` halves of 128 bits) and FDP statistics single bytes; logical sectors of
SATA are of the drive's own size.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flashweir import jsontext
from flashweir._native import ConfigError

_UNIT, _BILLION, _GIB, _MIB = 512_000, 10**9, 1 << 30, 1 << 20
_KELVIN = 273
# Temperatures of nvme-cli are in kelvin, those of smartctl in degrees Celsius: no flash is as hot as this.
_MAX_CELSIUS = 200
_MAX_BYTES = 16 << 20
_EXPECTED = ("expected the JSON of nvme smart-log, nvme ocp smart-add-log, nvme fdp stats, nvme endurance-log or"
             " smartctl -a")  # fmt: skip
# Attributes of SATA drives that count bytes: name, side, unit in bytes (0: the logical sector).
_ATTRIBUTES = {
    "total_lbas_written": ("host_written", 0), "total_lbas_read": ("host_read", 0),
    "host_writes_32mib": ("host_written", 32 * _MIB), "host_reads_32mib": ("host_read", 32 * _MIB),
    "host_writes_mib": ("host_written", _MIB), "host_reads_mib": ("host_read", _MIB),
    "host_writes_gib": ("host_written", _GIB), "host_reads_gib": ("host_read", _GIB),
    "lifetime_writes_gib": ("host_written", _GIB), "lifetime_reads_gib": ("host_read", _GIB),
    "total_writes_gib": ("host_written", _GIB), "total_reads_gib": ("host_read", _GIB),
    "nand_writes_32mib": ("media_written", 32 * _MIB), "nand_writes_1gib": ("media_written", _GIB),
    "nand_writes_gib": ("media_written", _GIB), "nand_gib_written": ("media_written", _GIB),
    "total_nand_writes_gib": ("media_written", _GIB),
}  # fmt: skip
_WEAR = ("percent_lifetime_remain", "media_wearout_indicator", "wear_leveling_count", "ssd_life_left")
_PAGES = (("host_program_page_count",), ("ftl_program_page_count", "bckgnd_program_page_cnt"))


@dataclass
class Amount:
    """Bytes, known to a unit."""

    bytes: int
    unit: int


@dataclass
class Log:
    """One log: what it is, whose (a serial number, if it says one), and its counters by name.

    `amounts` are `host_written`, `host_read`, `media_written`, `media_read`; `counts` grow too; `states` come and go.
    """

    kind: str
    file: str
    serial: str = ""
    amounts: dict[str, Amount] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    states: dict[str, float] = field(default_factory=dict)


def read(file: str | Path) -> Log:
    """The log in a file.

    Raises:
        ConfigError: it can't be read, or is none of the known ones.
    """
    try:
        with Path(file).open("rb") as stream:
            text = stream.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file}: {getattr(error, 'strerror', None) or error}; {_EXPECTED}") from error
    if len(text) > _MAX_BYTES:
        raise ConfigError(f"{file}: more than {_MAX_BYTES >> 20} MiB; {_EXPECTED}")
    return of_text(text, str(file))


def of_text(text: bytes | str, file: str) -> Log:
    """The log in a text.

    Raises:
        ConfigError: it is none of the known ones.
    """
    try:
        value = jsontext.loads(text)
    except jsontext.TwiceError as error:
        raise ConfigError(f"{file}: {error}; expected each key once") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: not JSON ({' '.join(str(error).split())}); {_EXPECTED}") from error
    if not isinstance(value, dict):
        raise ConfigError(f"{file}: {_EXPECTED}")
    flat = {_key(name): inner for name, inner in value.items()}
    for marks, reader in _READERS:
        if all(mark in flat for mark in marks):
            return reader(_Fields(flat, file))
    raise ConfigError(f"{file}: {_EXPECTED}")


def _key(name: str) -> str:
    """A name in one form for all versions: `Physical media units written` is `physical_media_units_written`."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


class _Fields:
    """The fields of a log, read with messages that name them."""

    def __init__(self, values: Mapping[str, Any], file: str) -> None:
        self.values = values
        self.file = file

    def number(self, *names: str) -> int | None:
        """A whole number under the first of these names that is there; None if none is."""
        name = next((one for one in names if one in self.values), None)
        if name is None:
            return None
        value = self.values[name]
        if isinstance(value, dict) and {"hi", "lo"} <= value.keys():
            high, low = (self.whole(f"{name}.{half}", value[half]) for half in ("hi", "lo"))
            return (high << 64) + low
        # Verbose logs have an object with the bits.
        return self.whole(name, value.get("value") if isinstance(value, dict) else value)

    def whole(self, name: str, value: object) -> int:
        """A number, or its digits as text, with commas or without."""
        if isinstance(value, str) and re.fullmatch(r"[\d,]+", value):
            return int(value.replace(",", ""))
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2.0**128:
            raise ConfigError(f"{self.file}: {name}: expected a number, found {json.dumps(value)[:40]}")
        return int(value)

    def fill(self, log: Log, amounts: Mapping[str, tuple[int, str]], counts: Mapping[str, tuple[str, ...]]) -> Log:
        """Takes amounts (unit and field) and counts (fields) of the log that are there."""
        for name, (unit, key) in amounts.items():
            if (value := self.number(key)) is not None:
                log.amounts[name] = Amount(value * unit, unit)
        for name, keys in counts.items():
            if (value := self.number(*keys)) is not None:
                log.counts[name] = value
        return log

    def states(self, log: Log, **names: tuple[str, ...]) -> Log:
        """Takes states that are there."""
        for name, keys in names.items():
            if (value := self.number(*keys)) is not None:
                log.states[name] = value - _KELVIN if name == "temperature_c" and value > _MAX_CELSIUS else value
        return log


def _smart(fields: _Fields, kind: str = "smart-log") -> Log:
    log = fields.fill(
        Log(kind, fields.file),
        {"host_written": (_UNIT, "data_units_written"), "host_read": (_UNIT, "data_units_read")},
        {
            "media_errors": ("media_errors",),
            "warning_minutes": ("warning_temp_time",),
            "critical_minutes": ("critical_comp_time",),
            "light_throttles": ("thm_temp1_trans_count",),
            "heavy_throttles": ("thm_temp2_trans_count",),
            "light_seconds": ("thm_temp1_total_time",),
            "heavy_seconds": ("thm_temp2_total_time",),
        },
    )
    return fields.states(
        log,
        temperature_c=("temperature",),
        percent_used=("percent_used", "percentage_used"),
        spare_percent=("avail_spare", "available_spare"),
        critical_warning=("critical_warning",),
    )


def _ocp(fields: _Fields) -> Log:
    log = fields.fill(
        Log("OCP C0h", fields.file),
        {"media_written": (1, "physical_media_units_written"), "media_read": (1, "physical_media_units_read")},
        {
            "throttling_events": (
                "number_of_thermal_throttling_events",
                "thermal_throttling_event_count",
                "num_of_thermal_throttling_events",
            )
        },
    )
    return fields.states(log, throttling_status=("current_throttling_status", "thermal_throttling_current_status"))


def _fdp(fields: _Fields) -> Log:
    return fields.fill(
        Log("FDP statistics", fields.file), {"host_written": (1, "hbmw"), "media_written": (1, "mbmw")}, {}
    )


def _endurance(fields: _Fields) -> Log:
    log = fields.fill(
        Log("endurance group", fields.file),
        {"host_written": (_BILLION, "data_units_written"), "host_read": (_BILLION, "data_units_read"),
         "media_written": (_BILLION, "media_units_written")},
        {"media_errors": ("media_data_integrity_err",)},
    )  # fmt: skip
    return fields.states(log, percent_used=("percent_used",), spare_percent=("avl_spare",),
                         critical_warning=("critical_warning",))  # fmt: skip


def _smartctl(fields: _Fields) -> Log:
    inner = fields.values["nvme_smart_health_information_log"]
    if not isinstance(inner, dict):
        raise ConfigError(f"{fields.file}: nvme_smart_health_information_log: expected an object")
    log = _smart(_Fields(inner, fields.file), "smartctl (NVMe)")
    log.serial = str(fields.values.get("serial_number", ""))
    return log


def _sata(fields: _Fields) -> Log:
    log = Log("smartctl (SATA)", fields.file, str(fields.values.get("serial_number", "")))
    sector = fields.number("logical_block_size") or 512
    rows = fields.values.get("ata_smart_attributes")
    table = rows.get("table", []) if isinstance(rows, dict) else []
    raws: dict[str, int] = {}
    for row in _rows(table):
        name, raw = _key(str(row.get("name", ""))), row.get("raw")
        value = fields.whole(f"{name}.raw.value", raw.get("value") if isinstance(raw, dict) else None)
        raws[name] = value
        if name in _ATTRIBUTES:
            side, unit = _ATTRIBUTES[name]
            log.amounts[side] = Amount(value * (unit or sector), unit or sector)
        if name in _WEAR and isinstance(row.get("value"), int):
            log.states.setdefault("percent_used", 100 - row["value"])
    host, ftl = (next((raws[name] for name in names if name in raws), None) for names in _PAGES)
    if host is not None and ftl is not None:
        log.counts |= {"host_pages": host, "ftl_pages": ftl}
    _statistics(fields, log, sector)
    temperature = fields.values.get("temperature")
    if isinstance(temperature, dict) and "current" in temperature:
        log.states["temperature_c"] = fields.whole("temperature.current", temperature["current"])
    return log


def _rows(table: object) -> list[dict[str, Any]]:
    """The objects of a list; none of anything else."""
    return [row for row in table if isinstance(row, dict)] if isinstance(table, list) else []


def _statistics(fields: _Fields, log: Log, sector: int) -> None:
    """The device statistics of a SATA drive (GP log 04h), which hold over attributes."""
    found = fields.values.get("ata_device_statistics")
    pages = found.get("pages", []) if isinstance(found, dict) else []
    for page in _rows(pages):
        for row in _rows(page.get("table")):
            name, value = _key(str(row.get("name", ""))), row.get("value")
            if value is None:
                continue
            if name in ("logical_sectors_written", "logical_sectors_read"):
                side = "host_written" if name.endswith("written") else "host_read"
                log.amounts[side] = Amount(fields.whole(name, value) * sector, sector)
            elif name == "percentage_used_endurance_indicator":
                log.states["percent_used"] = fields.whole(name, value)
            elif name == "time_in_over_temperature":
                log.counts["warning_minutes"] = fields.whole(name, value)


_READERS = (
    (("nvme_smart_health_information_log",), _smartctl),
    (("ata_smart_attributes",), _sata),
    (("ata_device_statistics",), _sata),
    (("physical_media_units_written",), _ocp),
    (("hbmw", "mbmw"), _fdp),
    (("media_units_written",), _endurance),
    (("data_units_written",), _smart),
)
