"""The command `flashweir`: options in, one call of the API, a summary or JSON out. A file a command.

Every failure is one line on standard error that starts with `error:`; the exit code is 2 for bad input, 1 for a run
that failed, 130 for Ctrl-C. Modules that take time or memory are imported where they are used.
"""

import errno
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated, NoReturn

import typer

from flashweir import _native, arguments, notices
from flashweir._native import ConfigError, DeviceError, FlashweirError, TraceError
from flashweir.answers import one_line
from flashweir.cli import coercion, completion, streams
from flashweir.cli.common import Stopped, quietly
from flashweir.whole import STANDARD

BAD_INPUT, FAILED, INTERRUPTED = 2, 1, 130

# Every command: the module and the function, which are imported where the command is called.
COMMANDS = {
    "simulate": "simulate:simulate",
    "sweep": "sweep:sweep",
    "compare": "compare:compare",
    "lifetime": "lifetime:lifetime",
    "bench": "bench:bench",
    "report": "report:report",
    "bundle": "bundle:bundle",
    "check-bundle": "bundle:check_bundle",
    "reproduce": "reproduce:reproduce",
    "collect": "collect:collect",
    "replay": "replay:replay",
    "serve": "serve:serve",
    "ctl": "ctl:ctl",
    "watch": "watch:watch",
    "probe": "probe:probe",
    "fit": "fit:fit",
    "search": "search:search",
    "diagnose": "diagnose:diagnose",
    "import": "import_:import_configuration",
    "presets": "drives:presets",
    "schema": "drives:schema",
    "completion": "completion:completion",
    "trace": "trace:trace_app",
}

# Commands that are no more, and where their work is done.
MOVED = {
    "train-allocator": "the model of tenants.channels=learned is learned in the source tree, by `just learn-allocator"
    " MODEL.json` (research/allocators/README.md)",
}


def application(names: Iterable[str] = tuple(COMMANDS)) -> typer.Typer:
    """The command line with these commands, and the modules of no other."""
    made = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=False,
        help="Simulates multichannel SSDs under real block traces.",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in names:
        module, _, function = COMMANDS[name].partition(":")
        command = getattr(import_module(f"flashweir.cli.{module}"), function)
        if isinstance(command, typer.Typer):
            made.add_typer(command, name=name)
        else:
            made.command(name)(quietly(command))
    made.callback(invoke_without_command=True)(top)
    return made


def _asked(given: Sequence[str]) -> Sequence[str]:
    """The command that a command line calls; all where it calls none, or asks for help or completions."""
    first = next((word for word in given if word not in ("--quiet", "-q")), "")
    if first == "--version":
        return ()
    return (first,) if first in COMMANDS and completion.VARIABLE not in os.environ else tuple(COMMANDS)


def top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="The same as after the command.")] = False,
) -> None:
    """Prints the version, or the help where no command is given."""
    if quiet:
        notices.be_quiet()
    if version:
        typer.echo(f"flashweir {_native.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


def main() -> NoReturn:
    """Runs the command line; the only way out is an exit code."""
    streams.prepare()
    completion.prepare()
    coercion.install()
    arguments.from_command_line(sys.argv[1:])
    notices.to_standard_error()
    try:
        words = streams.with_standard(sys.argv[1:])
        _check_empty(words)
        _check_moved(words)
        app = application(_asked(words))
        code = app(args=words, prog_name="flashweir", complete_var=completion.VARIABLE, standalone_mode=False) or 0
        if code == INTERRUPTED:
            # Ctrl-C outside of a run: the library makes a code of it, without a message.
            code = fail("stopped by Ctrl-C", INTERRUPTED)
        sys.stdout.flush()
    except typer.TyperException as error:
        code = fail(error.format_message(), BAD_INPUT)
    except FlashweirError as error:
        code = _failed(error)
    except (Stopped, KeyboardInterrupt) as error:
        code = fail(f"stopped by Ctrl-C{': ' if str(error) else ''}{error}", INTERRUPTED)
    except BrokenPipeError:
        # The reader has gone, as in `flashweir schema | head`: nothing is left to say.
        streams.abandon_output()
        code = FAILED
    except OSError as error:
        code = fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), FAILED)
    except Exception as error:  # noqa: BLE001 - a traceback helps nobody who runs a command
        code = fail(f"internal error, please report it: {type(error).__name__}: {error}", FAILED)
    sys.exit(_flushed(code))


def _failed(error: FlashweirError) -> int:
    """Says why a command failed, but not that the reader of standard output has gone."""
    said = str(error)
    if said.startswith(f"{STANDARD}: ") and os.strerror(errno.EPIPE) in said:
        streams.abandon_output()
        return FAILED
    bad_input = isinstance(error, ConfigError | TraceError | DeviceError)
    return fail(said, BAD_INPUT if bad_input else getattr(error, "exit_code", FAILED))


def _check_empty(given: Sequence[str]) -> None:
    """Refuses an option with an empty value: as a path it would be the current folder."""
    for place, text in enumerate(given):
        if text == "--":
            return
        option = given[place - 1] if place else ""
        if text == "":
            raise ConfigError(f"{option or 'argument'}: expected a value, and not an empty text")
        if text.startswith("--") and text.endswith("=") and text.count("=") == 1:
            raise ConfigError(f"{text[:-1]}: expected a value, and not an empty text")


def _check_moved(given: Sequence[str]) -> None:
    """Refuses a command that is no more, with its new place."""
    first = next((word for word in given if word not in ("--quiet", "-q")), "")
    if first in MOVED:
        raise ConfigError(f"{first}: {MOVED[first]}")


def _flushed(code: int) -> int:
    """Writes what a failed command has left to be written; exits of Python say nothing more then."""
    try:
        sys.stdout.flush()
    except OSError:
        streams.abandon_output()
    return code


def fail(message: str, code: int) -> int:
    """Prints the one line that says what is wrong, and passes the exit code through."""
    print("error:", one_line(message), file=sys.stderr)
    return code
