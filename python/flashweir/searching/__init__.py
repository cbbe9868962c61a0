"""Finds drives that are best for given workloads under constraints (docs/guide/find-a-drive.md)."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashweir._native import ConfigError
from flashweir.arguments import in_python
from flashweir.budget import read_budget
from flashweir.options import many
from flashweir.options import search as option
from flashweir.options.option import checked, declared
from flashweir.sweeps import Progress, backend_for

if TYPE_CHECKING:
    from flashweir.searching.outcome import Search

__all__ = ["search"]

AnyPath = str | os.PathLike[str]


@declared
@in_python
def search(
    spec: AnyPath | Mapping[str, Any],
    directory: option.Directory = None,
    *,
    budget: option.Budget = 100,
    seed: option.Seed = 1,
    batch: option.Batch = 4,
    on: many.On = "local",
    resume: many.Resume = False,
    force: bool = False,
    threads: many.Threads = None,
    memory_bytes: many.Memory = None,
    progress: Progress | None = None,
) -> "Search":
    """Searches the designs of a grid that are best for several goals under constraints, without running all of it.

    Args:
        spec: a TOML file or a mapping: a sweep with goals, constraints and prices (docs/reference/search.md).
        force: begin anew in such a directory; what it holds is put aside in a folder of it, `earlier-N`.
        progress: called with a `State` as runs end; returning False stops the search.

    Raises:
        ConfigError: the spec, the directory or an argument is not what it should be, or no design may run.
        FlashweirError: `progress` stopped the search. Finished runs are kept in `directory`.
    """
    checked(search, locals())
    if not isinstance(spec, Mapping | str | os.PathLike):
        raise ConfigError(f"spec: {spec!r}: expected a TOML file or a mapping")
    count, limit_s = read_budget(budget)
    if count == 0:
        raise ConfigError("budget: 0: expected at least 1 design")
    memory = many.memory_of(memory_bytes)
    # Numpy and scipy, which take a second, are imported here: the command line needs the options alone.
    from flashweir.searching.evaluation import Evaluator
    from flashweir.searching.lives import Lives
    from flashweir.searching.loop import Loop
    from flashweir.searching.runs import Runs
    from flashweir.searching.spec import load

    read = load(spec if isinstance(spec, Mapping) else Path(spec))
    backend = backend_for(on, threads=threads, memory_bytes=memory, keeps_traces=True)
    folder = Path(tempfile.mkdtemp(prefix="flashweir-search-")) if directory is None else Path(directory)
    try:
        with Runs(read.sweep, folder, backend, resume=resume, force=force) as runs:
            lives = Lives(folder, read.life, threads or len(os.sched_getaffinity(0)))
            loop = Loop(read, Evaluator(read, runs, lives), seed, batch, progress)
            found = loop.run(count, limit_s, None if directory is None else folder)
        if directory is not None:
            found.write_front(folder)
    finally:
        if directory is None:
            shutil.rmtree(folder, ignore_errors=True)
    return found
