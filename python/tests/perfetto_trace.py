"""Takes a Perfetto trace apart without any of the code that wrote it.

`fields` knows only the wire format of protocol buffers; the numbers are those of google/perfetto.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

BEGIN, END, COUNTER = 1, 2, 4


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at `at`, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Numbers and values of the fields of a message, in order."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
            yield key >> 3, value
            continue
        size = 8
        if kind == 2:
            size, at = varint(data, at)
        elif kind != 1:
            pytest.fail(f"wire type {kind}")
        assert at + size <= len(data), "cut off"
        chunk = data[at : at + size]
        at += size
        yield key >> 3, int.from_bytes(chunk, "little") if kind == 1 else chunk


def message(data: bytes) -> dict[int, list[Any]]:
    """Values of a message by field number."""
    found: dict[int, list[Any]] = defaultdict(list)
    for number, value in fields(data):
        found[number].append(value)
    return found


@dataclass
class Event:
    """A TrackEvent with its packet's time."""

    time: int
    kind: int
    track: int
    name: str
    flows: list[int]
    value: int | None
    facts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Slice:
    """Slices with a beginning and an end."""

    track: str
    name: str
    start: int
    end: int
    flows: tuple[int, ...]
    facts: dict[str, int] = field(default_factory=dict, compare=False)


@dataclass
class Timeline:
    """A trace taken apart."""

    tracks: dict[int, str] = field(default_factory=dict)
    parents: dict[int, int] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def of(self, *kinds: int) -> list[Event]:
        return [event for event in self.events if event.kind in kinds]

    def on(self, prefix: str) -> list[Event]:
        """Beginnings on the tracks whose names start so."""
        return [event for event in self.of(BEGIN) if self.tracks[event.track].startswith(prefix)]

    def slices(self, prefix: str) -> list[Slice]:
        """Slices of the tracks whose names start so, by their ends."""
        begun: dict[int, list[Event]] = defaultdict(list)
        found = []
        for event in self.of(BEGIN, END):
            track = self.tracks[event.track]
            if event.kind == BEGIN:
                begun[event.track].append(event)
                continue
            begin = begun[event.track].pop()
            if track.startswith(prefix):
                found.append(Slice(track, begin.name, begin.time, event.time, tuple(begin.flows), begin.facts))
        return found

    def levels(self, name: str) -> dict[int, int]:
        """A counter's values by the time from which they hold, in the order of the file."""
        values: dict[int, int] = {}
        for event in self.of(COUNTER):
            if self.tracks[event.track] == name and event.value is not None:
                assert not values or event.time >= max(values), "by time"
                values[event.time] = event.value
        return values


def level_at(levels: dict[int, int], time: int) -> int:
    return levels[max(since for since in levels if since <= time)]


def decode(path: Path) -> Timeline:
    """Takes a trace apart; whatever an event refers to must come before it."""
    timeline = Timeline()
    names: dict[int, str] = {}
    facts: dict[int, str] = {}
    for number, data in fields(path.read_bytes()):
        assert number == 1, "Trace.packet"
        packet = message(data)
        assert packet[10] == [1], "trusted_packet_sequence_id"
        for interned in packet[12]:
            for entry in message(interned)[2]:
                name = message(entry)
                names[name[1][0]] = name[2][0].decode()
            for entry in message(interned)[3]:
                name = message(entry)
                facts[name[1][0]] = name[2][0].decode()
        for descriptor in packet[60]:
            track = message(descriptor)
            uuid = track[1][0]
            assert uuid not in timeline.tracks
            timeline.tracks[uuid] = track[2][0].decode()
            if track[5]:
                assert track[5][0] in timeline.tracks
                timeline.parents[uuid] = track[5][0]
        for encoded in packet[11]:
            event = message(encoded)
            assert event[11][0] in timeline.tracks
            assert event[23] or event[10] or event[9] != [BEGIN], "a slice has a name"
            name = event[23][0].decode() if event[23] else names[event[10][0]] if event[10] else ""
            value = event[30][0] if event[9] == [COUNTER] else None
            noted = {facts[fact[1][0]]: fact[3][0] for fact in map(message, event[4])}
            timeline.events.append(Event(packet[8][0], event[9][0], event[11][0], name, event[47], value, noted))
    return timeline
