"""The drive as a target: `py:research/models/arrays/target.py:ArrayDrive,key=value...` from any directory."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[3])
if ROOT not in sys.path:
    sys.path.append(ROOT)

from research.models.arrays.drive import ArrayDrive  # noqa: E402 - found by the line above

__all__ = ["ArrayDrive"]
