import os
from collections.abc import Callable
from typing import TypeAlias, final

__all__ = [
    "ConfigError",
    "DeviceError",
    "FlashweirError",
    "TraceError",
    "Traces",
    "__build__",
    "__version__",
    "bench_plan",
    "bench_run",
    "characterize",
    "collect",
    "diagnose",
    "plan",
    "presets",
    "probe",
    "refusals",
    "replay",
    "replay_recover",
    "schema",
    "simulate",
    "trace_convert",
    "trace_generate",
    "trace_info",
]

__version__: str
__build__: str

class FlashweirError(Exception): ...
class ConfigError(FlashweirError): ...
class TraceError(FlashweirError): ...
class DeviceError(FlashweirError): ...

_Progress: TypeAlias = Callable[[str], bool | None]

@final
class Traces:
    def __new__(cls) -> Traces: ...
    def forget(self, path: str) -> None: ...
    def memory_bytes(self) -> int: ...
    def __len__(self) -> int: ...

def simulate(
    spec_json: str,
    progress: _Progress | None = None,
    traces: Traces | None = None,
    allocator: Callable[[str], str] | None = None,
) -> str: ...
def collect(spec_json: str, progress: _Progress | None = None) -> str: ...
def plan(spec_json: str) -> str: ...
def presets() -> str: ...
def schema() -> str: ...
def refusals() -> str: ...
def characterize(spec_json: str, progress: _Progress | None = None) -> str: ...
def trace_info(path: str | os.PathLike[str], options_json: str = "{}", progress: _Progress | None = None) -> str: ...
def trace_convert(
    input: str | os.PathLike[str],
    output: str | os.PathLike[str],
    options_json: str = "{}",
    progress: _Progress | None = None,
) -> str: ...
def trace_generate(
    spec: str, output: str | os.PathLike[str], options_json: str = "{}", progress: _Progress | None = None
) -> str: ...
def probe(spec_json: str, progress: _Progress | None = None) -> str: ...
def replay(spec_json: str, progress: _Progress | None = None) -> str: ...
def replay_recover(log: str | os.PathLike[str]) -> str: ...
def bench_plan(settings_json: str) -> str: ...
def bench_run(settings_json: str, progress: _Progress | None = None) -> str: ...
def diagnose(
    path: str | os.PathLike[str],
    options_json: str = "{}",
    progress: _Progress | None = None,
    capacity_bytes: int | None = None,
) -> str: ...
