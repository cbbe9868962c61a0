"""Shares of answers that were right, by question and evidence, on drives of known structure.

Written by `python -m research.probing.learning`, from drives that grade nothing.
"""

RIGHT: dict[str, dict[str, tuple[int, int]]] = {
    "buffer.bytes": {
        "agree, noisy": (8, 10),
        "agree, quiet": (6, 6),
        "agree, regular": (16, 16),
        "disagree, noisy": (2, 6),
        "disagree, quiet": (8, 9),
        "not filled, noisy": (2, 5),
        "not filled, quiet": (1, 6),
        "not filled, regular": (2, 2),
        "one of two, noisy": (0, 2),
        "one of two, quiet": (0, 8),
    },
    "channels": {
        "irregular": (17, 52),
        "regular, 0.3": (6, 6),
        "regular, 1": (12, 12),
    },
    "dies": {
        "irregular": (11, 52),
        "regular, 0.3": (6, 6),
        "regular, 1": (12, 12),
    },
    "flush_waits": {
        "0.9": (24, 24),
        "0.9, none": (22, 24),
    },
    "map_cache_bytes": {
        "0.3, none": (2, 2),
        "0.6": (3, 8),
        "0.6, none": (60, 60),
    },
    "mapping_unit_bytes": {
        "0.5": (13, 17),
        "0.6": (6, 6),
        "lone block, agree": (34, 34),
        "lone block, other": (7, 7),
    },
    "op_ratio": {
        "irregular": (8, 52),
        "regular, 1": (18, 18),
    },
    "page": {
        "dies, few, agree, noisy": (1, 1),
        "dies, few, other, noisy": (2, 4),
        "dies, most, agree, noisy": (5, 6),
        "dies, most, agree, quiet": (14, 14),
        "dies, most, other, noisy": (2, 3),
        "dies, most, other, quiet": (4, 4),
        "page by a lone block, noisy": (3, 3),
        "page by a lone block, quiet": (1, 3),
        "page by sizes, noisy": (5, 5),
        "page by sizes, quiet": (2, 4),
        "regular, 1": (18, 18),
        "steps, few, agree, quiet": (1, 1),
        "steps, most, agree, quiet": (0, 2),
        "steps, most, other, noisy": (0, 1),
        "steps, most, other, quiet": (0, 1),
    },
    "pages_per_block": {
        "irregular": (12, 52),
        "regular, 1": (18, 18),
    },
    "planes": {
        "irregular": (49, 52),
        "regular, 1": (18, 18),
    },
    "slc_cache_bytes": {
        "0.6": (0, 26),
        "0.6, none": (42, 44),
    },
    "timing.bus": {
        "bus or array, noisy": (5, 10),
        "bus or array, quiet": (11, 16),
        "bus unseen, noisy": (4, 8),
        "bus unseen, quiet": (0, 2),
        "bus, noisy": (0, 5),
        "bus, quiet": (10, 11),
        "regular, 0.3": (0, 6),
        "regular, 1": (12, 12),
    },
    "timing.erase": {
        "irregular": (0, 52),
        "regular, 1": (18, 18),
    },
    "timing.program": {
        "program unseen, noisy": (1, 9),
        "program unseen, quiet": (1, 12),
        "program with transfer, noisy": (1, 5),
        "program, noisy": (5, 9),
        "program, quiet": (9, 17),
        "regular, 0.6": (4, 6),
        "regular, 1": (12, 12),
    },
    "timing.read": {
        "read by size, noisy": (0, 1),
        "read by size, quiet": (3, 3),
        "read of a die, noisy": (1, 2),
        "read or transfer, noisy": (7, 10),
        "read or transfer, quiet": (11, 14),
        "read with transfer, noisy": (2, 6),
        "read with transfer, quiet": (0, 2),
        "read, noisy": (3, 4),
        "read, quiet": (10, 10),
        "regular, 0.6": (0, 6),
        "regular, 1": (12, 12),
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
