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


class Kept:
    """Results in a file, one a line, of a run that may be stopped and goes on."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def of(self, drives: Iterable[Drive]) -> list[Graded]:
        """Results of these drives that are there already."""
        if self._path is None or not self._path.exists():
            return []
        known = {drive.target: drive for drive in drives}
        lines = (json.loads(line) for line in self._path.read_text(encoding="utf-8").splitlines())
        return [Graded(known[line.pop("target")], **line) for line in lines if line["target"] in known]

    def add(self, one: Graded) -> None:
        """Appends a result."""
        if self._path is None:
            return
        fields = {name: value for name, value in vars(one).items() if name != "drive"}
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"target": one.drive.target, **fields}) + "\n")


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
    """Diagnosis of a log of random writes on the drive: 60 to 100% of it, overwritten up to twice.

    Half of the logs of models have depth 1, the others up to 16; `--empty` is given where it holds.
    """
    draw = random.Random(drive.target)  # noqa: S311 - a bench
    size = _native.Session(json.dumps({"target": drive.target})).size_bytes >> 12 << 12
    span = int(size * draw.uniform(0.6, 1.0)) >> 12 << 12
    workload = f"random:span={span},size=4096,count={int(span / 4096 * draw.uniform(1.3, 3))},write=1"
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.parquet"
        depth = draw.choice((1, 1, 1, 4, 8, 16)) if drive.groups else drive.depth
        replay(workload, drive.target, timing="closed", depth=depth, log=log)
        return diagnose(log, empty="state new" in drive.groups)


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
    for group in sorted({group for one in valid for group in (one.drive.group, *one.drive.groups)}):
        mine = [one for one in valid if group in (one.drive.group, *one.drive.groups)]
        yield f"  {group or 'no group'}: {len(mine)} drives; {', '.join(_of_group(mine))}"
    for one in valid if all_wrong else []:
        for name in SYMPTOMS:
            if one.truth[name] != (one.said[name] == "bad") and (one.admissible or one.said[name] == "bad"):
                is_ill = "ill" if one.truth[name] else "well"
                yield f"  {name} is {is_ill}, said {one.said[name]}: {one.drive.target}: {one.reasons[name]}"
    for one in found:
        if one.failed:
            yield f"  failed: {one.drive.target}: {one.failed}"


def _of_group(found: list[Graded]) -> Iterator[str]:
    """Precision and recall of each symptom, as counts."""
    for name in SYMPTOMS:
        precision, recall = score(found, name)
        yield f"{name} {precision.part}/{precision.whole} {recall.part}/{recall.whole}"


def answers(one: Graded) -> bool:
    """True if something of the drive is said to be good or bad."""
    return any(verdict in ("good", "bad") for verdict in one.said.values())


def score(found: list[Graded], name: str) -> tuple[Share, Share]:
    """Of the drives said to be bad those that are, and of those that are bad those said to be; uncertain is a miss."""
    said = [one.truth[name] for one in found if one.said[name] == "bad"]
    ill = [one.said[name] == "bad" for one in found if one.truth[name]]
    return Share(sum(said), len(said)), Share(sum(ill), len(ill))
