"""`flashweir collect`: the requests that a running system makes of a drive, as a trace."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flashweir import collecting
from flashweir._native import ConfigError
from flashweir.cli.common import Json, console, write_json
from flashweir.cli.derived import takes
from flashweir.cli.health import print_health
from flashweir.cli.outputs import Force, check_outputs
from flashweir.healthlogs.around import Health
from flashweir.notices import is_quiet
from flashweir.options.option import Row, as_spec, defaults_of

if TYPE_CHECKING:
    from rich.console import Console

    from flashweir.results.section import Section

_KIB = 1024


@takes(collecting.collect)
def collect(
    device: Annotated[
        str,
        typer.Argument(metavar="DEVICE", help="A drive or a partition, such as /dev/nvme0n1."),
        Row("a drive or a partition, such as `/dev/nvme0n1`; it is only watched"),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="The trace; its suffix says the format: .parquet."),
        Row("the trace; its suffix says the format, and `.parquet` keeps everything"),
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- CMD ...]", help="Collect until this command has ended."),
        Row("runs a command, whose end is that of the collection"),
    ] = None,
    shell: Annotated[
        str | None,
        typer.Option("--command", metavar="TEXT", help="Shell command instead of CMD."),
        Row("runs a text by the shell, whose end is that of the collection"),
    ] = None,
    json_to: Json = None,
    force: Force = False,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Record the requests that this system makes of a drive, below the file system."""
    outputs: dict[str, str | Path | None] = {"-o": output, "--json": json_to}
    check_outputs(outputs, [], force=force, kinds={"-o": "trace"}, files=["-o"])
    if command and shell is not None:
        raise ConfigError("--command: there is a command behind -- already; expected one of them")
    words = ["/bin/sh", "-c", shell] if shell is not None else list(command or [])
    watch = Health(device, options.pop("health_before", None), options.pop("health_after", None))
    line = _Line()
    try:
        summary = collecting.collect_all(
            device,
            output,
            watch,
            command=words,
            progress=line.update,
            **as_spec(collecting.collect, {**defaults_of(collecting.collect), **options}),
        )
    finally:
        line.clear()
    if json_to is not None:
        write_json(summary.to_dict(), json_to)
    if json_to != "-":
        _print(summary, console())
        print_health(summary["health"], console())
    collecting.refuse_losses(summary, options.get("allow_drops", False))


class _Line:
    """Progress in one line on standard error, where that is a terminal."""

    def __init__(self) -> None:
        self._shown = False

    def update(self, state: dict[str, Any]) -> bool:
        if sys.stderr.isatty() and not is_quiet():
            self._shown = True
            if state["phase"] == "write":
                text = f"writing {100 * (state['fraction'] or 0):.0f}%"
            else:
                lost = f", {state['lost']:,} events LOST" if state["lost"] else ""
                text = f"{state['elapsed_s']:.0f} s, {state['done']:,} requests{lost}; Ctrl-C ends it"
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        return True

    def clear(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _print(summary: "Section", console: "Console") -> None:
    """The summary on a few lines."""
    where = f"{summary['device']} from {summary['sectors_count_from']} start"
    if summary["first_sector"]:
        where += f" (the partition starts at sector {summary['first_sector']:,})"
    ended = {
        "duration": "its time was over",
        "command": f"the command ended ({summary['command_status']})",
        "stop": "it was stopped on request",
        "failure": "it failed",
    }
    rows = [
        ("collected", f"{where} by {summary['method']}: {summary['method_because']}"),
        ("requests", f"{summary['requests']:,} and {summary['flushes']:,} flushes"),
        ("reads", f"{summary['reads']:,}, {_size(summary['read_bytes'])}"),
        ("writes", f"{summary['writes']:,}, {_size(summary['written_bytes'])}"),
        ("discards", f"{summary['trims']:,}, {_size(summary['trimmed_bytes'])}"),
        ("duration", f"{summary['duration_s']:.3f} s from first to last request; {ended[summary['ended_by']]}"),
        ("in flight", f"{summary['in_flight']:,} at the end"),
        ("lost", f"{summary['lost_events']:,} events"),
        ("written to", f"{summary['output']} ({summary['format']})"),
        *[("note", note) for note in summary["notes"]],
    ]
    for name, text in rows:
        console.print(f"{name:<10}  {text}", highlight=False, markup=False, soft_wrap=True)


def _size(count: int) -> str:
    """Bytes in the largest unit that leaves a number of one or more."""
    value, units = float(count), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while value >= _KIB and len(units) > 1:
        value, units = value / _KIB, units[1:]
    return f"{count:,} bytes" if units[0] == "bytes" else f"{value:,.1f} {units[0]}"
