import os
from collections.abc import Callable
from typing import TypeAlias

__all__ = [
    "ConfigError",
    "DeviceError",
    "FlashweirError",
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

__version__: str

class FlashweirError(Exception): ...
class ConfigError(FlashweirError): ...
class TraceError(FlashweirError): ...
class DeviceError(FlashweirError): ...

_Progress: TypeAlias = Callable[[str], bool | None]

def simulate(spec_json: str, progress: _Progress | None = None) -> str: ...
def presets() -> str: ...
def schema() -> str: ...
def refusals() -> str: ...
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
