"""Precision and recall of the active diagnosis, a symptom at a time, with Wilson's intervals."""

from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from flashweir import FlashweirError, diagnose
from research.active.truth import SYMPTOMS, Drive, truth
from research.diagnosis.measure import Share


@dataclass(frozen=True)
class Graded:
    """A drive, its truth, and what was said of it."""

    drive: Drive
    truth: dict[str, bool] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    failed: str = ""


def grade(drive: Drive) -> Graded:
    """Diagnoses a drive, and measures its truth where this is not given."""
    try:
        found = diagnose(drive.target, active=True)["symptoms"]
        known = truth(drive)
    except FlashweirError as error:
        return Graded(drive, failed=str(error))
    said = {name: found[name]["verdict"] for name in SYMPTOMS}
    return Graded(drive, known, said, {name: found[name]["reason"] for name in SYMPTOMS})


def graded(drives: Iterable[Drive], processes: int = 1) -> Iterator[Graded]:
    """Each drive, in order."""
    if processes == 1:
        yield from map(grade, drives)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(grade, drives)


def lines(found: list[Graded], *, all_wrong: bool = True) -> Iterator[str]:
    """Precision and recall of each symptom; then by group; then each drive that was wrong."""
    valid = [one for one in found if not one.failed]
    yield f"{len(found)} drives, {len(found) - len(valid)} of them failed"
    for name in SYMPTOMS:
        precision, recall = score(valid, name)
        answers = Counter(one.said[name] for one in valid)
        counts = ", ".join(f"{answer} {count}" for answer, count in sorted(answers.items()))
        yield f"{name}: precision {precision}, recall {recall}; said {counts}"
    for group in sorted({one.drive.group for one in valid}):
        mine = [one for one in valid if one.drive.group == group]
        wrong = sum(one.truth[name] != (one.said[name] == "bad") for one in mine for name in SYMPTOMS)
        yield f"  {group or 'no group'}: {len(mine)} drives, {wrong} of {len(mine) * len(SYMPTOMS)} verdicts wrong"
    for one in valid if all_wrong else []:
        for name in SYMPTOMS:
            if one.truth[name] != (one.said[name] == "bad"):
                is_ill = "ill" if one.truth[name] else "well"
                yield f"  {name} is {is_ill}, said {one.said[name]}: {one.drive.target}: {one.reasons[name]}"
    for one in found:
        if one.failed:
            yield f"  failed: {one.drive.target}: {one.failed}"


def score(found: list[Graded], name: str) -> tuple[Share, Share]:
    """Of the drives said to be bad those that are, and of those that are bad those said to be; uncertain is a miss."""
    said = [one.truth[name] for one in found if one.said[name] == "bad"]
    ill = [one.said[name] == "bad" for one in found if one.truth[name]]
    return Share(sum(said), len(said)), Share(sum(ill), len(ill))
