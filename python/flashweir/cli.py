"""The command `flashweir`: options in, one call of the API, a summary or JSON out.

Every failure is one line on standard error that starts with `error:`; the exit code is 2 for bad input, 1 for a run
that failed, 130 for Ctrl-C. Modules that take time or memory are imported where they are used.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from flashweir import _native, api
from flashweir._native import ConfigError, FlashweirError, TraceError
from flashweir.cli_report import register as register_report
from flashweir.progress import bar_on_terminal
from flashweir.result import Result, Section

if TYPE_CHECKING:
    from rich.console import Console

BAD_INPUT, FAILED, INTERRUPTED = 2, 1, 130

T = TypeVar("T")

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=False,
    help="Simulates multichannel SSDs under real block traces.",
)
trace_app = typer.Typer(rich_markup_mode=None, help="Reads, converts and generates traces.")
app.add_typer(trace_app, name="trace")

Format = Annotated[str | None, typer.Option("--format", metavar="F", help="Trace format, instead of detecting it.")]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="C", help="Any other table: time=3:us,op=1,lba=4:bytes,size=5:bytes"),
]
SkipBad = Annotated[
    int, typer.Option("--skip-bad", metavar="N", min=0, max=2**63, help="Unreadable lines to tolerate.")
]
Json = Annotated[str | None, typer.Option("--json", metavar="FILE|-", help="Write the result as JSON; - is stdout.")]


class Stopped(Exception):
    """Ctrl-C; the message says what was done until then."""


@app.callback(invoke_without_command=True)
def top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Prints the version, or the help where no command is given."""
    if version:
        typer.echo(f"flashweir {_native.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


@app.command()
def simulate(
    workload: Annotated[
        str | None,
        typer.Argument(metavar="WORKLOAD", help="A trace file, or a generator such as random:count=100000"),
    ] = None,
    device: Annotated[
        str | None, typer.Option("--device", metavar="PRESET|FILE", help="A preset, or a TOML or JSON file.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set a key of the drive; may be repeated."),
    ] = None,
    json_to: Json = None,
    requests: Annotated[
        Path | None, typer.Option("--requests", metavar="F.parquet", help="Write a log of every request.")
    ] = None,
    timeline: Annotated[
        Path | None, typer.Option("--timeline", metavar="F", help="Write a Perfetto trace of dies and buses.")
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Check that every read returns the last write.")] = False,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", min=0, max=2**64 - 1, help="Replace every seed.")
    ] = None,
    format: Format = None,
    columns: Columns = None,
    skip_bad: SkipBad = 0,
    wrap: Annotated[bool, typer.Option("--wrap", help="Fold addresses beyond the drive into it.")] = False,
    streams: Annotated[
        list[str] | None,
        typer.Option("--workload", metavar="NAME=SPEC", help="A named stream; may be repeated."),
    ] = None,
) -> None:
    """Run a workload through a simulated drive."""
    workloads = _workloads(workload, streams or [])
    outputs = {"--json": json_to, "--requests": requests, "--timeline": timeline}
    check_outputs(outputs, [device, *([workload] if workload else []), *(streams or [])])
    overrides = dict(_pair(text, "--set", "KEY=VALUE") for text in settings or [])

    def run(progress: api.Progress | None) -> Result:
        return api.simulate(
            workloads,
            device,
            seed=seed,
            verify=verify,
            requests=requests or False,
            timeline=timeline,
            format=format,
            columns=columns,
            skip_bad=skip_bad,
            wrap=wrap,
            progress=progress,
            set=overrides,
        )

    result = _watched(run)
    if json_to is not None:
        write_json(result.to_dict(), json_to)
        return
    from flashweir.summary import print_result

    print_result(result, _console())


@app.command()
def presets(json_to: Json = None) -> None:
    """List the drives that have a name."""
    check_output("--json", json_to)
    found = [preset.to_dict() for preset in api.presets()]
    if json_to is not None:
        write_json(found, json_to)
        return
    from flashweir.summary import print_paragraphs

    print_paragraphs(((preset["name"], preset["source"]) for preset in found), _console())


@app.command()
def schema(
    refusals: Annotated[
        bool, typer.Option("--refusals", help="Print the combinations of keys that are refused, and why.")
    ] = False,
) -> None:
    """Print every key of a drive as JSON Schema, with defaults and units."""
    write_json([refusal.to_dict() for refusal in api.refusals()] if refusals else api.schema(), "-")


@trace_app.command("info")
def trace_info(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="A trace file.")],
    json_to: Json = None,
    format: Format = None,
    columns: Columns = None,
    skip_bad: SkipBad = 0,
) -> None:
    """Say what a trace holds, and what was assumed to read it."""
    check_output("--json", json_to)

    def run(progress: api.Progress | None) -> Section:
        return api.trace_info(trace, format=format, columns=columns, skip_bad=skip_bad, progress=progress)

    _show(_watched(run), json_to)


@trace_app.command("convert")
def trace_convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="A trace file.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="The file to write; its suffix says the format.")],
    to: Annotated[str | None, typer.Option("--to", metavar="FORMAT", help="Format to write.")] = None,
    format: Format = None,
    columns: Columns = None,
    skip_bad: SkipBad = 0,
) -> None:
    """Write a trace in another format."""

    def run(progress: api.Progress | None) -> Section:
        return api.trace_convert(
            source, target, to=to, format=format, columns=columns, skip_bad=skip_bad, progress=progress
        )

    done = _watched(run)
    _show(done, None)
    _warn_of_left_out(done)


@trace_app.command("generate")
def trace_generate(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A generator, such as zipf:count=100000,theta=0.9")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="The file to write; its suffix says the format.")],
    to: Annotated[str | None, typer.Option("--to", metavar="FORMAT", help="Format to write.")] = None,
) -> None:
    """Write a generator's requests as a trace."""
    done = _watched(lambda progress: api.trace_generate(spec, target, to=to, progress=progress))
    _show(done, None)
    _warn_of_left_out(done)


register_report(app)


def main() -> NoReturn:
    """Runs the command line; the only way out is an exit code."""
    try:
        code = app(standalone_mode=False) or 0
        sys.stdout.flush()
    except typer.TyperException as error:
        code = fail(error.format_message(), BAD_INPUT)
    except (ConfigError, TraceError) as error:
        code = fail(str(error), BAD_INPUT)
    except FlashweirError as error:
        code = fail(str(error), FAILED)
    except (Stopped, KeyboardInterrupt) as error:
        code = fail(f"stopped by Ctrl-C{': ' if str(error) else ''}{error}", INTERRUPTED)
    except BrokenPipeError:
        # The reader has gone, as in `flashweir schema | head`. Nothing is left to say, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FAILED
    except OSError as error:
        code = fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), FAILED)
    except Exception as error:  # noqa: BLE001 - a traceback helps nobody who runs a command
        code = fail(f"internal error, please report it: {type(error).__name__}: {error}", FAILED)
    sys.exit(code)


def fail(message: str, code: int) -> int:
    """Prints the one line that says what is wrong, and passes the exit code through."""
    print("error:", " ".join(message.split()), file=sys.stderr)
    return code


def check_output(option: str, target: str | Path | None) -> None:
    """Refuses, before a long run, a file that can't be written after it."""
    if target is None or target == "-":
        return
    path = Path(target)
    if path.is_dir():
        raise ConfigError(f"{option} {path}: that is a folder")
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"{option} {path}: there is no folder {path.parent}")


def check_outputs(outputs: Mapping[str, str | Path | None], inputs: Sequence[str | None]) -> None:
    """Refuses outputs that can't be written, or that would replace one another or what the run reads."""
    taken = {Path(text.partition("=")[2] or text).resolve(): text for text in inputs if text}
    for option, target in outputs.items():
        check_output(option, target)
        if target is None or str(target) == "-":
            if target is not None and option != "--json":
                raise ConfigError(f"{option} -: expected the name of a file; only --json goes to standard output")
            continue
        place = Path(target).resolve()
        if place in taken and (place.is_file() or not place.exists()):
            raise ConfigError(
                f"{option} {target}: expected a file of its own: {taken[place]} is read or written already"
            )
        taken[place] = str(target)


def write_json(value: object, target: str) -> None:
    """Writes JSON to standard output (`-`), or to a file that appears when it is complete.

    What is no file (a pipe, `/dev/null`) is written as it is, and a link is followed.
    """
    text = json.dumps(value, indent=2) + "\n"
    if target == "-":
        sys.stdout.write(text)
        return
    path = Path(target).resolve()
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8") as stream:
            stream.write(text)
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _show(fields: Section, json_to: str | None) -> None:
    if json_to is not None:
        write_json(fields.to_dict(), json_to)
        return
    from flashweir.summary import print_fields

    print_fields(fields.to_dict(), _console())


def _warn_of_left_out(written: Section) -> None:
    """Says in one line on standard error which requests the format that was written has no operation for."""
    counts = []
    for tally in written["not_written"]:
        count, name = tally["count"], tally["reason"]
        counts.append(f"{count} {name}{'' if count == 1 else 'es' if name.endswith('sh') else 's'}")
    if counts:
        print(f"left out: {', '.join(counts)}: {written['written_as']} has no such operation", file=sys.stderr)


def _watched(run: Callable[[api.Progress | None], T]) -> T:
    """Runs until done or Ctrl-C, with a progress bar where there is a terminal to draw it on."""
    bar = bar_on_terminal()
    try:
        if bar is None:
            return run(None)
        with bar:
            return run(bar.update)
    except KeyboardInterrupt as interrupt:
        raise Stopped(str(interrupt)) from interrupt


def _workloads(single: str | None, named: list[str]) -> dict[str, Any] | str:
    if single is not None and named:
        raise ConfigError("a WORKLOAD and --workload exclude each other: name every stream with --workload")
    if single is not None:
        return single
    if not named:
        raise ConfigError("no workload: give a trace file or a generator, such as random:count=100000")
    streams: dict[str, Any] = {}
    for text in named:
        name, spec = _pair(text, "--workload", "NAME=SPEC")
        if name in streams:
            raise ConfigError(f"--workload {name} is given twice")
        streams[name] = spec
    return streams


def _pair(text: str, option: str, shape: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (equals and name.strip()):
        raise ConfigError(f"{option} {text}: expected {shape}")
    return name.strip(), value


def _console() -> "Console":
    from rich.console import Console

    return Console()
