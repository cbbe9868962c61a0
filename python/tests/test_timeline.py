"""A timeline is a Perfetto trace: read here without any of the code that wrote it.

`fields` knows only the wire format of protocol buffers; the numbers are those of google/perfetto. The generated schema
of the package `perfetto` reads the file as well and must leave nothing unknown.
"""

import importlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL_DRIVE, flashweir

COUNT = 3000
WORKLOAD = f"random:span=64MiB,size=4KiB,write=0.7,count={COUNT},seed=1"
SETTINGS = {**SMALL_DRIVE, "dies": 2, "precondition": "steady", "host.queue_depth": 4}

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


def decode(path: Path) -> Timeline:
    """Takes a trace apart; whatever an event refers to must come before it."""
    timeline = Timeline()
    names: dict[int, str] = {}
    for number, data in fields(path.read_bytes()):
        assert number == 1, "Trace.packet"
        packet = message(data)
        assert packet[10] == [1], "trusted_packet_sequence_id"
        for interned in packet[12]:
            for entry in message(interned)[2]:
                name = message(entry)
                names[name[1][0]] = name[2][0].decode()
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
            timeline.events.append(Event(packet[8][0], event[9][0], event[11][0], name, event[47]))
    return timeline


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("timeline") / "run.pftrace"
    settings = [f"--set={key}={value}" for key, value in SETTINGS.items()]
    flashweir("simulate", WORKLOAD, *settings, "--timeline", str(path))
    return path


@pytest.fixture(scope="module")
def timeline(path: Path) -> Timeline:
    return decode(path)


def test_dies_stand_under_their_channels(timeline: Timeline) -> None:
    names = set(timeline.tracks.values())
    dies = {"die 0.0": "channel 0", "die 0.1": "channel 0", "die 1.0": "channel 1", "die 1.1": "channel 1"}
    assert names == {"host", "buffer", "dirty pages", "free blocks", *dies, *dies.values()}
    for uuid, name in timeline.tracks.items():
        parent = timeline.parents.get(uuid)
        assert (None if parent is None else timeline.tracks[parent]) == dies.get(name)


def test_slices_begin_end_and_never_overlap_on_a_track(timeline: Timeline) -> None:
    by_track: dict[int, list[Event]] = defaultdict(list)
    for event in timeline.of(BEGIN, END):
        by_track[event.track].append(event)
    assert by_track
    for events in by_track.values():
        assert [event.kind for event in events] == [BEGIN, END] * (len(events) // 2)
        assert all(before.time <= after.time for before, after in pairwise(events))


def test_every_request_has_a_slice_and_leads_to_its_commands(timeline: Timeline) -> None:
    requests = timeline.on("host")
    assert len(requests) == COUNT
    assert {event.name for event in requests} == {"read", "write"}
    flows = [flow for event in requests for flow in event.flows]
    assert len(set(flows)) == COUNT
    begun = {flow: event.time for event in requests for flow in event.flows}
    commands = [event for event in timeline.on("die") if event.flows]
    assert {flow for event in commands for flow in event.flows} == set(flows)
    assert all(event.time >= begun[flow] for event in commands for flow in event.flows)


def test_commands_are_named_by_operation_and_cause(timeline: Timeline) -> None:
    names = Counter(event.name.split(" x")[0] for event in timeline.on("die"))
    assert set(names) == {"read host", "program host", "copy gc", "erase gc"}
    assert names["read host"] + names["program host"] == COUNT
    assert names["erase gc"] > 0
    assert timeline.on("channel")
    assert timeline.of(COUNTER)


def test_perfettos_own_schema_reads_all_of_it(path: Path, timeline: Timeline) -> None:
    schema: Any = importlib.import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    unknown: Any = importlib.import_module("google.protobuf.unknown_fields")

    def check(found: Any) -> None:
        assert len(unknown.UnknownFieldSet(found)) == 0, found
        for descriptor, value in found.ListFields():
            if descriptor.message_type is not None:
                for inner in [value] if hasattr(value, "ListFields") else value:
                    check(inner)

    trace = schema.Trace()
    trace.ParseFromString(path.read_bytes())
    check(trace)
    events = [packet.track_event for packet in trace.packet if packet.HasField("track_event")]
    assert [event.type for event in events] == [event.kind for event in timeline.events]
