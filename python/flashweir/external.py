"""Policies in Python: functions for `gc.victim`, `gc.planner`, `ftl.classifier`, background, destage and channels.

Guide: docs/guide/python-policies.md. An allocator of channels (`flashweir.allocators`) may keep a history; for all
others:

A function is pure: its answer depends only on its view. The engine asks again when its view has changed; a change of
the time alone, or of how many pages of a unit wait as long as some do, is none. Arrays are read-only and belong to the
function, which may keep them.
"""

import contextlib
import contextvars
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flashweir import answers
from flashweir._native import ConfigError, FlashweirError
from flashweir.allocators import as_native
from flashweir.functions import called_exit, load_function

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["BackgroundView", "ClassifierView", "DestageView", "PlannerView", "VictimView"]


@dataclass(slots=True)
class VictimView:
    """View for `gc.victim`: one unit, with the full blocks that a collection may take. Arrays have one element a block.

    The function returns the number of one of `blocks`, or None for no block.

    Attributes:
        unit: number of the unit.
        now: host pages written to the unit so far, the clock of `filled_at`.
        pages_per_block: pages of a block.
        blocks: numbers of the blocks, in no order.
        valid: their valid pages.
        filled_at: host pages written to the unit when they were filled.
        erases: their erases.
    """

    unit: int
    now: int
    pages_per_block: int
    blocks: "NDArray[np.uint32]"
    valid: "NDArray[np.uint32]"
    filled_at: "NDArray[np.uint64]"
    erases: "NDArray[np.uint32]"


@dataclass(slots=True)
class PlannerView:
    """View for `gc.planner`. Arrays have one element a unit.

    The function returns numbers of units. With `gc.planner_together=true` it is asked when a unit must collect before
    it can write (`must`), and names the units that collect with it, step by step. Otherwise `must` is None, and
    it names the units that collect ahead when they have nothing to write.

    Attributes:
        must: unit that must collect; None if the question is which units collect ahead.
        buffer_full: the write buffer is full.
        others_must: a unit is in mandatory collection.
        dirty_pages: pages of the unit that wait in the write buffer.
        spare_blocks: erased blocks that the unit may fill before it must collect.
        under_way: the unit is in the middle of a victim that was begun ahead.
    """

    must: int | None
    buffer_full: bool
    others_must: bool
    dirty_pages: "NDArray[np.uint32]"
    spare_blocks: "NDArray[np.uint64]"
    under_way: "NDArray[np.bool_]"


@dataclass(slots=True)
class BackgroundView:
    """View for `background.kind`. Arrays have one element a unit.

    The function returns steps as tuples `(unit, work)` or `(unit, work, "should")`, with `work` one of "collect",
    "level" and "write_back"; "should" makes the step between the commands of others, otherwise it is made when the unit
    is idle.
    A mapping says more: `"steps"`; `"ask_again_ns"`, a time at which to ask again though nothing changes; and the units
    that matter. With `"ask_spare_below"` (a number of blocks) or `"ask_idle_ns"` (a time) a unit is *ready* if it has
    fewer spare blocks or is in the middle of a victim, and has been idle for so long. The function is then asked
    again when one more unit is ready, and no sooner; the steps of a unit stand as long as it is.

    Attributes:
        now_ns: the present, ns.
        idle_since_ns: since when the unit's dies have done nothing but steps of the background, ns; -1 if they do more.
        dirty_pages: pages that wait in the write buffer for the unit.
        spare_blocks: erased blocks that the unit may fill before it must collect.
        under_way: the unit is in the middle of a victim.
    """

    now_ns: int
    idle_since_ns: "NDArray[np.int64]"
    dirty_pages: "NDArray[np.uint32]"
    spare_blocks: "NDArray[np.uint64]"
    under_way: "NDArray[np.bool_]"


@dataclass(slots=True)
class DestageView:
    """View for `buffer.destage`: the write buffer.

    The function returns True to write waiting pages to flash now, False not to, or a time in ns before which not to.

    Attributes:
        now_ns: the present, ns.
        idle_since_ns: since when all dies have done nothing for the host, ns; None if one does.
        dirty_pages: pages that wait in the buffer.
        pages: pages that the buffer holds.
    """

    now_ns: int
    idle_since_ns: int | None
    dirty_pages: int
    pages: int


@dataclass(slots=True)
class ClassifierView:
    """View for `ftl.classifier`: the last block of writes to a map. Arrays have one element a write, in their order.

    The function returns a group for each write, as a list or array of numbers from 0 to `groups - 1`. The next version
    of the page goes to that group of the host, and the page, when it is moved, to that group of relocated pages. Of
    several writes of a page the last one counts.

    Attributes:
        map: number of the map: that of a unit, or 0 where all units share one.
        now: host pages written to the map so far.
        groups: `ftl.groups`.
        pages: numbers of the pages in the map.
        lived: host pages written to the map since the version before, rounded to blocks; -1 if there was none.
        handles: placement handles of the requests.
    """

    map: int
    now: int
    groups: int
    pages: "NDArray[np.uint32]"
    lived: "NDArray[np.int64]"
    handles: "NDArray[np.uint8]"


Policy = Callable[[Any], Any]

# Lengths for which arrays of a view are kept.
_MAX_COUNTS = 16


class Given:
    """Functions given to one call, or to a drive that is stepped, and the exception that one of them raised."""

    def __init__(self, functions: Mapping[str, Policy], instead: str = "simulate(set={{{slot!r}: function}})") -> None:
        """Takes functions by slot. `instead` is the call that gives one, for messages."""
        self.functions = functions
        self.instead = instead
        self.asked: set[str] = set()
        self.raised: BaseException | None = None
        self._interrupted = False

    def explain(self, error: FlashweirError) -> None:
        """Makes the exception of a function the cause of the error that it led to.

        Raises:
            KeyboardInterrupt: Ctrl-C in a function; of later errors it is the cause.
        """
        raised = self.raised
        if isinstance(raised, KeyboardInterrupt) and not self._interrupted:
            self._interrupted = True
            raise raised from None
        if raised is not None:
            # `sys.exit` is a failure of its function.
            error.__cause__ = raised


_given: contextvars.ContextVar[Given | None] = contextvars.ContextVar("_given", default=None)


def split(settings: Mapping[str, object]) -> tuple[dict[str, object], dict[str, Policy]]:
    """Separates functions from other settings; each function's key becomes `external`.

    Raises:
        ConfigError: a function for a key that takes none.
    """
    plain = dict(settings)
    functions: dict[str, Policy] = {}
    for key, value in settings.items():
        if not callable(value):
            continue
        if key not in _SLOTS:
            known = ", ".join(_SLOTS)
            raise ConfigError(f"{key}: a function: expected a value (functions are taken by {known})")
        functions[key] = value
        plain[key] = "external"
    return plain, functions


def to_load(policies: object) -> Given:
    """The functions for a drive that is loaded.

    Raises:
        ConfigError: they are no functions by keys that take one.
    """
    if policies is None:
        policies = {}
    if not isinstance(policies, Mapping):
        raise ConfigError(f"policies: {answers.shown(policies)}: expected a mapping of keys to functions")
    for key, function in policies.items():
        if key not in _SLOTS:
            raise ConfigError(f"policies: {key!r}: expected one of {', '.join(_SLOTS)}")
        if not callable(function):
            raise ConfigError(f"policies: {key}: {answers.shown(function)}: expected a function")
    return Given(policies, "Drive.load(..., policies={{{slot!r}: function}})")


@contextlib.contextmanager
def given(functions: Mapping[str, Policy] | Given) -> Iterator[Given]:
    """Makes functions known to the simulations that the body sets up; their exceptions become causes of its errors."""
    mine = functions if isinstance(functions, Given) else Given(functions)
    token = _given.set(mine)
    try:
        yield mine
    except FlashweirError as error:
        mine.explain(error)
        raise
    finally:
        _given.reset(token)


def load(slot: str, file: str) -> Callable[..., object]:
    """The function of a slot as the engine asks it: raw views in, a checked answer out. Called by the engine.

    Raises:
        ConfigError: there is no such function.
    """
    mine = _given.get()
    adapt, key = _SLOTS[slot]
    function = _of_file(file, key, mine) if file else None
    if function is None:
        function = mine.functions.get(slot) if mine else None
        if mine is None or function is None:
            instead = (mine or Given({})).instead.format(slot=slot)
            raise ConfigError(f"expected a function: {key}=FILE.py:FUNCTION, or {instead}")
        mine.asked.add(slot)
    adapted = adapt(function)
    place = file or f"function {getattr(function, '__name__', type(function).__name__)}"

    def ask(*view: object) -> object:
        try:
            return adapted(*view)
        except BaseException as error:
            if mine is not None:
                mine.raised = error
            if isinstance(error, KeyboardInterrupt):
                raise
            if isinstance(error, Exception):
                named = "" if isinstance(error, ConfigError) else f"{type(error).__name__}: "
                raise ConfigError(answers.one_line(f"{named}{error}")) from error
            # It would end the command without a message.
            raise ConfigError(f"{place} {called_exit(error)}: expected an answer") from error

    return ask


def _of_file(file: str, key: str, mine: Given | None) -> Policy:
    """The function of a file, which runs now."""
    try:
        return load_function(file, key)
    except BaseException as error:
        if mine is not None:
            mine.raised = error.__cause__ if isinstance(error, ConfigError) else error
        raise


class _Arrays:
    """The read-only arrays of a view, refreshed in place unless the function has kept one of them."""

    def __init__(self, *dtypes: str) -> None:
        """Takes the types of the arrays in the order in which they lie in the engine's bytes."""
        self._dtypes = dtypes
        self._by_count: dict[int, tuple[bytearray, tuple[NDArray[Any], ...], int]] = {}

    def of(self, count: int, data: bytes) -> "tuple[NDArray[Any], ...]":
        """Arrays of `count` elements each."""
        known = self._by_count.get(count)
        if known is not None:
            memory, arrays, references = known
            if max(map(sys.getrefcount, arrays)) <= references:
                memory[:] = data
                return arrays
        if len(self._by_count) >= _MAX_COUNTS:
            self._by_count.clear()
        self._by_count[count] = self._made(count, data)
        return self._by_count[count][1]

    def _made(self, count: int, data: bytes) -> "tuple[bytearray, tuple[NDArray[Any], ...], int]":
        import numpy as np

        memory, place, made = bytearray(data), 0, []
        for dtype in self._dtypes:
            array = np.frombuffer(memory, dtype, count, place)
            array.flags.writeable = False
            place += array.nbytes
            made.append(array)
        arrays = tuple(made)
        del array, made
        # References that an array has as long as nobody else keeps it.
        return memory, arrays, max(map(sys.getrefcount, arrays))


def _victim(function: Policy) -> Callable[..., int | None]:
    arrays = _Arrays("<u8", "<u4", "<u4", "<u4")

    def ask(unit: int, now: int, pages_per_block: int, count: int, data: bytes) -> int | None:
        filled_at, blocks, valid, erases = arrays.of(count, data)
        answer = function(VictimView(unit, now, pages_per_block, blocks, valid, filled_at, erases))
        return None if answer is None else answers.number(answer, "the number of a block, or None")

    return ask


def _planner(function: Policy) -> Callable[..., list[int]]:
    arrays = _Arrays("<u8", "<u4", "?")
    expected = "numbers of units, as a list or an array of one dimension (np.flatnonzero of a mask)"

    def ask(must: int | None, full: bool, others: bool, count: int, data: bytes) -> list[int]:
        spare, dirty, under_way = arrays.of(count, data)
        answer = function(PlannerView(must, full, others, dirty, spare, under_way))
        return answers.numbers(answer, "numbers of units", expected)

    return ask


def _background(function: Policy) -> Callable[..., answers.Steps]:
    arrays = _Arrays("<i8", "<u8", "<u4", "?")

    def ask(now_ns: int, count: int, data: bytes) -> answers.Steps:
        idle, spare, dirty, under_way = arrays.of(count, data)
        return answers.steps(function(BackgroundView(now_ns, idle, dirty, spare, under_way)))

    return ask


def _destage(function: Policy) -> Callable[..., bool | int]:
    import numpy as np

    def ask(now_ns: int, idle_since_ns: int | None, dirty_pages: int, pages: int) -> bool | int:
        answer = function(DestageView(now_ns, idle_since_ns, dirty_pages, pages))
        if isinstance(answer, (bool, np.bool_)):
            return bool(answer)
        return answers.time_ns(answer, "True, False, or a time in ns")

    return ask


def _classifier(function: Policy) -> Callable[..., list[int]]:
    arrays = _Arrays("<i8", "<u4", "u1")
    expected = "a group for each page, as a list or array of whole numbers"

    def ask(map_: int, now: int, groups: int, count: int, data: bytes) -> list[int]:
        lived, pages, handles = arrays.of(count, data)
        answer = function(ClassifierView(map_, now, groups, pages, lived, handles))
        return answers.numbers(answer, "the number of a group", expected)

    return ask


# Slots that take functions: their form, and the key that names a file.
_SLOTS: dict[str, tuple[Callable[[Policy], Callable[..., object]], str]] = {
    "gc.victim": (_victim, "gc.victim_file"),
    "gc.planner": (_planner, "gc.planner_file"),
    "background.kind": (_background, "background.file"),
    "buffer.destage": (_destage, "buffer.destage_file"),
    "ftl.classifier": (_classifier, "ftl.classifier_file"),
    "tenants.channels": (as_native, "tenants.channels_file"),
}
