"""`import_drive`: another simulator's configuration in, a drive and the table of its keys out."""

import os
from typing import TypeAlias

from flashweir._native import ConfigError
from flashweir.arguments import in_python, is_utf8
from flashweir.importing import femu, mqsim, nvmevirt, ssdsim
from flashweir.importing.model import ImportedDrive, plain, shown
from flashweir.settings import refusal
from flashweir.whole import STANDARD

_Path: TypeAlias = str | os.PathLike[str]
# Kinds of configurations, and the simulators that they are of.
KINDS = {"mqsim": "MQSim", "ssdsim": "SSDsim", "nvmevirt": "NVMeVirt", "femu": "FEMU"}


@in_python
def import_drive(
    kind: str,
    file: _Path,
    *,
    workload: _Path | None = None,
    model: str | None = None,
    memory: str | int | None = None,
) -> ImportedDrive:
    """Makes a drive of another simulator's configuration.

    Args:
        kind: `mqsim`, `ssdsim`, `nvmevirt` or `femu`.
        file: ssdconfig.xml of MQSim, page.parameters of SSDsim, ssd_config.h of NVMeVirt, a script of FEMU or the
            options of its `-device` as a text.
        workload: for `mqsim` a workload.xml, whose first scenario becomes a mix.
        model: for `nvmevirt` the `BASE_SSD` of the file's branches; SAMSUNG_970PRO if not given.
        memory: for `nvmevirt` the memory that holds the drive (`memmap_size` of the module); 64GiB if not given.

    Returns:
        The drive: `settings` for `simulate(device=...)`, the table `entries`, `counts` and the text `device_file`.

    Raises:
        ConfigError: the file can't be read, is of another kind, or has a value that makes no drive.
    """
    if kind not in KINDS:
        raise ConfigError(f"{shown(kind)!r}: expected one of {', '.join(KINDS)}")
    path = os.fspath(file)
    if not isinstance(path, str) or not is_utf8(path):
        raise ConfigError(f"{path!r}: expected a name in UTF-8")
    if path == workload == STANDARD:
        raise ConfigError("-: both files can't be standard input: expected a name for one of them")
    if workload is not None and kind != "mqsim":
        raise ConfigError(f"workload: {shown(workload)}: expected with mqsim alone")
    if kind != "nvmevirt" and (model is not None or memory is not None):
        name = "--model" if model is not None else "--memory"
        raise ConfigError(f"{name}: expected with nvmevirt alone")
    mix = None
    if kind == "mqsim":
        entries, mix = mqsim.convert(path, None if workload is None else os.fspath(workload))
    elif kind == "nvmevirt":
        entries = nvmevirt.convert(path, model or nvmevirt.MODEL, nvmevirt.MEMORY if memory is None else memory)
    else:
        entries = ssdsim.convert(path) if kind == "ssdsim" else femu.convert(path)
    found = ImportedDrive(kind, KINDS[kind], path, tuple(entries), mix)
    _check(found)
    return found


def _check(drive: ImportedDrive) -> None:
    """Refuses values that make no drive, in the words of the engine."""
    if reason := refusal(drive.settings):
        name = "options" if "=" in drive.file else plain(drive.file)
        raise ConfigError(f"{name}: its values make no drive: {reason}")
