"""FEMU's options of `-device femu` (Li et al., FAST 2018), or the script that has them, by what its code does."""

import re
from pathlib import Path

from flashweir._native import ConfigError
from flashweir.importing.model import Entry, shown
from flashweir.importing.source import Source, read, size, time

_VARIABLE = re.compile(r"^\s*(?P<key>[A-Za-z_]\w*)=(?P<value>[^\s#\"']+)", re.MULTILINE)
_OPTION = re.compile(r",(?P<key>[A-Za-z_]\w*)=(?P<value>[^,\s\"'\\]+)")
_REFERENCE = re.compile(r"\$\{?(\w+)\}?")
# Values of FEMU for options that are not given.
DEFAULTS = {"devsz_mb": "1024", "femu_mode": "1", "secsz": "512", "secs_per_pg": "8", "pgs_per_blk": "256",
            "blks_per_pl": "256", "pls_per_lun": "1", "luns_per_ch": "8", "nchs": "8", "pg_rd_lat": "40000",
            "pg_wr_lat": "200000", "blk_er_lat": "2000000", "ch_xfer_lat": "0", "gc_thres_pcent": "75",
            "gc_thres_pcent_high": "95", "namespaces": "1", "queues": "8", "entries": "2047", "mdts": "10",
            "multipoller_enabled": "0"}  # fmt: skip
_PROTOCOL = ("serial", "id", "max_cqes", "max_sqes", "stride", "aerl", "acl", "elpe", "cqr", "vwc", "intc",
             "intc_thresh", "intc_time", "ms", "ms_max", "dlfeat", "mpsmin", "mpsmax", "nlbaf", "lba_index", "extended",
             "dpc", "dps", "mc", "meta", "cmbsz", "cmbloc", "oacs", "oncs", "vid", "did")  # fmt: skip
_OTHER_MODES = ("flash_type", "lver", "lsec_size", "lsecs_per_pg", "lpgs_per_blk", "lmax_sec_per_rq", "lnum_ch",
                "lnum_lun", "lnum_pln", "lmetasize", "zns_num_ch", "zns_num_lun", "zns_read", "zns_write")  # fmt: skip
_BLACK_BOX = "1"
_MAX_COUNT = 1 << 31
_NAMES = 255
# Smallest page of memory of a controller, which mdts is a power of two of.
_MEMORY_PAGE = 4096


def convert(text: str) -> list[Entry]:
    """The table of a script, or of options as a text."""
    file, given = _options(text)
    source = Source(file, given, DEFAULTS)
    if source.text("femu_mode") != _BLACK_BOX:
        raise source.wrong("femu_mode", "1: the black-box drive (others have no flash translation layer in the drive)")
    source.same("femu_mode", None, "a black-box drive")
    _geometry(source)
    _times(source)
    _host(source)
    return source.finish()


def _options(text: str) -> tuple[str, dict[str, str]]:
    """The name for messages, and the options by key."""
    is_file = "=" not in text or (len(text) < _NAMES and Path(text).is_file())
    content = read(text) if is_file else text
    variables = {found["key"]: found["value"] for found in _VARIABLE.finditer(content)} if is_file else {}
    lines = [line.partition("#")[0] for line in content.splitlines()]
    if is_file:
        lines = [line for line in lines if "femu" in line.lower()]
    given: dict[str, str] = {}
    for line in lines:
        _, mark, after = line.partition("-device femu")
        options = after.split(" ")[0] if mark else line.strip().removeprefix("femu")
        for found in _OPTION.finditer(options if options.startswith(",") or is_file else f",{options}"):
            given[found["key"]] = _REFERENCE.sub(lambda name: variables.get(name[1], name[0]), found["value"])
    if not given:
        raise ConfigError(f"{shown(text)}: no option of FEMU; expected a script with `-device femu,devsz_mb=...`, or"
                          " such options")  # fmt: skip
    return text if is_file else "options", given


def _geometry(source: Source) -> None:
    sector, sectors = source.whole("secsz", 512, 4096), source.whole("secs_per_pg", 1, 512)
    if sector % 512 or sector * sectors > 256 << 10:
        raise source.wrong("secsz", "a multiple of 512, and pages of at most 256 KiB")
    page = {"page": size(sector * sectors)}
    source.same("secsz", page, "bytes of a sector")
    source.same("secs_per_pg", page, "sectors of a page")
    names = {"pgs_per_blk": "pages_per_block", "blks_per_pl": "blocks_per_unit", "pls_per_lun": "planes",
             "luns_per_ch": "dies", "nchs": "channels"}  # fmt: skip
    raw = sector * sectors
    for key, name in names.items():
        count = source.whole(key, 1, _MAX_COUNT)
        raw *= count
        source.same(key, {name: count})
    logical = source.whole("devsz_mb", 1, _MAX_COUNT) << 20
    if logical >= raw:
        raise source.wrong("devsz_mb", f"less than the {raw >> 20} MiB of flash that its other options make")
    source.same("devsz_mb", {"op_raw": 1 - logical / raw}, f"MiB for the host, of {raw >> 20} MiB of flash")


def _times(source: Source) -> None:
    for key, name in (("pg_rd_lat", "timing.read"), ("pg_wr_lat", "timing.program"), ("blk_er_lat", "timing.erase")):
        source.same(key, {name: time(source.whole(key, 0, _MAX_COUNT))})
    channel = source.whole("ch_xfer_lat", 0, _MAX_COUNT)
    source.same("ch_xfer_lat", {"timing.bus": 0.0}, "" if not channel else "FEMU ignores it: channels take no time")
    lines = source.whole("blks_per_pl", 1)
    soon, must = (source.whole(key, 1, 100) for key in ("gc_thres_pcent", "gc_thres_pcent_high"))
    kept = int((100 - must) / 100 * lines) + 1
    spare = int((1 - (source.whole("devsz_mb") << 20) / _raw(source)) * lines)
    cut = max(1, min(kept, spare - 1))
    source.part("gc_thres_pcent_high", {"gc.free_blocks": cut}, "blocks of each unit that stay erased; FEMU collects"
                " lines, a block of every unit, at once")  # fmt: skip
    early = int((100 - soon) / 100 * lines) + 1
    below = max(0, min(early, spare) - cut)
    source.part("gc_thres_pcent", {"background.collect.should_below": below}, "between the commands of others; FEMU"
                " collects a line after any request if an eighth of it is invalid")  # fmt: skip


def _raw(source: Source) -> int:
    total = 1
    for key in ("secsz", "secs_per_pg", "pgs_per_blk", "blks_per_pl", "pls_per_lun", "luns_per_ch", "nchs"):
        total *= source.whole(key, 1)
    return total


def _host(source: Source) -> None:
    queues, entries = source.whole("queues", 1, 65_535), source.whole("entries", 1, 65_535)
    source.same("queues", {"host.queues": str(queues)} if "queues" in source.given else None)
    source.same("entries", {"host.queue_entries": str(entries + 1)} if "entries" in source.given else None,
                "the largest index")  # fmt: skip
    transfer = source.whole("mdts", 0, 20)
    if "mdts" in source.given:
        ours = {"host.max_transfer": size(_MEMORY_PAGE << transfer) if transfer else "0B"}
        source.same("mdts", ours, "a power of two of 4 KiB")
    if source.whole("namespaces", 1, 1024) == 1:
        source.same("namespaces", None, "one")
    else:
        source.none("namespaces", "a drive has one: tenants with a volume each are the nearest")
    source.none("multipoller_enabled", "threads of the emulator")
    for key in _PROTOCOL:
        source.same(key, None, "no effect on times")
    for key in _OTHER_MODES:
        source.same(key, None, "no effect in FEMU in black-box mode")
