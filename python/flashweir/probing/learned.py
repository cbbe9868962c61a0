"""Shares of answers that were right, by question and evidence, on drives of known structure.

Written by `python -m research.probing.learning`, from drives that grade nothing.
"""

RIGHT: dict[str, dict[str, tuple[int, int]]] = {
    "buffer.bytes": {
        "agree, noisy": (6, 6),
        "agree, quiet": (3, 3),
        "agree, regular": (7, 7),
        "disagree, noisy": (0, 1),
        "one of two, noisy": (1, 4),
        "read back, alone, noisy": (3, 7),
        "read back, alone, quiet": (16, 21),
        "read back, one agrees, noisy": (6, 8),
        "read back, one agrees, quiet": (12, 13),
        "read back, one agrees, regular": (2, 2),
        "read back, two agree, noisy": (14, 15),
        "read back, two agree, quiet": (9, 10),
        "read back, two agree, regular": (21, 21),
    },
    "channels": {
        "irregular": (28, 88),
        "regular, 0.3": (10, 10),
        "regular, 1": (20, 20),
    },
    "dies": {
        "irregular": (20, 88),
        "regular, 0.3": (10, 10),
        "regular, 1": (20, 20),
    },
    "flush_waits": {
        "0.9": (40, 40),
        "0.9, none": (36, 40),
    },
    "map_cache_bytes": {
        "0.6": (2, 4),
        "0.6, none": (111, 114),
    },
    "mapping_unit_bytes": {
        "0.5": (11, 13),
        "0.6": (10, 19),
        "0.9": (6, 7),
        "lone block, agree": (53, 53),
        "lone block, other": (12, 12),
    },
    "op_ratio": {
        "irregular": (11, 88),
        "regular, 1": (28, 30),
    },
    "page": {
        "dies, few, agree, noisy": (5, 5),
        "dies, few, other, noisy": (0, 2),
        "dies, most, agree, noisy": (12, 12),
        "dies, most, agree, quiet": (18, 18),
        "dies, most, other, noisy": (4, 7),
        "dies, most, other, quiet": (8, 8),
        "page by a lone block, noisy": (4, 5),
        "page by a lone block, quiet": (4, 7),
        "page by sizes, noisy": (5, 9),
        "page by sizes, quiet": (7, 10),
        "regular, 1": (30, 30),
        "steps, most, agree, quiet": (0, 2),
        "steps, most, other, noisy": (0, 1),
        "steps, most, other, quiet": (0, 2),
    },
    "pages_per_block": {
        "irregular": (23, 88),
        "regular, 1": (30, 30),
    },
    "planes": {
        "irregular": (84, 88),
        "regular, 1": (30, 30),
    },
    "slc_cache_bytes": {
        "0.5, none": (38, 42),
        "0.6": (3, 12),
        "0.6, none": (63, 64),
    },
    "timing.bus": {
        "bus or array, noisy": (6, 15),
        "bus or array, quiet": (17, 28),
        "bus unseen, noisy": (6, 16),
        "bus unseen, quiet": (1, 3),
        "bus, noisy": (2, 10),
        "bus, quiet": (12, 16),
        "regular, 0.3": (1, 10),
        "regular, 1": (18, 20),
    },
    "timing.erase": {
        "irregular": (2, 88),
        "regular, 1": (30, 30),
    },
    "timing.program": {
        "program unseen, noisy": (2, 13),
        "program unseen, quiet": (2, 20),
        "program with transfer, noisy": (6, 12),
        "program with transfer, quiet": (0, 1),
        "program, noisy": (12, 16),
        "program, quiet": (11, 26),
        "regular, 0.6": (8, 10),
        "regular, 1": (20, 20),
    },
    "timing.read": {
        "read by size, noisy": (0, 1),
        "read by size, quiet": (3, 3),
        "read of a die, noisy": (2, 4),
        "read or transfer, noisy": (9, 14),
        "read or transfer, quiet": (20, 26),
        "read with transfer, noisy": (8, 12),
        "read with transfer, quiet": (0, 3),
        "read, noisy": (8, 10),
        "read, quiet": (15, 15),
        "regular, 0.6": (2, 10),
        "regular, 1": (20, 20),
    },
}
"""Answers that were right, and all, by key and evidence."""


def sure_of(key: str, evidence: str, otherwise: float) -> float:
    """Confidence in an answer: the share that was right, drawn towards that of its question where few were seen."""
    rows = RIGHT.get(key)
    if rows is None:
        return otherwise
    right, count = (sum(column) for column in zip(*rows.values(), strict=True))
    usual = right / count if count else otherwise
    mine, of = rows.get(evidence, (0, 0))
    # Of an unknown kind of evidence not even the question's own share holds.
    return round((mine + usual) / (of + 1) if of else min(usual, 0.5), 3)
