"""A model of the macroscopic view, written from its definition alone, and a trace for it."""

import random
from collections.abc import Sequence
from typing import NamedTuple


class Request(NamedTuple):
    """A request of a table: time in ns, operation, first sector, sectors."""

    time_ns: int
    op: str
    lba: int
    sectors: int


def drawn(seed: int, count: int) -> list[Request]:
    """Requests that go on, come back, and jump."""
    chance = random.Random(seed)  # noqa: S311 - nothing to hide
    requests: list[Request] = []
    time_ns = 0
    for _ in range(count):
        time_ns += chance.randrange(2_000_000)
        kind, earlier = chance.randrange(5), chance.choice(requests[-14:]) if requests else None
        lba = chance.randrange(40_000)
        if earlier and kind < 2:
            lba = earlier.lba + earlier.sectors
        elif earlier and kind == 2:
            lba = earlier.lba
        elif kind == 3:
            lba = lba // 8 * 8
        sectors = chance.choice([1, 8, 8, 8, 16, 24, 128, 1000])
        requests.append(Request(time_ns, chance.choice("RWW"), lba, sectors))
    return requests


def table(requests: Sequence[Request]) -> str:
    """The requests as an SSDsim trace."""
    return "".join(
        f"{request.time_ns} 0 {request.lba} {request.sectors} {int(request.op == 'R')}\n" for request in requests
    )


def shares(requests: Sequence[Request], op: str, gap: int, small_bytes: int) -> dict[str, float]:
    """Shares of the bytes, and what they are made of."""
    again = "rewrite" if op == "W" else "reread"
    touched: set[int] = set()
    ends: list[int] = []
    total, sums = 0, dict.fromkeys(("sequential", again, "aligned", "small"), 0)
    classes: dict[str, int] = {}
    for request in (request for request in requests if request.op == op):
        span = range(request.lba, request.lba + request.sectors)
        before = any(sector in touched for sector in span)
        sequential = request.lba in ends[-gap - 1 :]
        touched.update(span)
        ends.append(span.stop)
        total += request.sectors
        sums["sequential"] += request.sectors * sequential
        sums[again] += request.sectors * before
        sums["aligned"] += request.sectors * (span.start % 8 == 0 and span.stop % 8 == 0)
        sums["small"] += request.sectors * (request.sectors * 512 <= small_bytes)
        name = f"{again if before else 'first'}_{'sequential' if sequential else 'random'}"
        classes[name] = classes.get(name, 0) + request.sectors
    found = {f"{name}_share": part / total for name, part in {**sums, **classes}.items()}
    return {**found, "bytes": total * 512, "footprint_bytes": len(touched) * 512}
