"""Shares of answers that were right, by question and evidence, on drives of known structure.

Written by `python -m research.probing.learning`, from drives that grade nothing.
"""

RIGHT: dict[str, dict[str, tuple[int, int]]] = {}
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
