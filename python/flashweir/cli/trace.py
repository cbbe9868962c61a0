"""`flashweir trace`: reads, converts and generates traces."""

from typing import Annotated, Any

import typer

from flashweir import api
from flashweir.cli.characterize import trace_characterize
from flashweir.cli.common import Json, quietly, show, watched
from flashweir.cli.derived import takes
from flashweir.cli.outputs import Force, check_output, check_outputs, rewrite
from flashweir.notices import say
from flashweir.results.section import Section

trace_app = typer.Typer(rich_markup_mode=None, help="Reads, converts, characterizes and generates traces.")
trace_app.command("characterize")(quietly(trace_characterize))


@trace_app.command("info")
@quietly
@takes(api.trace_info)
def trace_info(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="A trace file, mix:FILE or fio:FILE.")],
    json_to: Json = None,
    force: Force = False,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Print the contents of a trace, and the assumptions made to read it."""
    check_output("--json", json_to, force=force)

    def run(progress: api.Progress | None) -> Section:
        return api.trace_info(trace, progress=progress, **options)

    show(watched(run), json_to)


@trace_app.command("convert")
@quietly
@takes(api.trace_convert)
def trace_convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="A trace file, or fio:FILE.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="The file to write; its suffix says the format.")],
    force: Force = False,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Write a trace in another format."""
    check_outputs({"OUT": target}, [source], force=force, kinds={"OUT": "rewritten"})

    def run(progress: api.Progress | None) -> Section:
        return rewrite("OUT", target, lambda name: api.trace_convert(source, name, progress=progress, **options))

    done = watched(run)
    show(done, None)
    _warn_of_left_out(done)


@trace_app.command("generate")
@quietly
@takes(api.trace_generate)
def trace_generate(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A generator, such as zipf:count=100000,theta=0.9")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="The file to write; its suffix says the format.")],
    force: Force = False,
    **options: Any,  # noqa: ANN401 - of several kinds, each checked
) -> None:
    """Write the requests of a generator as a trace."""
    check_outputs({"OUT": target}, [], force=force, kinds={"OUT": "rewritten"})

    def run(progress: api.Progress | None) -> Section:
        return rewrite("OUT", target, lambda name: api.trace_generate(spec, name, progress=progress, **options))

    done = watched(run)
    show(done, None)
    _warn_of_left_out(done)


def _warn_of_left_out(written: Section) -> None:
    """Says in one line on standard error which requests the format that was written has no operation for."""
    counts = []
    for tally in written["not_written"]:
        count, name = tally["count"], tally["reason"]
        counts.append(f"{count} {name}{'' if count == 1 else 'es' if name.endswith('sh') else 's'}")
    if counts:
        say(f"left out: {', '.join(counts)}: {written['written_as']} has no such operation")
