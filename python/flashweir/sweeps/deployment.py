"""Where a cluster comes from: the address of a Dask scheduler, a scheduler file, or jobs of a batch system."""

import json
import logging
import re
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from flashweir._native import ConfigError, FlashweirError

# A `distributed.Client`: what it takes and gives is not typed there.
Client: TypeAlias = Any

# The batch systems of dask-jobqueue, by the names of their sections in jobqueue.yaml, and their classes there.
BATCH_SYSTEMS = {
    "slurm": "SLURMCluster", "pbs": "PBSCluster", "sge": "SGECluster", "lsf": "LSFCluster",
    "htcondor": "HTCondorCluster", "oar": "OARCluster", "moab": "MoabCluster",
}  # fmt: skip
EXPECTED = (
    "expected local, the address of a Dask scheduler such as tcp://10.0.0.1:8786, file:SCHEDULER.json, or a batch "
    f"system with the number of its jobs such as slurm:8 ({', '.join(BATCH_SYSTEMS)})"
)
_SCHEDULER_FILE = "expected the scheduler file of a running Dask scheduler (docs/guide/cluster.md)"
# Jobs, where no number is given.
JOBS = 4
MAX_JOBS = 100_000
# Time limits: the first answer of a scheduler, and the release of a cluster.
CONNECT_S, CLOSE_S = 10, 20
_NOISY = ("asyncio", "bokeh", "dask", "dask_jobqueue", "distributed", "tornado")


@dataclass
class Deployment:
    """A cluster that one can compute on. `failures` collects what the batch system answers to jobs it refuses."""

    name: str
    client: Client
    keep_up: Callable[[], None] = lambda: None
    failures: list[str] = field(default_factory=list)
    shut_down: Callable[[], None] = lambda: None

    def close(self) -> None:
        """Lets go of the scheduler; jobs that were started for it are ended."""
        with suppress(Exception):
            self.client.close(timeout=CLOSE_S)
        with suppress(Exception):
            self.shut_down()


Deploy = Callable[[], Deployment]


def deployment(on: str) -> Deploy:
    """Deployment that `on` names; nothing is started or connected to yet.

    Raises:
        ConfigError: it names no cluster.
    """
    if re.match(r"[a-z]+://", on):
        scheme, _, place = on.partition("://")
        from distributed.comm import registry

        known = [name for name in SCHEMES if name in registry.backends]
        if scheme not in known or not place:
            raise ConfigError(f"--on {on}: expected an address that starts with one of {', '.join(known)}, and a place")
        return lambda: Deployment(on, connect(on))
    kind, colon, rest = on.partition(":")
    if kind == "file" and rest:
        address = _scheduler_file(on, Path(rest))
        return lambda: Deployment(address, connect(address))
    if kind in BATCH_SYSTEMS and (rest.isdecimal() or not colon):
        jobs = int(rest or JOBS)
        if not 1 <= jobs <= MAX_JOBS:
            raise ConfigError(f"--on {on}: expected from 1 to {MAX_JOBS:,} jobs")
        return lambda: _batch_system(on, kind, jobs)
    raise ConfigError(f"--on {on}: {EXPECTED}")


def connect(address: str) -> Client:
    """A client that does not become the process's default.

    Raises:
        FlashweirError: there is no scheduler, or none that talks to this version.
    """
    import distributed

    make: Client = distributed.Client
    try:
        with _no_warnings():
            return make(address, timeout=CONNECT_S, set_as_default=False, name="flashweir")
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise FlashweirError(f"{address}: no Dask scheduler answers there: {text}") from error


def _scheduler_file(on: str, path: Path) -> str:
    try:
        address = json.loads(path.read_text(encoding="utf-8"))["address"]
    except OSError as error:
        raise ConfigError(f"--on {on}: {error.strerror}: {_SCHEDULER_FILE}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"--on {on}: {_SCHEDULER_FILE}") from error
    return str(address)


def _batch_system(on: str, kind: str, jobs: int) -> Deployment:
    """Starts a scheduler here and asks the batch system for workers, as jobqueue.yaml says.

    Raises:
        ConfigError: the batch system is not installed here, or jobqueue.yaml does not say enough.
        FlashweirError: the scheduler can't be started.
    """
    with _no_warnings():
        import dask
        import dask_jobqueue
        from distributed.core import Status

    make = getattr(dask_jobqueue, BATCH_SYSTEMS[kind])
    submit = make.job_cls.submit_command.split()[0]
    if shutil.which(submit) is None:
        raise ConfigError(f"--on {on}: {submit} is not on PATH: expected to run where jobs can be submitted")
    failures: list[str] = []
    base: Any = make.job_cls

    class Job(base):  # type: ignore[misc]
        """A job that says so if it is refused, where the cluster would only log it, and does not upset its closing."""

        async def start(self) -> None:
            try:
                await super().start()
            except Exception as error:  # noqa: BLE001 - reported through `failures`
                failures.append(_refusal(submit, error))
                self.status = Status.running

        async def close(self) -> None:
            await super().close()
            self.status = Status.closed

    def setting(name: str) -> Any:  # noqa: ANN401 - whatever the file holds
        return dask.config.get(f"jobqueue.{kind}.{name}", None)

    if setting("cores") is None or setting("memory") is None:
        where = f"expected jobqueue.{kind}.cores and jobqueue.{kind}.memory in ~/.config/dask/jobqueue.yaml"
        raise ConfigError(f"--on {on}: {where} (docs/guide/cluster.md)")
    # A user who wants the dashboard names its port; without, it must not clash with that of another sweep.
    options = {"dashboard_address": ":0", **(setting("scheduler-options") or {})}
    # The engine releases the GIL, and the runs of one process share traces: processes are of no use.
    processes = setting("processes") or 1
    try:
        with _no_warnings():
            cluster = make(job_cls=Job, processes=processes, scheduler_options=options, silence_logs=logging.CRITICAL)
    except Exception as error:
        raise FlashweirError(f"--on {on}: no Dask scheduler could be started here: {_line(error)}") from error

    def keep_up() -> None:
        """Asks for jobs, and for others in place of those that have ended."""
        cluster.scale(jobs=jobs)

    try:
        client = connect(cluster.scheduler_address)
    except BaseException:
        cluster.close(timeout=CLOSE_S)
        raise
    return Deployment(on, client, keep_up, failures, lambda: cluster.close(timeout=CLOSE_S))


def _refusal(submit: str, error: Exception) -> str:
    """Message of the batch system, out of dask-jobqueue's account of it."""
    found = re.search(r"stderr:\n(.*)", str(error), re.DOTALL)
    text = " ".join((found[1] if found else str(error)).split())
    return f"{submit} failed: {text or _line(error)}"


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


@contextmanager
def _no_warnings() -> Iterator[None]:
    """Other versions elsewhere, a port that is taken: what matters comes as an error, the rest need not be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# Address forms of a scheduler of another process.
SCHEMES = ("tcp", "tls", "ws", "wss")


class Quiet:
    """Keeps the loggers of Dask off the user's screen until `end`: what matters of it comes as an error."""

    def __init__(self) -> None:
        """Raises their levels."""
        # Its import sets the levels, so it has to come first.
        import distributed  # noqa: F401

        names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in _NOISY]
        loggers = [logging.getLogger(name) for name in {*names, *_NOISY}]
        self._levels = [(logger, logger.level) for logger in loggers]
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)

    def end(self) -> None:
        """Sets them back."""
        for logger, level in self._levels:
            logger.setLevel(level)
