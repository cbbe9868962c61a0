"""`characterize`: one call of the native module."""

import json
import os

from flashweir import _native
from flashweir._native import ConfigError
from flashweir.api import Progress, as_json, as_native_progress
from flashweir.arguments import in_python, place
from flashweir.fio.resolving import as_trace, in_words
from flashweir.options import characterize as option
from flashweir.options import reading
from flashweir.options.option import checked, declared
from flashweir.results.section import Section
from flashweir.tenants import AnyPath


@declared
@in_python
def characterize(
    workload: AnyPath,
    *,
    gap: option.Gap = 10,
    small: option.Small = "4KiB",
    align: option.Align = "4KiB",
    chunk: option.Chunk = 9_728_000,
    segments: option.Segments = 10,
    unit: option.Unit = "1MiB",
    sample: option.Sample = 65536,
    macroscopic: option.Macroscopic = False,
    format: reading.Format = None,
    columns: reading.Columns = None,
    skip_bad: reading.SkipBad = 0,
    hint: reading.Hint = None,
    seed: option.Seed = None,
    progress: Progress | None = None,
) -> Section:
    """Characterizes a workload, and names its benchmark suite.

    Reads it once, in memory that grows with what it touches and not with the number of its requests. The GIL is
    released meanwhile.

    Args:
        workload: a trace file, a generator spec such as `"random:span=1GiB,count=100000"`, `"mix:FILE"`, or
            `"fio:FILE"`.
        progress: is that of `simulate`, with the phase "trace". Ctrl-C stops the reading.

    Returns:
        The fields of docs/reference/characterize.md: `suite.name` and `suite.reason`; `writes` and `reads`, each with
        `requests`, `bytes`, shares of the bytes such as `sequential_share`, and `sizes`; `segments`; and unless only
        the macroscopic view is taken, `microscopic`, `over_time`, `rate`, `working_set` and `reuse`.

    Raises:
        ConfigError: a setting that makes no sense.
        TraceError: the workload can't be read.
        FlashweirError: `progress` stopped it.
    """
    options = checked(characterize, locals())
    if not isinstance(workload, str | os.PathLike):
        raise ConfigError(f"workload: {workload!r}: expected a trace file or a generator")
    workload, read = as_trace(workload, {"format": format, "columns": columns})
    spec = {"workload": place(workload), **options, **read}
    return Section(json.loads(in_words(_native.characterize(as_json(spec), as_native_progress(progress)))))
