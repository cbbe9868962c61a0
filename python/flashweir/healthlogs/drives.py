"""Health logs of a drive that is here, read by nvme-cli or smartctl where these are installed; changes nothing."""

import json
import re
import shutil
import stat
import subprocess
from pathlib import Path

from flashweir._native import ConfigError
from flashweir.healthlogs.logs import Log, of_text

_NVME = re.compile(r"/dev/(nvme\d+)n\d+(p\d+)?")
_SATA = re.compile(r"/dev/sd[a-z]+\d*")
_TIMEOUT_S = 10


def read_drive(target: str) -> list[Log]:
    """The logs that a block device has; none of files, simulated drives, other devices, and without the programs."""
    place = str(Path(target).resolve()) if target.startswith("/") else ""
    nvme, sata = _NVME.fullmatch(place), _SATA.fullmatch(place)
    try:
        if not (nvme or sata) or not stat.S_ISBLK(Path(place).stat().st_mode):
            return []
    except OSError:
        return []
    return logs_of(place, None if nvme is None else f"/dev/{nvme[1]}")


def logs_of(device: str, controller: str | None) -> list[Log]:
    """The logs of a device; `controller` is that of an NVMe drive, None of SATA."""
    smartctl = shutil.which("smartctl")
    if controller is None:
        return _asked([[smartctl, "-a", "-l", "devstat", "-j", device]] if smartctl else [])
    nvme = shutil.which("nvme")
    if nvme is None:
        return _asked([[smartctl, "-a", "-j", device]] if smartctl else [])
    commands = [
        [nvme, "smart-log", controller, "-o", "json"],
        [nvme, "ocp", "smart-add-log", controller, "-o", "json"],
        [nvme, "fdp", "stats", controller, "-e", "1", "-o", "json"],
        [nvme, "endurance-log", controller, "-g", "1", "-o", "json"],
    ]
    return [log for log in _asked(commands) if _says_something(log)]


def _asked(commands: list[list[str]]) -> list[Log]:
    """Answers that are logs. A drive that lacks a log, or a user who may not read it, gives none."""
    found = []
    for command in commands:
        try:
            done = subprocess.run(  # noqa: S603 - programs by their full path
                command, capture_output=True, timeout=_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
            )
            found.append(of_text(done.stdout, " ".join([Path(command[0]).name, *command[1:]])))
        except (OSError, subprocess.TimeoutExpired, ConfigError, json.JSONDecodeError):
            continue
    return found


def _says_something(log: Log) -> bool:
    """True unless all is 0, as drives answer that know a log's number and not the log."""
    return any(amount.bytes for amount in log.amounts.values()) or log.kind == "smart-log"
