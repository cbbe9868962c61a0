"""The active diagnosis: tests in order, and what they say of the drive."""

from typing import TYPE_CHECKING

from flashweir._native import ConfigError, Session
from flashweir.diagnosis.active.buffer import Buffer, buffer
from flashweir.diagnosis.active.collection import Collection, collection
from flashweir.diagnosis.active.mapping import Mapping, mapping
from flashweir.diagnosis.active.medium import NOTHING, not_flash
from flashweir.diagnosis.active.ratios import Span, rounded, span_of
from flashweir.diagnosis.active.reads import Reads, read_under_write, reads, write_parallelism
from flashweir.diagnosis.active.session import KIB, MIB, Bench

if TYPE_CHECKING:
    from flashweir.api import Progress

FORMAT = "flashweir-diagnosis-2"
# Smaller drives have too few blocks for the closed form of greedy, and buffers as large as the phases.
_MIN_BYTES, _MAX_BLOCK = 8 * MIB, 16 * KIB
# Bytes that are written, in multiples of the capacity, at most.
WRITES = 22
# A page map in RAM saves a fifth of the time.
_SAVES = 0.8
# Confidence that a value lies in its interval.
_SURE = 0.8


def written_at_most(size: int) -> int:
    """Bytes that a diagnosis of a drive of `size` bytes writes, at most."""
    return WRITES * size


def check_size(session: Session, target: str) -> None:
    """Refuses a drive that is too small, or whose blocks are larger than pages."""
    size, block = session.size_bytes, session.block_bytes
    if size < _MIN_BYTES or block > _MAX_BLOCK:
        expected = f"expected at least {_MIN_BYTES} bytes in blocks of at most {_MAX_BLOCK}"
        raise ConfigError(f"{target}: {size} bytes in blocks of {block}: {expected}")


def diagnosed(session: Session, target: str, seed: int, progress: "Progress | None") -> dict[str, object]:
    """Runs all tests on a session; the JSON of the diagnosis."""
    bench = Bench(session, seed, progress, target=target)
    bench.expected_bytes = 8 * bench.size
    half = bench.size / 2
    bench.discard()
    filled = bench.pour(bench.in_order(0, half, 128 * KIB), half, 128 * KIB)
    bench.rest()
    read = reads(bench, half * 0.75)
    buffered = buffer(bench, half, read.flash_ns, span_of(filled.per_byte(half / 2)))
    written = write_parallelism(bench, half)
    under, _ = read_under_write(bench, "read-under-write", half, read.flash_ns)
    mapped = mapping(bench, read, buffered.size.value)
    collected = collection(bench, read, mapped, buffered)
    # Last, as it may write the drive: the tests find it as they were graded.
    if reason := _not_flash(bench, read):
        return _without_flash(bench, target, read, reason)
    _reconcile(mapped, collected)
    tests = [buffered.test, *mapped.tests, *read.tests, written, under, *collected.tests]
    symptoms = {
        "mapping": {"verdict": mapped.verdict, "reason": mapped.reason},
        "collection": {"verdict": collected.verdict, "reason": collected.reason},
        "buffer": {"verdict": buffered.test.verdict, "reason": buffered.reason},
    }
    return {
        "format": FORMAT,
        "target": target,
        "size_bytes": bench.session.size_bytes,
        "admissible": True,
        "not_flash": None,
        "verdict": verdict([str(one["verdict"]) for one in symptoms.values()]),
        "health": None,
        "drive": _drive(buffered, mapped, collected),
        "tests": [test.to_dict() for test in tests],
        "symptoms": symptoms,
        "buffer": {
            "at_least": buffered.at_least,
            "empties_s": buffered.empties_s,
            "flush_waits": buffered.flush_waits,
        },
        "read_us": rounded(read.flash_ns.value / 1e3),
        "written_bytes": bench.written_bytes,
        "elapsed_s": bench.elapsed_s(),
    }


def _not_flash(bench: Bench, found: Reads) -> str:
    """Reason why the target is no flash."""
    half = bench.size / 2
    bench.discard()
    bench.pour(bench.in_order(0, half, 128 * KIB), half, 128 * KIB)
    bench.rest()
    discards = span_of(bench.read(half, bench.size, 64)[0]).value < NOTHING * found.flash_ns.value
    return not_flash(bench, half * 0.75, found.flash_ns, discards=discards)


def _without_flash(bench: Bench, target: str, found: Reads, reason: str) -> dict[str, object]:
    """The JSON of a target that does not behave like flash: no verdict of what it has not."""
    unknown = {"verdict": "unknown", "reason": f"no flash: {reason}"}
    names = (
        "spare",
        "mapping_unit_bytes",
        "map_cache_bytes",
        "buffer_bytes",
        "write_amplification",
        "stall_max_us",
        "stall_time_share",
    )
    return {
        "format": FORMAT,
        "target": target,
        "size_bytes": bench.session.size_bytes,
        "admissible": False,
        "not_flash": reason,
        "verdict": "uncertain",
        "health": None,
        "drive": dict.fromkeys(names),
        "tests": [test.to_dict() for test in found.tests],
        "symptoms": {name: dict(unknown) for name in ("mapping", "collection", "buffer")},
        "buffer": {"at_least": False, "empties_s": None, "flush_waits": None},
        "read_us": rounded(found.flash_ns.value / 1e3),
        "written_bytes": bench.written_bytes,
        "elapsed_s": bench.elapsed_s(),
    }


def _reconcile(mapped: Mapping, collected: Collection) -> None:
    """Changes verdicts of the mapping by what the test of collection has shown, and the other way round."""
    if not collected.locality or mapped.merges:
        return
    ratios = [test.ratio for test in collected.locality]
    said = f"the map is on flash: random writes whose map fits the cache take {ratios[0]:.2f} of the time"
    said += f" of others, and {ratios[1]:.2f} of their 99th percentile"
    costs = min(ratios) <= _SAVES
    if mapped.verdict == "bad":
        # Random writes over half of the drive are slow, but misses cost too little for that.
        if mapped.by_misses and not costs and collected.locality[0].verdict == "good":
            mapped.verdict, mapped.reason = "uncertain", f"{mapped.reason}; but {said}"
        return
    # Without discards nothing shows merges.
    mapped.verdict = "bad" if costs else "good" if mapped.frees else "uncertain"
    mapped.reason = said


def verdict(verdicts: list[str]) -> str:
    """One word for the drive: `ill` if any symptom is bad, `healthy` if all are good."""
    for word, said in (("bad", "ill"), ("uncertain", "uncertain"), ("unknown", "uncertain")):
        if word in verdicts:
            return said
    return "healthy"


def _drive(buffered: Buffer, mapped: Mapping, collected: Collection) -> dict[str, object]:
    spans: dict[str, Span | None] = {
        "spare": collected.spare,
        "mapping_unit_bytes": mapped.unit,
        "map_cache_bytes": mapped.map_cache,
        "buffer_bytes": buffered.size,
        "write_amplification": collected.amplification,
        "stall_max_us": collected.stall_us,
        "stall_time_share": collected.stall_share,
    }
    counted = {"write_amplification"} if collected.counted else set()
    return {
        name: None
        if span is None
        else _value(span, "counter" if name in counted else "inferred", whole=name.endswith("_bytes"))
        for name, span in spans.items()
    }


def _value(span: Span, method: str, *, whole: bool) -> dict[str, object]:
    """A value with its interval; bytes are whole numbers, as sizes are."""
    wide = span.high > 2 * max(span.low, 1e-12) if span.high else False
    form = round if whole else rounded
    fields: dict[str, object] = {name: form(getattr(span, name)) for name in ("value", "low", "high")}
    return fields | {"sure": _SURE / 2 if wide else _SURE, "method": method}
