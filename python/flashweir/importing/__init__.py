"""Configurations of other simulators as drives: each of their keys becomes one of ours, or is named with the reason.

`model.py` is the table that an import yields, and the device file made of it; `source.py` reads values with clear
errors; `mqsim.py`, `ssdsim.py`, `nvmevirt.py` and `femu.py` map the keys of one simulator each.
"""

from flashweir.importing.api import KINDS, import_drive
from flashweir.importing.model import Entry, ImportedDrive

__all__ = ["KINDS", "Entry", "ImportedDrive", "import_drive"]
