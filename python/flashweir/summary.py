"""Summary of a result on one screen of 80 columns, printed unless JSON goes to standard output."""

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from flashweir.parts import LABELS, LatencyParts, occurring, parts_of
from flashweir.plain import plain
from flashweir.quantity import shortened

_BAR_CELLS = 40
# From here on, tenths say nothing.
_LARGE = 10_000
_SCHED = (("passed", "passed"), ("suspensions", "suspended"), ("preemptions", "made way"))
# Latencies from here on are shown in a larger unit.
_MANY_US = 1e6
# Names of drives from here on are cut.
_LONG_NAME = 28
# Relative difference of over-provisioning asked for and built from which the summary warns.
_SPARE_TOLERANCE = 0.02
# Tenants in the table.
_MAX_TENANTS = 20
_PERCENTILES = ("mean", "p50", "p95", "p99", "p999", "max")


def print_result(result: Mapping[str, Any], console: Console, drive: str = "drive") -> None:
    """Prints latencies, flash operations, time shares and wear of one result.

    Args:
        result: of `simulate`.
        console: where to.
        drive: names it in the first line, with the settings that a run's figures depend on most.
    """
    if "host" in (result.get("config") or {}):
        console.print(_conditions(result["config"], drive), highlight=False, markup=False)
    console.print(_headline(result), highlight=False)
    latencies = result.get("latency_us", {})
    served = {name: row for name, row in latencies.items() if row and row.get("count", 1)}
    if served:
        console.print()
        console.print(_latency_table(served))
        console.print()
    streams = result.get("streams") or {}
    if len(streams) > 1 and all("requests" in stream for stream in streams.values()):
        console.print(_tenant_table(streams))
        console.print()
    if parts := parts_of(result):
        console.print(_parts_table(parts))
        console.print()
    lines = [
        *_fairness_lines(result),
        *_allocation_lines(result),
        *_unmapped_lines(result),
        *_flash_lines(result),
        *_slc_lines(result),
        *_host_lines(result),
        *_sched_lines(result),
        *_wear_lines(result),
        *_power_lines(result),
    ]
    width = max((len(label) for label, _ in lines), default=0)
    for label, text in lines:
        console.print(f"{label:<{width}}  {text}", highlight=False, markup=False)
    if levels := (result.get("allocation") or {}).get("levels"):
        console.print()
        console.print(_level_table(levels))
    for entry in result.get("no_effect") or ():
        console.print(f"no effect: {entry['keys']}: {entry['reason']}", highlight=False, markup=False, soft_wrap=True)
    if explained := result.get("explain"):
        from flashweir.tails import print_tails

        print_tails(explained, console)
    for title, shares in _shares(result):
        console.print(f"\n{title}", highlight=False, markup=False)
        _print_bars(shares, console)


def print_latencies(latencies: Mapping[str, Mapping[str, Any]], console: Console) -> None:
    """Prints a table of latencies: a row an operation, in a unit that suits them all."""
    console.print()
    console.print(_latency_table(latencies))
    console.print()


def print_fields(fields: Mapping[str, Any], console: Console, indent: int = 0) -> None:
    """Prints a JSON object as aligned lines, objects within it indented."""
    width = max((len(key) for key in fields), default=0)
    for key, value in fields.items():
        label = f"{' ' * indent}{key:<{width}}"
        if isinstance(value, Mapping) and value:
            console.print(label.rstrip(), highlight=False, markup=False)
            print_fields(value, console, indent + 2)
        else:
            console.print(f"{label}  {plain(value)}", highlight=False, markup=False, soft_wrap=True)


def print_paragraphs(rows: Iterable[tuple[str, str]], console: Console) -> None:
    """Prints names with a text beside each, wrapped to the width of the console."""
    rows = list(rows)
    indent = max((len(name) for name, _ in rows), default=0) + 2
    for name, text in rows:
        wrapped = textwrap.fill(
            text, max(console.width, indent + 20), initial_indent=f"{name:<{indent}}", subsequent_indent=" " * indent
        )
        console.print(wrapped, highlight=False, markup=False)


def _conditions(config: Mapping[str, Any], drive: str) -> str:
    """Drive, mode, queue depth and precondition of a run."""
    host = config["host"]
    if host["mode"] == "closed":
        mode = f"closed loop, queue depth {host['queue_depth']}"
    else:
        slots = "" if host.get("slots", "none") == "none" else f", {host['slots']} slots"
        mode = f"open loop{slots}"
    shown = drive if len(drive) <= _LONG_NAME else f"{drive[: _LONG_NAME - 3]}..."
    fill = config.get("fill", 1.0)
    share = f", fill {fill:.4g}" if fill < 1 else ""
    return f"{shown}, {shortened(str(config['capacity']))}: {mode}, precondition {config['precondition']}{share}"


def _headline(result: Mapping[str, Any]) -> str:
    parts = [f"{result['requests']:,} requests in {_seconds(result['simulated_s'])} of simulated time"]
    if "iops" in result and result["iops"] is not None:
        parts.append(f"{result['iops']:,.0f} IOPS, {result.get('bandwidth_mib_s') or 0:,.1f} MiB/s")
    if warmup := result.get("warmup"):
        removed = f"{warmup['requests']:,} of {warmup['of_requests']:,} requests removed as warm-up"
        outcome = removed if warmup["found"] else "no end of the warm-up found, nothing removed"
        parts.append(f"{outcome} ({warmup['method']})")
    if "wall_s" in result:
        parts.append(f"simulated in {_seconds(result['wall_s'])}")
    return "\n".join(parts)


def _latency_table(latencies: Mapping[str, Mapping[str, Any]]) -> Table:
    unit, divisor = _unit(number for row in latencies.values() for name in _PERCENTILES if (number := row.get(name)))
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(f"latency, {unit}")
    columns = [name for name in _PERCENTILES if any(name in row for row in latencies.values())]
    for name in columns:
        table.add_column("p99.9" if name == "p999" else name, justify="right")
    for operation, row in latencies.items():
        numbers = (row.get(name) for name in columns)
        table.add_row(_escape(operation), *(_number(None if n is None else n / divisor) for n in numbers))
    return table


def _tenant_table(streams: Mapping[str, Mapping[str, Any]]) -> Table:
    """A row a tenant: what it did, how long it waited, and how much longer than alone if that is known."""
    shown = list(streams.items())[:_MAX_TENANTS]

    def latency(stream: Mapping[str, Any], operation: str, key: str) -> float | None:
        return ((stream["latency_us"].get(operation) or {}).get(key)) or None

    columns = [(op, key) for op in ("read", "write") for key in ("mean", "p99")]
    unit, divisor = _unit(value for _, one in shown for column in columns if (value := latency(one, *column)))
    slower = any(stream.get("slowdown") for _, stream in shown)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(f"tenant, {unit}", no_wrap=True, max_width=16)
    heads = [
        "requests",
        *(op if key == "mean" else key for op, key in columns),
        "MiB/s",
        *(["slower"] if slower else []),
    ]
    for head in heads:
        table.add_column(head, justify="right")
    for name, stream in shown:
        values = (latency(stream, *column) for column in columns)
        cells = [f"{stream['requests']:,}", *(_number(None if v is None else v / divisor) for v in values)]
        cells.append(_number(stream.get("bandwidth_mib_s")))
        if slower:
            factor = (stream.get("slowdown") or {}).get("all")
            cells.append("-" if factor is None else f"{factor:,.2f} x")
        table.add_row(_escape(name), *cells)
    if len(streams) > len(shown):
        table.add_row(f"and {len(streams) - len(shown):,} more", *("" for _ in heads))
    return table


def _fairness_lines(result: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    fairness = result.get("fairness")
    if len(result.get("streams") or {}) > 1 and fairness and fairness.get("jain") is not None:
        slowest = f"at most {fairness['max_slowdown']:,.2f} times slower than alone"
        yield "fairness (Jain)", f"{fairness['jain']:.3f}, {slowest}"


def _allocation_lines(result: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    if found := result.get("allocation"):
        text = f"{found['windows']:,} windows, {found['changes']:,} changes, {found['spilled_pages']:,} pages spilled"
        yield "allocation", text
        if "wall_s" in found:
            yield (
                "allocator",
                f"{_seconds(found['wall_s'])}, a window at most {_seconds(found['longest_wall_s'])}",
            )


def _unmapped_lines(result: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Reads that cost nothing, as nothing is there: never written on a drive that began empty, or trimmed."""
    unmapped = result.get("unmapped_reads") or {}
    if pages := unmapped.get("pages"):
        yield "reads of nothing", f"{unmapped['share']:.2%} of the pages read ({pages:,}), without flash"


def _level_table(levels: Iterable[Mapping[str, Any]]) -> Table:
    """Windows by how many requests they had, and how many of the channels took writes then."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for head in ("level", "windows", "write channels"):
        table.add_column(head, justify="right")
    for level in levels:
        table.add_row(f"{level['level']:,}", f"{level['windows']:,}", f"{level['write_channel_share']:.1%}")
    return table


def _unit(latencies_us: Iterable[float]) -> tuple[str, float]:
    """A unit in which latencies are readable, and how many us it has."""
    longest = max(latencies_us, default=0.0)
    return ("us", 1.0) if longest < _MANY_US else ("ms", 1e3) if longest < 1e3 * _MANY_US else ("s", 1e6)


def _parts_table(parts: Mapping[str, LatencyParts]) -> Table:
    """Where the latency of each operation went; parts that are 0 for all are left out."""
    unit, divisor = _unit(one.total for one in parts.values())
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("latency breakdown")
    for operation in parts:
        table.add_column(f"{_escape(operation)}, {unit}", justify="right")
        table.add_column("", justify="right")
    for name in occurring(parts):
        cells = []
        for one in parts.values():
            cells += [_number(one.by_name()[name] / divisor), f"{one.shares()[name]:.1%}"]
        table.add_row(LABELS[name], *cells)
    table.add_row("mean", *(text for one in parts.values() for text in (_number(one.total / divisor), "")))
    return table


def _flash_lines(result: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    if result.get("write_amplification") is not None:
        yield "write amplification", f"{result['write_amplification']:.4f}"
    if flash := result.get("flash"):
        counts = (f"{flash[name]:,} {name}" for name in ("reads", "programs", "erases") if name in flash)
        yield "flash operations", ", ".join(counts)
    if (drain := result.get("drain")) and drain["pages"]:
        yield "buffer drained", f"{drain['pages']:,} pages in {_seconds(drain['time_s'])} after the last request"
    if geometry := result.get("geometry"):
        pages = f"{geometry['logical_pages']:,} logical of {geometry['physical_pages']:,} pages"
        yield "drive", f"{pages}, {geometry['units']:,} units"
        if (note := _spare_note(geometry.get("spare") or {}, geometry.get("bad_blocks", 0))) is not None:
            yield "over-provisioning", note
    if activity := result.get("activity"):
        bins = f"{len(activity['dirty_pages']):,} bins of {_seconds(activity['bin_s'])} a channel"
        yield "activity", f"{bins}: --json writes them"


def _slc_lines(result: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    if not (slc := result.get("slc")):
        return
    pages = (f"{slc[f'{name}_pages']:,} {name}" for name in ("written", "direct", "folded", "overwritten"))
    yield "SLC cache, pages", ", ".join(pages)
    yield "SLC cache, at the end", f"{slc['valid_pages']:,} pages valid, room for {slc['room_pages']:,}"


def _spare_note(spare: Mapping[str, Any], bad_blocks: int) -> str | None:
    """Warns where the drive has more or less over-provisioning than was asked for."""
    if not spare or abs(spare["got"] - spare["asked"]) <= max(_SPARE_TOLERANCE * spare["asked"], 1e-4):
        return None
    asked, got = (f"{spare[name]:.4g}" for name in ("asked", "got"))
    why = f"{bad_blocks:,} blocks are bad" if bad_blocks else "blocks are whole (more blocks a unit come closer)"
    return f"warning: {spare['key']} is {got}, not {asked}: {why}"


def _host_lines(result: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    host = result.get("host")
    if not host:
        return
    link, firmware, hmb = host["link"], host["firmware"], host["hmb"]
    if link["read_bytes"] or link["write_bytes"]:
        shares = ((link["read_share"] or 0, "to the host"), (link["write_share"] or 0, "to the drive"))
        yield "link busy", ", ".join(f"{share:.1%} {way}" for share, way in shares)
    if firmware["cores"]:
        cores = "1 core" if firmware["cores"] == 1 else f"{firmware['cores']:,} cores"
        yield "firmware busy", f"{firmware['share'] or 0:.1%} of {cores}"
    if hmb["lookups"]:
        yield "map in the host's memory", f"{hmb['misses']:,} of {hmb['lookups']:,} look-ups missed"


def _sched_lines(result: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    if sched := result.get("sched"):
        counts = ((sched.get(key) or 0, what) for key, what in _SCHED)
        yield "commands", ", ".join(f"{count:,} {what}" for count, what in counts if count) or "none was passed"
        longest = (f"{name} {_number(sched[f'longest_{name}_wait_us'])} us" for name in ("read", "write"))
        yield "longest wait for a die", ", ".join(longest)


def _wear_lines(result: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    wear = result.get("wear")
    if isinstance(wear, Mapping):
        parts = (f"{name} {_number(wear[name])}" for name in ("min", "mean", "max", "stddev"))
        yield "wear (erases a block)", ", ".join(parts)


def _power_lines(result: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    if cuts := result.get("power_cuts"):
        for label, key in (
            ("acknowledged sectors lost", "acknowledged_sectors_lost"),
            ("writes out of order", "violations"),
            ("torn requests", "torn_requests"),
        ):
            figures = cuts[key]
            yield label, f"{_number(figures['mean'])} on average, at most {figures['max']:,}"
        yield "flushed sectors lost", f"{cuts['flushed_sectors_lost']:,}"
        yield "a prefix survives", f"{cuts['prefixes']:,} of {cuts['cuts']:,} power cuts"


def _shares(result: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, float]]]:
    for key, title in (("time_share", "die time"), ("bus_time_share", "bus time")):
        shares = result.get(key)
        if isinstance(shares, Mapping) and shares:
            yield title, shares


def _print_bars(shares: Mapping[str, float], console: Console) -> None:
    ascii_only = console.options.ascii_only
    width = max(len(name) for name in shares)
    for name, share in shares.items():
        full = ("#" if ascii_only else "█") * round(share * _BAR_CELLS)
        console.print(f"  {name:<{width}}  {share:6.1%}  {full}".rstrip(), highlight=False, markup=False)


def _seconds(value: float) -> str:
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= scale:
            return f"{value / scale:,.3g} {unit}" if value < 1000 * scale else f"{value:,.0f} s"
    return f"{value * 1e9:.0f} ns"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.1f}" if abs(value) < _LARGE else f"{value:,.0f}"


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)
