"""A simulated drive that a program steps: requests in, time forward, completions out."""

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from flashweir import _native
from flashweir._native import ConfigError, FlashweirError
from flashweir.allocators import Allocator, as_native, use_allocator
from flashweir.api import Progress, as_json, as_native_progress, device_name, name_device
from flashweir.arguments import check_path, in_python
from flashweir.external import Given, given, split, to_load
from flashweir.options import run
from flashweir.options.option import as_spec, checked, declared
from flashweir.parts import LatencyParts
from flashweir.result import Result
from flashweir.settings import chosen
from flashweir.submission import OPERATIONS, by_field, columns, scalar
from flashweir.tenants import AnyPath

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_MAX_U64 = (1 << 64) - 1
_T = TypeVar("_T")


class Drive:
    """A simulated drive whose caller is its host.

    The caller submits requests for the present or for later, advances the clock, and polls completions. Times are
    integer nanoseconds on the drive's clock, which starts at 0; offsets and lengths are bytes, multiples of 512.
    Stepping in any slices gives what `simulate` gives with `host.mode=open`. A closed loop submits the next request
    when one completes (docs/guide/stepping-a-drive.md).

    The GIL is released while the drive works. Ctrl-C stops `advance_to` and `drain` on the way, and the drive can go
    on. One thread at a time steps a drive. It is a context manager, which closes it.
    """

    @declared
    @in_python
    def __init__(
        self,
        device: AnyPath | Mapping[str, Any] | None = None,
        *,
        seed: run.Seed = None,
        verify: run.Verify = False,
        latency_parts: run.Breakdown = False,
        tenants: Sequence[str] = (),
        allocator: run.ChannelAllocator = None,
        model: run.Model = None,
        windows: run.Windows = False,
        progress: Progress | None = None,
        set: Mapping[str, object] | None = None,
        **overrides: object,
    ) -> None:
        """Makes a drive and brings it into the state that its `precondition` says, untimed.

        Args:
            device: a preset's name, the path of a TOML or JSON file, or a configuration as a mapping (such as
                `Result.config`). `None` is the default drive. A host with a closed loop is replaced by open arrivals.
            tenants: names of tenants, to which requests then belong by number or name.
            progress: that of `simulate`, with the phase "precondition".
            set: keys of the drive by their dotted names, as in `simulate`. Of the host there are `host.slots`,
                `host.arbitration` and `host.weights`.
            overrides: the same as keyword arguments.

        Raises:
            ConfigError: a key, value or combination that makes no drive that can be stepped.
            FlashweirError: preconditioning failed, or `progress` stopped it.
        """
        options = checked(Drive.__init__, locals())
        check_path("device", device)
        if isinstance(tenants, str) or not all(isinstance(name, str) for name in tenants):
            raise ConfigError(f"tenants: {tenants!r}: expected a list of names")
        settings, functions = split(chosen(set, overrides))
        if allocator is not None:
            use_allocator(settings, functions)
        spec_options = {**as_spec(Drive.__init__, options), "tenants": list(tenants)}
        with tempfile.TemporaryDirectory(prefix="flashweir-") as scratch:
            spec = {"device": device_name(device, Path(scratch)), "overrides": settings, "options": spec_options}
            native = None if allocator is None else as_native(allocator)
            try:
                with given(functions) as self._given:
                    self._drive = _native.Drive(as_json(spec), as_native_progress(progress), native)
            except ConfigError as error:
                name_device(error, Path(scratch))
                raise

    @classmethod
    def _of(cls, drive: _native.Drive, policies: Given) -> Self:
        made = cls.__new__(cls)
        made._drive, made._given = drive, policies  # noqa: SLF001 - its own class
        return made

    def _step(self, call: Callable[..., _T], *args: object) -> _T:
        """Calls the native drive. The exception of a policy becomes the cause of an error."""
        try:
            return call(*args)
        except FlashweirError as error:
            if type(error) is FlashweirError:  # others are about the call
                self._given.explain(error)
            raise

    @property
    def now_ns(self) -> int:
        """The present: everything up to this time has happened."""
        return self._drive.now_ns

    @property
    def outstanding(self) -> int:
        """Requests submitted that are not complete by the present, those for later included."""
        return self._drive.outstanding

    @property
    def capacity_bytes(self) -> int:
        """The capacity."""
        return self._drive.capacity_bytes

    @property
    def config(self) -> dict[str, Any]:
        """The complete configuration."""
        found: dict[str, Any] = json.loads(self._drive.config_json)
        return found

    @property
    def tenants(self) -> tuple[str, ...]:
        """Names of the tenants, by number."""
        return self._drive.tenants

    @property
    def closed(self) -> bool:
        """True once the drive was closed, or its run finished."""
        return self._drive.closed

    def submit(
        self,
        requests: object = None,
        /,
        *,
        op: object = None,
        offset: object = None,
        length: object = None,
        time_ns: object = None,
        tenant: object = None,
    ) -> range:
        """Submits requests: all of them, or none if one is refused.

        Each field is one value, that of all requests, or a column: a numpy array, a list, a series of a frame.

        Args:
            requests: instead of the fields by keyword: a mapping or frame of columns, a numpy record array, or a list
                of mappings, with these fields.
            op: `"read"`, `"write"`, `"trim"` or `"flush"`, or a command to a zone such as `"append"`.
            offset: first byte; a flush has none.
            length: bytes; a flush has none.
            time_ns: arrival, not before the present and in any order; None is the present.
            tenant: number or name; None is the first.

        Returns:
            Their numbers, by which completions name them.

        Raises:
            ConfigError: a field of the wrong type or shape, or an unknown one.
            TraceError: a request before the present or beyond the drive; the message says which one.
            FlashweirError: the drive is closed, or can't go on.
        """
        given = {"op": op, "offset": offset, "length": length, "time_ns": time_ns, "tenant": tenant}
        if requests is not None:
            if twice := [name for name, value in given.items() if value is not None]:
                raise ConfigError(f"{twice[0]}: expected either requests or fields by keyword")
            given.update(by_field(requests))
        if (number := self._submit_one(given)) is not None:
            return range(number, number + 1)
        found = columns(given, self._drive.now_ns, self._drive.tenants)
        first = self._step(self._drive.submit, *found)
        return range(first, first + len(found.op))

    def _submit_one(self, given: Mapping[str, object]) -> int | None:
        """Submits one request of plain values, without numpy. None if it is another one."""
        op, offset, length = given["op"], scalar(given["offset"]), scalar(given["length"])
        if not isinstance(op, str) or op not in OPERATIONS or offset is None or length is None:
            return None
        time_ns, tenant = scalar(given["time_ns"]), scalar(given["tenant"])
        if (time_ns is None) != (given["time_ns"] is None) or (tenant is None) != (given["tenant"] is None):
            return None
        if min(offset, length, time_ns or 0, tenant or 0) < 0 or (tenant or 0) >= len(self._drive.tenants):
            return None
        if max(offset, length, time_ns or 0) > _MAX_U64:
            return None
        return self._step(self._drive.submit_one, OPERATIONS.index(op), offset, length, time_ns, tenant or 0)

    def advance_to(self, time_ns: int) -> None:
        """Advances the present: everything due by then happens. Idempotent.

        Raises:
            ConfigError: the time lies before the present.
            FlashweirError: the drive is closed, or can't go on.
            KeyboardInterrupt: Ctrl-C; the present lies somewhere on the way.
        """
        self._step(self._drive.advance_to, _time(time_ns, "time_ns"))

    def wait(self, until_ns: int | None = None) -> "npt.NDArray[np.void]":
        """Advances the present to the next completion, but not beyond `until_ns`, and polls.

        Completions that were not polled yet count as next. Without a limit, none is returned only if nothing is
        outstanding.

        Raises:
            ConfigError: the limit lies before the present.
            FlashweirError: the drive is closed, or can't go on.
        """
        self._step(self._drive.advance_to_completion, None if until_ns is None else _time(until_ns, "until_ns"))
        return self.poll()

    def drain(self) -> None:
        """Advances the present until nothing is outstanding; completions are there to be polled."""
        self._step(self._drive.drain)

    def poll(self) -> "npt.NDArray[np.void]":
        """Takes the requests that have completed by the present and were not polled before.

        Returns:
            A numpy record array, in the order of completion: `number`, `issue_ns` (arrival), `complete_ns`,
            `latency_ns`, `offset` (of an append the one that it was given) and `length` in bytes, `tenant` (a number),
            `op`, `status`; with `latency_parts`, `host_queue_ns` and so on. The status is NVMe's, with its type above
            its code: 0 if the request did not fail, 281h for a page that could not be read, 20h for a write or TRIM
            to a drive that is read-only, 02h, 80h and 1B6h to 1BFh for rules of zones.
        """
        import numpy as np

        return np.frombuffer(self._step(self._drive.poll), dtype=_record(self._drive.latency_parts))

    def fork(self) -> Self:
        """A second drive in the same state, outstanding requests included.

        Neither sees what is done to the other. Maps are shared until one side writes them, so a fork is cheap.
        """
        return self._of(self._step(self._drive.fork), self._given)

    def __copy__(self) -> Self:
        """The same as `fork`."""
        return self.fork()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """The same as `fork`."""
        return self.fork()

    def stats(self) -> Result:
        """The statistics at the present: requests that are complete, flash commands that were made.

        Its fields are those of `simulate`. Where times are worked out at once (`engine` is `busy-until`), flash
        commands count from when their request arrives.
        """
        return Result(self._step(self._drive.stats))

    def reset_stats(self) -> None:
        """Forgets the statistics so far: those to come are about requests submitted from now on.

        Wear, and what an allocator did, go on from when the drive was new.
        """
        self._step(self._drive.reset_stats)

    def finish(self) -> Result:
        """Ends the run as `simulate` does, which lets everything submitted complete, and closes the drive.

        Returns:
            The result of the whole run. `fork().finish()` says what it would be, and the drive goes on.
        """
        return Result(self._step(self._drive.finish))

    def save(self, path: AnyPath) -> None:
        """Writes the complete state to a file, outstanding requests and completions that were not polled included.

        The file appears once it is on the disk, in place of one of that name: after a crash there is one of the two.

        Raises:
            FlashweirError: the file can't be written, or the drive is closed.
        """
        self._step(self._drive.save, os.fsdecode(path))

    @classmethod
    def load(
        cls,
        path: AnyPath,
        *,
        allocator: Allocator | str | None = None,
        policies: Mapping[str, Callable[..., Any]] | None = None,
    ) -> Self:
        """A drive that was saved, exactly as it was, its options included.

        Args:
            path: the file.
            allocator: for a drive with `tenants.channels=external` and no `tenants.channels_file`: a function can't be
                saved with the drive.
            policies: the same for functions that were given for other keys: `{"gc.victim": pick}`; all of them, and no
                others.

        Raises:
            ConfigError: the file is no saved drive, is damaged, or was saved by another engine (by another build of
                flashweir): its state may mean something else there. A function is missing, or is not asked.
        """
        native = None if allocator is None else as_native(allocator)
        with given(to_load(policies)) as mine:
            drive = _native.Drive.load(os.fsdecode(path), native)
        if unused := [slot for slot in mine.functions if slot not in mine.asked]:
            drive.close()
            raise ConfigError(f"policies: {unused[0]}: the saved drive asks no such function: leave it out")
        return cls._of(drive, mine)

    def close(self) -> None:
        """Lets go of the drive and its memory. Idempotent."""
        self._drive.close()
        self._given = Given({})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<Drive: closed>"
        return f"<Drive: {self.capacity_bytes:,} bytes, at {self.now_ns:,} ns, {self.outstanding:,} outstanding>"


@cache
def _record(latency_parts: bool) -> "np.dtype[np.void]":
    """A completion as the native module packs it."""
    import numpy as np

    times = ("number", "issue_ns", "complete_ns", "latency_ns", "offset", "length")
    found = [(name, "<u8") for name in times] + [("tenant", "<u2"), ("status", "<u2"), ("op", "<U5")]
    if latency_parts:
        found += [(f"{part.name}_ns", "<u8") for part in fields(LatencyParts)]
    return np.dtype(found)


def _time(value: object, name: str) -> int:
    found = scalar(value)
    if found is None:
        raise ConfigError(f"{name}: {value!r}; expected a whole number of nanoseconds")
    if not 0 <= found <= _MAX_U64:
        raise ConfigError(f"{name}: {found}; expected nanoseconds from 0 on, below 2^64")
    return found
