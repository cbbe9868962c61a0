"""Simulates multichannel SSDs under real block traces.

`simulate` runs a workload through a drive and returns a `Result`; `trace_info`, `trace_convert` and `trace_generate`
work on traces; `presets` and `schema` say what a drive can be. The command `flashweir` does the same.
"""

from flashweir._native import ConfigError, DeviceError, FlashweirError, TraceError, __version__
from flashweir.api import presets, refusals, schema, simulate, trace_convert, trace_generate, trace_info
from flashweir.result import Result, Section

__all__ = [
    "ConfigError",
    "DeviceError",
    "FlashweirError",
    "Result",
    "Section",
    "TraceError",
    "__version__",
    "presets",
    "refusals",
    "schema",
    "simulate",
    "trace_convert",
    "trace_generate",
    "trace_info",
]
