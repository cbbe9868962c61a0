"""State of a drive at its beginning, written through its translation layer without time."""

from random import Random

from research.models.processes.flash import Flash
from research.models.processes.group import Group
from research.models.processes.page_map import PageGroup
from research.models.processes.settings import Settings

OVERWRITES = 1.5  # of the capacity, for a used drive
HOLES = 0.1  # share of a fragmented drive without data
RUN = 8  # most frames written in a row while a drive becomes fragmented


def precondition(flash: Flash, settings: Settings, random: Random) -> None:
    """Brings all groups into the state that the settings name."""
    if settings.state == "new":
        return
    for group in flash.groups:
        per_frame = group.units_per_frame
        frames = list(range(0, flash.group_units, per_frame))
        if settings.state == "fragmented":
            runs = _runs(len(frames), random)
            random.shuffle(runs)
            frames = [frames[at] for run in runs for at in run]
        for frame in frames:
            group.write(list(range(frame, frame + per_frame)))
        if settings.state == "used":
            _overwrite(group, flash.group_units, settings, random)
        if settings.state == "fragmented":
            for unit in range(flash.group_units):
                if random.random() < HOLES:
                    group.discard(unit)
        group.take_work()
        group.copied = group.padded = 0
        if isinstance(group, PageGroup) and group.moved is not None:
            group.moved.clear()


def _runs(count: int, random: Random) -> list[range]:
    runs, at = [], 0
    while at < count:
        length = 1 + int(random.random() * RUN)
        runs.append(range(at, min(count, at + length)))
        at += length
    return runs


def _overwrite(group: Group, units: int, settings: Settings, random: Random) -> None:
    """Random overwrites until a longer run would change nothing: logs need fewer than a page map."""
    per_frame = group.units_per_frame
    count = units * OVERWRITES
    if not isinstance(group, PageGroup):
        count = min(count, 4 * units * settings.spare)
    for _ in range(int(count) // per_frame):
        # A unit twice in a frame would be programmed twice.
        group.write(list({int(random.random() * units) for _ in range(per_frame)}))
