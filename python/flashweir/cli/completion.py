"""`flashweir completion`: scripts that complete commands and options in a shell."""

import os
from importlib import import_module
from typing import Annotated, Literal

import typer

# Environment variable of the scripts, set when they request completions.
VARIABLE = "_FLASHWEIR_COMPLETE"


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(metavar="bash|zsh|fish", help="The shell.")],
) -> None:
    """Print a script that completes commands and options; a shell reads it at its start."""
    library = import_module("typer.completion")
    script = library.get_completion_script(prog_name="flashweir", complete_var=VARIABLE, shell=shell)
    # Arguments may be files; the library means them not to be.
    typer.echo(script.replace("--no-files ", ""))


def prepare() -> None:
    """Lets the library answer where a script asks for completions."""
    if VARIABLE in os.environ:
        import_module("typer.completion").completion_init()
