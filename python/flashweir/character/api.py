"""`characterize`: one call of the native module."""

import json
import os

from flashweir import _native
from flashweir._native import ConfigError
from flashweir.api import Progress, as_json, as_native_progress
from flashweir.arguments import check, in_python, place
from flashweir.fio.resolving import as_trace, in_words
from flashweir.result import Section
from flashweir.tenants import AnyPath


@in_python
def characterize(
    workload: AnyPath,
    *,
    gap: int = 10,
    small: int | str = "4KiB",
    align: int | str = "4KiB",
    chunk: int | str = 9_728_000,
    segments: int = 10,
    unit: int | str = "1MiB",
    sample: float = 65536,
    macroscopic: bool = False,
    format: str | None = None,
    columns: str | None = None,
    skip_bad: int = 0,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Section:
    """Characterizes a workload, and names its benchmark suite.

    Reads it once, in memory that grows with what it touches and not with the number of its requests. The GIL is
    released meanwhile.

    Args:
        workload: a trace file, a generator spec such as `"random:span=1GiB,count=100000"`, `"mix:FILE"`, or
            `"fio:FILE"`.
        gap: K, how many other requests of its operation may come between two of a sequential run (0 to 1000).
        small: the longest request that counts as small: bytes, or text such as `"4KiB"`. A multiple of 512 bytes.
        align: what has to divide the start and the end of a request that is aligned.
        chunk: how far apart requests may be and still be near each other: a chunk of 9.28 MiB (Yang 2009, section 6.3).
        segments: into how many parts of equal time the workload is cut.
        unit: unit of space in which hot and cold data mix: a multiple of 128 KiB.
        sample: how many 4 KiB blocks are followed at most for reuse distances and working sets, which are exact as long
            as there are no more (64 to 67108864); or, up to 1, which share of all blocks is followed.
        macroscopic: leaves out all but the macroscopic view, which takes a fraction of the time.
        format: the trace format, where detection is wrong.
        columns: describes any other table, as `"time=3:us,op=1,lba=4:bytes,size=5:bytes"`.
        skip_bad: maximum number of unreadable lines.
        seed: replaces the seed of a generator.
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
    if not isinstance(workload, str | os.PathLike):
        raise ConfigError(f"workload: {workload!r}: expected a trace file or a generator")
    workload, reading = as_trace(workload, {"format": format, "columns": columns})
    spec = {
        "workload": place(workload),
        "gap": gap,
        "small": small,
        "align": align,
        "chunk": chunk,
        "segments": segments,
        "unit": unit,
        "sample": sample,
        "macroscopic": macroscopic,
        **reading,
        "skip_bad": skip_bad,
        "seed": seed,
    }
    check(spec)
    return Section(json.loads(in_words(_native.characterize(as_json(spec), as_native_progress(progress)))))
