"""Host of a load: threads with queues of limited depth, each of which holds requests back while its queue is full.

A request enters when it is due, or when the completion comes that makes room for it, if that is later. Threads keep
their order. Requests are submitted ahead as far as a queue has room, and the drive stops at each completion only while
a thread is late, so that a load below saturation takes few steps.
"""

from typing import TYPE_CHECKING

import numpy as np

from flashweir.fitting.traffic import Requests, Source
from flashweir.submission import OPERATIONS

if TYPE_CHECKING:
    import numpy.typing as npt

    from flashweir.drive import Drive

_NEVER = np.iinfo(np.int64).max
_READ, _WRITE = (OPERATIONS.index(name) for name in ("read", "write"))
# Requests that a thread gets at a time if it goes as fast as the drive does.
_BLOCK = 1024


class _Thread:
    """Requests of one thread in the order of their times: `at` is the first that was not submitted."""

    def __init__(self) -> None:
        self.at = 0
        self.outstanding = 0
        self.due: list[int] = []
        self.is_write: list[bool] = []
        self.offset: list[int] = []

    def add(self, more: Requests) -> None:
        """Appends requests; those submitted are dropped."""
        self.due = self.due[self.at :] + more.time_ns.tolist()
        self.is_write = self.is_write[self.at :] + more.is_write.tolist()
        self.offset = self.offset[self.at :] + more.offset.tolist()
        self.at = 0


class Host:
    """Threads that put a load on a drive; `run` goes on with it until a time.

    Attributes:
        due_ns: due times of all requests that were submitted, in that order; 0 where any time is right.
        first: number of the first of them.
    """

    def __init__(self, drive: "Drive", source: Source, cap: int, until_ns: int) -> None:
        """Makes the arrivals of all threads until a time, which `run` does not pass."""
        # The methods of Drive check and convert for longer than a step takes.
        self._native = drive._drive  # noqa: SLF001 - the same package
        self._record = drive.poll().dtype
        self._tenant_at = int(self._record.fields["tenant"][1]) if self._record.fields else 0
        self._source = source
        self._cap = cap
        self._threads = [_Thread() for _ in range(source.threads)]
        self._ended: list[bytearray] = []
        self.due_ns: list[int] = []
        self.first: int | None = None
        for made in source.poisson(drive.now_ns, until_ns):
            self._spread(made)
        # When the first request is due that the queue of a thread has no room for, by thread.
        self._held = [self._submit(number) for number in range(len(self._threads))]

    def run(self, until_ns: int, most: int = _NEVER) -> None:
        """Advances the drive, and submits what has room; ends early after so many requests from the beginning.

        Raises:
            FlashweirError: the drive can't go on.
        """
        drive, held = self._native, self._held
        while (now := drive.now_ns) < until_ns and len(self.due_ns) < most:
            if (next_ns := min(held)) > now:
                drive.advance_to(min(next_ns, until_ns))
            else:
                drive.advance_to_completion(until_ns)
            if done := drive.poll():
                self._completed(done)

    def _completed(self, done: bytearray) -> None:
        self._ended.append(done)
        tenants = [done[at] | done[at + 1] << 8 for at in range(self._tenant_at, len(done), self._record.itemsize)]
        for number in sorted(set(tenants)):
            self._threads[number].outstanding -= tenants.count(number)
            self._held[number] = self._submit(number)

    def _submit(self, number: int) -> int:
        """Submits what a thread's queue has room for. Returns when the request is due that it has no room for."""
        thread, now = self._threads[number], self._native.now_ns
        while thread.at < len(thread.due) or self._has_more(number):
            at = thread.at
            if thread.outstanding == self._cap:
                return thread.due[at]
            op, entry_ns = _WRITE if thread.is_write[at] else _READ, max(now, thread.due[at])
            made = self._native.submit_one(op, thread.offset[at], self._source.size, entry_ns, number)
            self.first = made if self.first is None else self.first
            self.due_ns.append(thread.due[at])
            thread.at += 1
            thread.outstanding += 1
        return _NEVER

    def _has_more(self, number: int) -> bool:
        """Makes more requests for a thread that goes as fast as the drive does; False if it has none."""
        made = self._source.at_once(number, _BLOCK)
        if made is not None:
            self._spread(made)
        return made is not None

    def _spread(self, made: Requests) -> None:
        for number in np.unique(made.thread).tolist():
            self._threads[number].add(made.part(made.thread == number))

    def completions(self) -> "npt.NDArray[np.void]":
        """Records of all completions so far; `issue_ns` is when a request entered its queue."""
        return np.frombuffer(b"".join(self._ended), dtype=self._record)
