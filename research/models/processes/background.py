"""Processes that work without a request: the collector of each group, and the folder of the fast region."""

from collections.abc import Generator

from research.models.processes.flash import Flash
from research.models.processes.kernel import BACKGROUND, WORK, Calendar, Process

EARLY, URGENT = 0.2, 0.05  # slack below which a collector works when its dies are idle, or among requests


class Background:
    """Collectors and the folder. Each piece of work is done before the next is chosen."""

    def __init__(self, flash: Flash, calendar: Calendar) -> None:
        self.flash = flash
        self.left = [0] * len(flash.groups)
        self.idle = self.folding = False
        early = flash.settings.collect == "background"
        self.collectors = [Process(calendar, self._collector(n)) for n in range(len(flash.groups) * early)]
        self.folder = Process(calendar, self._folder())

    def after_program(self, group: int) -> None:
        """Wakes the collector of a group, whose slack may be less."""
        if self.collectors and not self.left[group]:
            self.collectors[group].wake()

    def set_idle(self, *, idle: bool) -> None:
        """Begins or ends the work of idle times."""
        self.idle = idle
        if idle:
            self.folder.wake()

    def _collector(self, number: int) -> Generator[int | None, None, None]:
        group = self.flash.groups[number]
        frames = max(1, self.flash.settings.chunk or group.size) * group.width
        while True:
            slack = group.slack()
            if not self.left[number] and slack < EARLY and group.collect_some(frames):
                urgency = BACKGROUND if slack > URGENT else WORK
                self.left[number] = self.flash.pay(number, urgency, self._collected)
            yield None

    def _collected(self, number: int) -> None:
        self.left[number] -= 1
        if not self.left[number]:
            self.collectors[number].wake()

    def _folder(self) -> Generator[int | None, None, None]:
        while True:
            while self.idle and self.flash.in_slc and not self.folding:
                self.folding = True
                self.flash.fold(self._folded)
            yield None

    def _folded(self, _: object) -> None:
        self.folding = False
        self.folder.wake()
