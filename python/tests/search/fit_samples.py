"""Measurements for the tests of `flashweir fit`."""

from pathlib import Path

GENERAL = """
[drive]
name = "small"
capacity = "256MiB"

[[point]]
id = "one"
workload = { write = 0.5, size = "4KiB" }
load = { rate = 2000 }
cap = 32
measured = { read_mean = 70.0, read_p50 = 60.0, write_mean = 900.0 }

[[point]]
workload = { write = 1.0 }
load = { saturated = true }
cap = 64
measured = { iops = 20000, waf = 2.0 }
"""

TABLES = """
[write_amplification]
"drive-a" = { program = "uniform 4 KiB", used_gib = [0.5, 1.0], waf = [1.2, 2.0], mib_s = [100, 50] }

[latency_under_load.drive-a]
name = "Drive A 960 GB"
capacity_gib = 1.0
saturated = [30000, 5200, 400, 2000, 3000, 500, 2000, 7000, 8000, 2400]
points = [
    [9953, 5049, 56, 315, 457, 74, 10, 12, 16, 10],
    [19854, 5148, 65, 372, 497, 89, 10, 12, 16, 10],
    [29990, 5190, 300, 1900, 2900, 450, 1500, 6000, 7000, 2000],
]
"""

BASE = """
channels = 2
chips = 2
pages_per_block = 32
op_ratio = 0.3

[timing]
read = "50us"
program = "200us"
erase = "2ms"
bus = 0.8
"""


def written(folder: Path, name: str, text: str) -> Path:
    """The path of a new file."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
