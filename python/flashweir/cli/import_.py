"""`flashweir import`: the configuration of another simulator in, a device file out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flashweir._native import ConfigError
from flashweir.cli.common import Json, console, write_json, write_text
from flashweir.cli.derived import takes
from flashweir.cli.outputs import Force, check_outputs
from flashweir.importing.model import shown
from flashweir.options.target import DEVICE_FILE

if TYPE_CHECKING:
    from rich.console import Console

    from flashweir.importing.model import ImportedDrive


@takes()
def import_configuration(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="mqsim, ssdsim, nvmevirt or femu.")],
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="ssdconfig.xml, page.parameters, ssd_config.h; of femu a script, or femu,KEY=VALUE... of -device.",
        ),
    ],
    workload: Annotated[
        str | None, typer.Argument(metavar="WORKLOAD", help="For mqsim: a workload.xml, written as a mix to --mix.")
    ] = None,
    output: Annotated[Path | None, DEVICE_FILE] = None,
    mix: Annotated[
        Path | None, typer.Option("--mix", metavar="F.toml", help="The mix to write, of a workload.xml.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="For nvmevirt: its BASE_SSD. [default: SAMSUNG_970PRO]"),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="SIZE", help="For nvmevirt: memory that holds the drive. [default: 64GiB]"),
    ] = None,
    json_to: Json = None,
    force: Force = False,
) -> None:
    """Make a device file of another simulator's configuration, and name every key that has no counterpart."""
    if (workload is None) != (mix is None):
        raise ConfigError("a WORKLOAD and --mix F.toml, the mix that it becomes, are given together")
    outputs = {"--output": output, "--mix": mix, "--json": json_to}
    names = [one for one in (file, workload) if one is not None and (one == workload or "=" not in one)]
    check_outputs(outputs, names, force=force, kinds={"--output": "device", "--mix": "device"})
    from flashweir.importing.api import import_drive

    found = import_drive(kind, file, workload=workload, model=model, memory=memory)
    if output is not None:
        write_text(found.device_file, str(output))
    if mix is not None and found.mix is not None:
        write_text(found.mix, str(mix))
    if json_to is not None:
        write_json(found.to_dict(), json_to)
        return
    _print(found, console())


def _print(found: "ImportedDrive", out: "Console") -> None:
    lines = [f"{found.simulator}: {found.summary}"]
    for status in ("part", "none"):
        lines += [f"{status}  {entry.key} = {shown(entry.value)}: {entry.reason}"
                  for entry in found.entries if entry.status == status]  # fmt: skip
    for line in lines:
        out.print(line, highlight=False, markup=False, soft_wrap=True)
