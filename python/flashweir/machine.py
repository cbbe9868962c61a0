"""The machine that this process runs on, for the notes of sweeps and the end of reports."""

import os
import platform
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """Name, system, processor, cores and Python of the machine, in the order in which people read them."""
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    return {
        "host": platform.node(),
        "system": f"{platform.system()} {platform.release()}",
        "cpu": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
