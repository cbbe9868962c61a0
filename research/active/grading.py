"""Precision and recall of diagnoses, a symptom at a time, with Wilson's intervals."""

import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from flashweir import FlashweirError, Section, _native, diagnose, replay
from research.active.truth import SYMPTOMS, Drive, truth
from research.diagnosis.measure import Share


@dataclass(frozen=True)
class Graded:
    """A drive, its truth, and what was said of it."""

    drive: Drive
    truth: dict[str, bool] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    admissible: bool = True
    failed: str = ""


def grade(drive: Drive, *, logs: bool = False) -> Graded:
    """Diagnoses a drive, or a log of it, and measures its truth where this is not given."""
    try:
        answer = of_log(drive) if logs else diagnose(drive.target, active=True)
        found = answer["symptoms"]
        known = truth(drive)
    except FlashweirError as error:
        return Graded(drive, failed=str(error))
    said = {name: found[name]["verdict"] for name in SYMPTOMS}
    return Graded(drive, known, said, {name: found[name]["reason"] for name in SYMPTOMS}, bool(answer["admissible"]))


def of_log(drive: Drive) -> Section:
    """Diagnosis of a log of random writes on the drive: 60 to 100% of it, overwritten up to twice, at its depth."""
    draw = random.Random(drive.target)  # noqa: S311 - a bench
    size = _native.Session(json.dumps({"target": drive.target})).size_bytes >> 12 << 12
    span = int(size * draw.uniform(0.6, 1.0)) >> 12 << 12
    workload = f"random:span={span},size=4096,count={int(span / 4096 * draw.uniform(1.3, 3))},write=1"
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.parquet"
        replay(workload, drive.target, timing="closed", depth=drive.depth, log=log)
        return diagnose(log)


def graded(drives: Iterable[Drive], processes: int = 1, *, logs: bool = False) -> Iterator[Graded]:
    """Each drive, in order."""
    work = partial(grade, logs=logs)
    if processes == 1:
        yield from map(work, drives)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(work, drives)


def lines(found: list[Graded], *, all_wrong: bool = True) -> Iterator[str]:
    """Precision and recall of each symptom; then by group; then each drive that was wrong."""
    valid = [one for one in found if not one.failed]
    yield f"{len(found)} drives, {len(found) - len(valid)} of them failed"
    admissible = [one for one in valid if one.admissible]
    yield f"{len(admissible)} admissible, {sum(answers(one) for one in admissible)} of them with an answer"
    for name in SYMPTOMS:
        precision, recall = score(valid, name)
        said = Counter(one.said[name] for one in valid)
        counts = ", ".join(f"{answer} {count}" for answer, count in sorted(said.items()))
        yield f"{name}: precision {precision}, recall {recall}; said {counts}"
    for group in sorted({one.drive.group for one in valid}):
        mine = [one for one in valid if one.drive.group == group]
        wrong = sum(one.truth[name] != (one.said[name] == "bad") for one in mine for name in SYMPTOMS)
        yield f"  {group or 'no group'}: {len(mine)} drives, {wrong} of {len(mine) * len(SYMPTOMS)} verdicts wrong"
    for one in valid if all_wrong else []:
        for name in SYMPTOMS:
            if one.truth[name] != (one.said[name] == "bad") and (one.admissible or one.said[name] == "bad"):
                is_ill = "ill" if one.truth[name] else "well"
                yield f"  {name} is {is_ill}, said {one.said[name]}: {one.drive.target}: {one.reasons[name]}"
    for one in found:
        if one.failed:
            yield f"  failed: {one.drive.target}: {one.failed}"


def answers(one: Graded) -> bool:
    """True if something of the drive is said to be good or bad."""
    return any(verdict in ("good", "bad") for verdict in one.said.values())


def score(found: list[Graded], name: str) -> tuple[Share, Share]:
    """Of the drives said to be bad those that are, and of those that are bad those said to be; uncertain is a miss."""
    said = [one.truth[name] for one in found if one.said[name] == "bad"]
    ill = [one.said[name] == "bad" for one in found if one.truth[name]]
    return Share(sum(said), len(said)), Share(sum(ill), len(ill))
