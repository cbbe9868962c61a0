"""Many traces: each is characterized for itself, several at a time, and counts as soon as its line is on the disk."""

import time
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashweir._native import ConfigError, TraceError
from flashweir.character.kept import Kept, Row, key_of
from flashweir.character.places import Local, OnCluster, Place, Task

if TYPE_CHECKING:
    from flashweir.api import Progress

# Suffixes of files in a folder of traces that are no traces.
_DOCUMENTS = ("*.md", "*.html", "*.pdf", "*.jsonl", "*.sh", "*.part")
# Between two looks at what has come.
_LOOK_S = 0.2


def characterize_all(
    folder: str | Path,
    output: str | Path,
    *,
    match: str = "*",
    on: str = "local",
    threads: int | None = None,
    resume: bool = False,
    progress: "Progress | None" = None,
    **settings: Any,  # noqa: ANN401 - those of `characterize`
) -> list[Row]:
    """Characterizes every trace of a folder; `output` gets a line of JSON each, as they come.

    Args:
        folder: where the traces are. Folders in it, hidden files and documents (`.md`, `.html`, ...) are not read.
        output: the lines, whose fields are in docs/reference/characterize.md. A killed run leaves those that it had.
        match: which files, as a pattern such as `"*.csv.zst"`.
        on: `"local"`, or a Dask cluster: an address such as `"tcp://..."`, `"file:PATH"`, or a batch system. Workers
            read the traces where they have the same file at the same place; others are sent to them.
        threads: how many at a time here; one a core.
        resume: goes on with what `output` holds: traces that are the same, with the same settings, are not read again.
        progress: is called with `phase` ("trace"), `done`, `total`, `fraction` and `elapsed_s`. Returning False stops.
        settings: those of `characterize`.

    Returns:
        A row a trace, in the order of their names; one that can't be read has `error`.

    Raises:
        ConfigError: a setting that makes no sense; a folder without traces; an `output` that is there without `resume`.
        FlashweirError: the cluster is lost, or `output` can't be written.
        KeyboardInterrupt: Ctrl-C; what was done is in `output`.
    """
    traces = traces_of(Path(folder), match, Path(output))
    make = _place(on, threads)
    with Kept(Path(output), resume=resume) as kept:
        tasks = [Task(trace, key_of(trace, settings), settings) for trace in traces]
        left = [task for task in tasks if task.key not in kept.rows]
        if left:
            _run(left, make, kept, len(tasks), progress)
        return [kept.rows[task.key] for task in tasks if task.key in kept.rows]


def traces_of(folder: Path, match: str, output: Path) -> list[Path]:
    """The files of a folder that are taken for traces.

    Raises:
        ConfigError: there is none.
    """
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    except OSError as error:
        raise ConfigError(f"{folder}: {error.strerror}") from error
    place = output.resolve()
    found = [
        path
        for path in files
        if fnmatchcase(path.name, match)
        and not any(fnmatchcase(path.name.lower(), pattern) for pattern in _DOCUMENTS)
        and path.resolve() != place
    ]
    if not found:
        raise ConfigError(f"{folder}: expected traces; there is no file that matches {match}")
    return found


def _place(on: str, threads: int | None) -> Callable[[], Place]:
    if on == "local":
        return lambda: Local(threads)
    if threads is not None:
        raise ConfigError(f"--on {on}: its workers have threads of their own: set them there")
    from flashweir.sweeps.deployment import deployment

    deploy = deployment(on)
    return lambda: OnCluster(deploy)


def _run(tasks: "list[Task]", make: Callable[[], Place], kept: Kept, total: int, progress: "Progress | None") -> None:
    started = time.monotonic()
    waiting, under_way = list(reversed(tasks)), 0
    place = make()
    try:
        while waiting or under_way:
            while waiting and place.room > 0:
                place.submit(waiting.pop())
                under_way += 1
            for task, text, error in place.collect(_LOOK_S):
                under_way -= 1
                kept.add(task.path, task.key, task.settings, text, error)
            done = total - len(waiting) - under_way
            state = {"phase": "trace", "done": done, "total": total, "fraction": done / total}
            if progress is not None and progress({**state, "elapsed_s": time.monotonic() - started}) is False:
                raise TraceError(f"stopped: {done} of {total} traces are done; resuming goes on")
    except KeyboardInterrupt:
        done = total - len(waiting) - under_way
        raise KeyboardInterrupt(
            f"{done} of {total} traces are done and kept in {kept.path}; --resume goes on"
        ) from None
    finally:
        place.close()


def row_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A line of the table: name, counts and shares of a row; None where it has none."""
    character = row.get("character") or {}
    writes, reads = character.get("writes") or {}, character.get("reads") or {}
    return {
        "trace": row["trace"],
        "requests": character.get("requests"),
        "read": reads.get("bytes"),
        "written": writes.get("bytes"),
        "sequential": writes.get("sequential_share"),
        "rewrites": writes.get("rewrite_share"),
        "aligned": writes.get("aligned_share"),
        "small": writes.get("small_share"),
        "suite": (character.get("suite") or {}).get("name"),
        "error": row["error"],
    }
