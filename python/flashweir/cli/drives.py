"""`flashweir presets` and `flashweir schema`: named drives, and all keys."""

from typing import Annotated

import typer

from flashweir import api
from flashweir.cli.common import Json, console, write_json
from flashweir.cli.outputs import Force, check_output


def presets(json_to: Json = None, force: Force = False) -> None:
    """List the presets: drives that have a name."""
    check_output("--json", json_to, force=force)
    found = [preset.to_dict() for preset in api.presets()]
    if json_to is not None:
        write_json(found, json_to)
        return
    from flashweir.summary import print_paragraphs

    print_paragraphs(((preset["name"], preset["source"]) for preset in found), console())


def schema(
    refusals: Annotated[
        bool, typer.Option("--refusals", help="Print the combinations of keys that are refused, with reasons.")
    ] = False,
    result: Annotated[
        bool, typer.Option("--result", help="Print every field of a result as JSON Schema, with units.")
    ] = False,
    renamed: Annotated[
        bool, typer.Option("--renamed", help="Print the names that have changed: the old and the new ones.")
    ] = False,
) -> None:
    """Print every key of a drive as JSON Schema, with defaults and units."""
    if refusals + renamed + result > 1:
        raise typer.BadParameter("--refusals, --renamed and --result are separate lists: ask for one")
    if result:
        from flashweir.results.schema import result_schema

        write_json(result_schema(), "-")
        return
    sections = api.refusals() if refusals else api.renamed() if renamed else None
    write_json(api.schema() if sections is None else [section.to_dict() for section in sections], "-")
