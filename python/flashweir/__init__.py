"""Simulates multichannel SSDs under real block traces.

`simulate` runs a workload through a drive and returns a `Result`; a `Drive` is one that the caller steps;
`sweep` runs many simulations over a grid, and `read_sweep` reads what one has left;
`compare` runs policies on the same workloads, and `judge` a frozen one against its rivals;
`lifetime` estimates when a drive is worn out;
`report` writes a page and figures of results and sweeps, `read_fio` reads those of fio; `bundle` packs them so that
others can check them, and `check_bundle` does; `reproduce` compares measured values with published ones;
`bench` grades drives, real and simulated;
`probe` finds the geometry and times of a drive, and writes a device file;
`fit` searches the drive that comes closest to measurements, and predicts others;
`search` finds drives that are best for several goals under constraints;
`import_drive` makes a drive of another simulator's configuration;
`replay` runs a trace on a real drive or a simulated one, and times every request;
`serve` makes a simulated drive a disk;
`collect` records the requests that a running system makes of a drive;
`health` compares health logs of a drive before and after a run;
`diagnose` finds the poor part of a drive in a log of requests;
`characterize` measures a workload; `trace_info`, `trace_convert` and `trace_generate` work on traces;
`presets` and `schema` list named drives and all keys, `result_schema` all fields of a result with their units. The
command `flashweir` does the same.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from flashweir._native import ConfigError, DeviceError, FlashweirError, TraceError, __version__
from flashweir.api import presets, refusals, renamed, schema, simulate, trace_convert, trace_generate, trace_info
from flashweir.notices import FlashweirWarning
from flashweir.parts import LatencyParts
from flashweir.result import Result
from flashweir.results.section import Section

if TYPE_CHECKING:
    from flashweir.benchmark import bench
    from flashweir.bundles import bundle, check_bundle
    from flashweir.character import characterize
    from flashweir.collecting import collect
    from flashweir.diagnosis import diagnose
    from flashweir.drive import Drive
    from flashweir.endurance import lifetime
    from flashweir.fio.results import read_fio
    from flashweir.fitting import fit
    from flashweir.healthlogs import health
    from flashweir.importing.api import import_drive
    from flashweir.policies import compare, judge
    from flashweir.probing import probe
    from flashweir.replaying import recover_log, replay
    from flashweir.reports.api import report
    from flashweir.reproduction import reproduce
    from flashweir.results.schema import result_schema
    from flashweir.searching import search
    from flashweir.serving import LiveDrive, serve
    from flashweir.sweeps import read_sweep, sweep

__all__ = [
    "ConfigError",
    "DeviceError",
    "Drive",
    "FlashweirError",
    "FlashweirWarning",
    "LatencyParts",
    "LiveDrive",
    "Result",
    "Section",
    "TraceError",
    "__version__",
    "bench",
    "bundle",
    "characterize",
    "check_bundle",
    "collect",
    "compare",
    "diagnose",
    "fit",
    "health",
    "import_drive",
    "judge",
    "lifetime",
    "presets",
    "probe",
    "read_fio",
    "read_sweep",
    "recover_log",
    "refusals",
    "renamed",
    "replay",
    "report",
    "reproduce",
    "result_schema",
    "schema",
    "search",
    "serve",
    "simulate",
    "sweep",
    "trace_convert",
    "trace_generate",
    "trace_info",
]


# Modules that take time to import are imported when their function is first asked for.
_MODULES = {
    "Drive": "flashweir.drive",
    "LiveDrive": "flashweir.serving",
    "bench": "flashweir.benchmark",
    "bundle": "flashweir.bundles",
    "characterize": "flashweir.character",
    "check_bundle": "flashweir.bundles",
    "collect": "flashweir.collecting",
    "compare": "flashweir.policies",
    "diagnose": "flashweir.diagnosis",
    "fit": "flashweir.fitting",
    "health": "flashweir.healthlogs",
    "import_drive": "flashweir.importing.api",
    "judge": "flashweir.policies",
    "lifetime": "flashweir.endurance",
    "probe": "flashweir.probing",
    "read_fio": "flashweir.fio.results",
    "read_sweep": "flashweir.sweeps",
    "recover_log": "flashweir.replaying",
    "replay": "flashweir.replaying",
    "report": "flashweir.reports.api",
    "reproduce": "flashweir.reproduction",
    "result_schema": "flashweir.results.schema",
    "search": "flashweir.searching",
    "serve": "flashweir.serving",
    "sweep": "flashweir.sweeps",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        found = getattr(import_module(_MODULES[name]), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
