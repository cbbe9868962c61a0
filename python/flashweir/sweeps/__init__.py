"""Sweeps: many simulations over a grid, in one directory that survives anything.

`spec` says what to run, `points` makes the runs, `runner` is the loop, `backend` where they are run (`local` threads or
a `cluster`), `store` the directory and `frame` what comes back.
"""

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashweir._native import ConfigError
from flashweir.arguments import check_file, in_python
from flashweir.options import many
from flashweir.options.option import checked, declared
from flashweir.sweeps import runner
from flashweir.sweeps.backend import Backend
from flashweir.sweeps.cluster import cluster_backend
from flashweir.sweeps.local import LocalBackend
from flashweir.sweeps.runner import Progress, State
from flashweir.sweeps.spec import SweepSpec, load

if TYPE_CHECKING:
    from flashweir.sweeps.frame import SweepFrame

AnyPath = str | os.PathLike[str]

__all__ = ["Progress", "State", "backend_for", "read_sweep", "sweep"]


@declared
@in_python
def sweep(
    spec: AnyPath | Mapping[str, Any] | SweepSpec,
    directory: many.Directory = None,
    *,
    on: many.On = "local",
    resume: many.Resume = False,
    force: bool = False,
    reuse: many.Reuse = (),
    threads: many.Threads = None,
    memory_bytes: many.Memory = None,
    progress: Progress | None = None,
) -> "SweepFrame":
    """Runs many simulations over a grid.

    Args:
        spec: a TOML file, a mapping (docs/reference/sweep.md), or what `load` made of one.
        force: start anew in such a directory; what it holds is put aside in a folder of it, `earlier-N`.
        progress: is called with a `State` as results come in; returning False stops the sweep.

    Returns:
        A polars frame, a row a run, also for those that failed (`error` says why).

    Raises:
        ConfigError: the spec, the directory or `on` is not what it should be.
        FlashweirError: `progress` stopped the sweep, or the cluster is lost. Finished runs are kept.
        KeyboardInterrupt: Ctrl-C; finished runs are kept.
    """
    from flashweir.sweeps.frame import read

    checked(sweep, locals())
    if not isinstance(spec, SweepSpec | Mapping | str | os.PathLike):
        raise ConfigError(f"spec: {spec!r}: expected a TOML file or a mapping")
    read_spec = spec if isinstance(spec, SweepSpec) else load(spec if isinstance(spec, Mapping) else Path(spec))
    make_backend = backend_for(on, threads=threads, memory_bytes=many.memory_of(memory_bytes))
    folder = Path(tempfile.mkdtemp(prefix="flashweir-sweep-")) if directory is None else Path(directory)
    try:
        runner.execute(
            read_spec,
            folder,
            make_backend,
            resume=resume,
            force=force,
            reuse=tuple(Path(other) for other in reuse),
            progress=progress,
        )
        frame = read(folder)
    except BaseException:
        if directory is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    if directory is None:
        weakref.finalize(frame, shutil.rmtree, folder, ignore_errors=True)
    return frame


@in_python
def read_sweep(directory: AnyPath) -> "SweepFrame":
    """Reads what a sweep has left in its directory, finished or not.

    Raises:
        ConfigError: the directory holds no sweep.
        FlashweirError: a file of it is damaged.
    """
    from flashweir.sweeps.frame import read

    check_file("directory", directory)
    return read(Path(directory))


def backend_for(
    on: str, *, threads: int | None = None, memory_bytes: int | None = None, keeps_traces: bool = False
) -> runner.MakeBackend:
    """Backend that `--on` names; nothing is started yet. With `keeps_traces`, this machine keeps traces in memory.

    Raises:
        ConfigError: it names nothing that is known.
    """

    def local() -> Backend:
        return LocalBackend(threads, memory_bytes, keeps_traces=keeps_traces)

    if on == "local":
        return local
    if threads is not None or memory_bytes is not None:
        raise ConfigError(f"--on {on}: its workers have threads and memory of their own: set them there")
    return cluster_backend(on)
