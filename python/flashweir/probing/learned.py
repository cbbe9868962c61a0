"""Shares of answers that were right, by question and evidence, on drives of known structure.

Written by `python -m research.probing.learning`, from drives that grade nothing.
"""

RIGHT: dict[str, dict[str, tuple[int, int]]] = {
    "buffer.bytes": {
        "agree, noisy": (5, 5),
        "agree, quiet": (3, 3),
        "agree, regular": (8, 8),
        "disagree, noisy": (0, 1),
        "one of two, noisy": (1, 3),
        "one of two, quiet": (0, 1),
        "read back, alone, noisy": (2, 6),
        "read back, alone, quiet": (16, 21),
        "read back, one agrees, noisy": (6, 8),
        "read back, one agrees, quiet": (12, 13),
        "read back, one agrees, regular": (3, 3),
        "read back, two agree, noisy": (9, 9),
        "read back, two agree, quiet": (9, 10),
        "read back, two agree, regular": (26, 27),
    },
    "channels": {
        "irregular": (29, 80),
        "regular, 0.3": (13, 14),
        "regular, 1": (24, 24),
    },
    "dies": {
        "irregular": (31, 80),
        "regular, 0.3": (13, 14),
        "regular, 1": (24, 24),
    },
    "flush_waits": {
        "0.9": (40, 40),
        "0.9, none": (36, 40),
    },
    "map_cache_bytes": {
        "0.6": (2, 6),
        "0.6, none": (110, 112),
    },
    "mapping_unit_bytes": {
        "0.5": (11, 13),
        "0.6": (10, 19),
        "0.9": (4, 5),
        "lone block, agree": (54, 54),
        "lone block, other": (13, 13),
    },
    "op_ratio": {
        "irregular": (9, 80),
        "regular, 1": (35, 38),
    },
    "page": {
        "dies, few, agree, noisy": (2, 2),
        "dies, few, other, noisy": (1, 2),
        "dies, most, agree, noisy": (11, 12),
        "dies, most, agree, quiet": (20, 21),
        "dies, most, other, noisy": (3, 3),
        "dies, most, other, quiet": (10, 10),
        "page by a lone block, noisy": (3, 5),
        "page by a lone block, quiet": (4, 7),
        "page by sizes, noisy": (4, 6),
        "page by sizes, quiet": (7, 10),
        "regular, 1": (38, 38),
        "steps, few, agree, noisy": (0, 1),
        "steps, most, other, noisy": (0, 1),
    },
    "pages_per_block": {
        "irregular": (23, 80),
        "regular, 1": (38, 38),
    },
    "planes": {
        "irregular": (79, 80),
        "regular, 1": (38, 38),
    },
    "slc_cache_bytes": {
        "0.5, none": (39, 43),
        "0.6": (3, 12),
        "0.6, none": (62, 63),
    },
    "timing.bus": {
        "bus or array, noisy": (6, 11),
        "bus or array, quiet": (15, 23),
        "bus unseen, noisy": (1, 6),
        "bus unseen, quiet": (1, 4),
        "bus, distinguished, noisy": (1, 3),
        "bus, distinguished, quiet": (5, 5),
        "bus, noisy": (5, 12),
        "bus, quiet": (12, 16),
        "regular, 0.3": (1, 14),
        "regular, 1": (22, 24),
    },
    "timing.erase": {
        "irregular": (0, 80),
        "regular, 0": (2, 2),
        "regular, 1": (36, 36),
    },
    "timing.program": {
        "program unseen, noisy": (2, 11),
        "program unseen, quiet": (2, 21),
        "program with transfer, noisy": (0, 3),
        "program with transfer, quiet": (0, 1),
        "program, noisy": (13, 18),
        "program, quiet": (13, 26),
        "regular, 0.6": (11, 14),
        "regular, 1": (23, 24),
    },
    "timing.read": {
        "read by size, noisy": (1, 1),
        "read by size, quiet": (3, 3),
        "read of a die, noisy": (3, 3),
        "read of a die, quiet": (0, 1),
        "read or transfer, noisy": (6, 11),
        "read or transfer, quiet": (15, 21),
        "read with transfer, noisy": (1, 3),
        "read with transfer, quiet": (0, 3),
        "read, distinguished, noisy": (2, 3),
        "read, distinguished, quiet": (5, 5),
        "read, noisy": (9, 11),
        "read, quiet": (15, 15),
        "regular, 0.6": (6, 14),
        "regular, 1": (24, 24),
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
