"""A timeline is a Perfetto trace: read here without any of the code that wrote it.

The generated schema of the package `perfetto` reads the file as well and must leave nothing unknown.
"""

import importlib
import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL_DRIVE, flashweir
from perfetto_trace import BEGIN, COUNTER, END, Event, Timeline, decode, level_at

COUNT = 3000
WORKLOAD = f"random:span=64MiB,size=4KiB,write=0.7,count={COUNT},seed=1"
SETTINGS = {**SMALL_DRIVE, "dies": 2, "precondition": "steady", "host.queue_depth": 4}
BUFFER_PAGES = 8
SUSPENDING = {**SETTINGS, "sched.kind": "suspend", "sched.resume_time": "5us", "host.queue_depth": 16}
BUFFERED = {**SETTINGS, "buffer.bytes": f"{4 * BUFFER_PAGES}KiB"}


def simulated(path: Path, drive: dict[str, Any]) -> Path:
    settings = [f"--set={key}={value}" for key, value in drive.items()]
    outputs = ["--timeline", str(path), "--json", str(path.with_suffix(".json"))]
    flashweir("simulate", WORKLOAD, *settings, *outputs)
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated(tmp_path_factory.mktemp("timeline") / "run.pftrace", SETTINGS)


@pytest.fixture(scope="module")
def timeline(path: Path) -> Timeline:
    return decode(path)


@pytest.fixture(scope="module")
def buffered_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated(tmp_path_factory.mktemp("timeline") / "buffered.pftrace", BUFFERED)


@pytest.fixture(scope="module")
def suspending_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated(tmp_path_factory.mktemp("timeline") / "suspending.pftrace", SUSPENDING)


@pytest.fixture(scope="module")
def suspending(suspending_path: Path) -> Timeline:
    return decode(suspending_path)


@pytest.fixture(scope="module")
def buffered(buffered_path: Path) -> Timeline:
    return decode(buffered_path)


def test_dies_and_counters_stand_under_their_channels(timeline: Timeline) -> None:
    under = {
        f"{what} {channel}{die}": f"channel {channel}"
        for channel in (0, 1)
        for what, dies in (
            *((of_die, (".0", ".1")) for of_die in ("die", "waiting", "queue")),
            *((of_channel, ("",)) for of_channel in ("dirty pages", "free blocks")),
        )
        for die in dies
    }
    names = set(timeline.tracks.values())
    assert names == {"host", "buffer", "dirty pages", "free blocks", *under, *under.values()}
    for uuid, name in timeline.tracks.items():
        parent = timeline.parents.get(uuid)
        assert (None if parent is None else timeline.tracks[parent]) == under.get(name)


def test_what_does_one_thing_at_a_time_has_one_line(timeline: Timeline, buffered: Timeline) -> None:
    for found in (timeline, buffered):
        lines = Counter(name for name in found.tracks.values() if not name.startswith(("host", "waiting")))
        assert set(lines.values()) == {1}, lines


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
    # Slices of one flow make a chain, so a flow leads from one request to one command.
    flows = [flow for event in requests for flow in event.flows]
    assert len(set(flows)) == len(flows)
    requested = {flow: event for event in requests for flow in event.flows}
    commands = [event for event in timeline.on("die") if event.flows]
    taken = [flow for event in commands for flow in event.flows]
    assert len(set(taken)) == len(taken) == len(commands)
    assert all(event.time >= requested[flow].time for event in commands for flow in event.flows)
    assert {requested[flow].time for flow in taken} == {event.time for event in requests}


def test_a_request_of_many_pages_leads_to_each_of_its_commands(tmp_path: Path) -> None:
    path = tmp_path / "many.perfetto"
    workload = "random:span=16MiB,size=32KiB,align=512,count=200,write=0.5"
    flashweir("simulate", workload, "--set", "capacity=64MiB", "--set", "channels=4", "--timeline", str(path))
    found = decode(path)
    requests = {flow: one for one in found.slices("host") for flow in one.flows}
    joined: Counter[int] = Counter()
    for one in found.slices("die"):
        assert len(one.flows) == (0 if "gc" in one.name else 1)
        for flow in one.flows:
            joined[id(requests[flow])] += 1
            assert requests[flow].name == {"read host": "read", "program host": "write"}.get(one.name, "write")
    # 32 KiB at any sector are eight pages or nine.
    assert len(joined) > 100
    assert set(joined.values()) <= set(range(1, 10))
    assert max(joined.values()) == 9


def test_commands_are_named_by_operation_and_cause(timeline: Timeline) -> None:
    names = Counter(event.name.split(" x")[0] for event in timeline.on("die"))
    assert set(names) == {"read host", "program host", "copy gc", "erase gc"}
    assert names["read host"] + names["program host"] == COUNT
    assert names["erase gc"] > 0
    assert timeline.on("channel")
    assert timeline.of(COUNTER)


def test_channels_show_all_that_goes_over_their_buses(path: Path, timeline: Timeline) -> None:
    result = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert {one.name for one in timeline.slices("channel")} == {"read host", "program host", "copy gc"}
    for channel, shares in enumerate(result["channels"]):
        busy = sum(one.end - one.start for one in timeline.slices(f"channel {channel}"))
        assert busy / 1e9 == pytest.approx(shares["bus"] * result["simulated_s"])


def test_a_request_stands_before_all_that_it_leads_to(timeline: Timeline, buffered: Timeline) -> None:
    # An arrow leads from what begins first, and of what begins together from what the file has first.
    for found in (timeline, buffered):
        seen: set[int] = set()
        for event in found.of(BEGIN):
            if found.tracks[event.track] == "host":
                seen.update(event.flows)
            assert seen.issuperset(event.flows)


def test_free_blocks_change_with_the_commands_that_open_and_erase_them(timeline: Timeline) -> None:
    total = timeline.levels("free blocks")
    channels = [timeline.levels(f"free blocks {channel}") for channel in (0, 1)]
    for channel, levels in enumerate(channels):
        commands = timeline.slices(f"die {channel}.")
        opens = {one.start for one in commands if one.name.startswith(("copy gc", "program host"))}
        erased = {one.end for one in commands if one.name == "erase gc"}
        for (_, before), (time, after) in pairwise(levels.items()):
            assert before != after
            assert time in (erased if after > before else opens)
        copied = {one.start for one in commands if one.name.startswith("copy gc")}
        assert len(copied) > 0
        assert copied - set(levels) <= erased, "each collection opens a block"
        assert min(levels.values()) >= 0
    for time in set(total).union(*channels):
        assert level_at(total, time) == sum(level_at(levels, time) for levels in channels)


def test_the_buffer_track_shows_when_writes_find_no_room(timeline: Timeline, buffered: Timeline) -> None:
    assert not timeline.slices("buffer")
    full = buffered.slices("buffer")
    assert len(full) > 100
    assert {one.name for one in full} == {"full"}
    assert all(before.end <= after.start for before, after in pairwise(full))
    requests = {flow: one for one in buffered.slices("host") for flow in one.flows}
    dirty = buffered.levels("dirty pages")
    for one in full:
        request = requests[one.flows[0]]
        assert request.name == "write"
        # Acknowledged from the buffer: it is done when it is in.
        assert request.start <= one.start < one.end == request.end
        assert level_at(dirty, one.start) == BUFFER_PAGES


def test_dirty_pages_are_those_of_the_channels(timeline: Timeline, buffered: Timeline) -> None:
    assert timeline.levels("dirty pages") == {0: 0}
    total = buffered.levels("dirty pages")
    channels = [buffered.levels(f"dirty pages {channel}") for channel in (0, 1)]
    assert set(total.values()) <= set(range(BUFFER_PAGES + 1))
    for time in set(total).union(*channels):
        assert level_at(total, time) == sum(level_at(levels, time) for levels in channels)
    # A page leaves when its program ends, so a channel's count falls at no other time.
    for channel, levels in enumerate(channels):
        programmed = {one.end for one in buffered.slices(f"die {channel}.") if one.name == "program host"}
        assert all(time in programmed for (_, a), (time, b) in pairwise(levels.items()) if b < a)


def test_a_buffered_page_is_programmed_for_the_write_that_brought_it(buffered: Timeline) -> None:
    requests = {flow: one for one in buffered.slices("host") for flow in one.flows}
    programs = [one for one in buffered.slices("die") if one.name == "program host"]
    assert programs
    assert all(requests[flow].name == "write" for one in programs for flow in one.flows)
    assert max(Counter(flow for one in programs for flow in one.flows).values()) == 1, "each write is of one page"


def test_a_wait_leads_from_its_request_to_its_command(timeline: Timeline, suspending: Timeline) -> None:
    for found in (timeline, suspending):
        waits = found.slices("waiting")
        assert len(waits) > 100
        requests = {flow: one for one in found.slices("host") for flow in one.flows}
        commands = {flow: one for one in found.slices("die") for flow in one.flows}
        for wait in waits:
            who, what = wait.name.split(" waits for ")
            (flow,) = wait.flows
            request, command = requests[flow], commands[flow]
            assert (who, what in ("read", "write", "erase", "gc")) == (request.name, True)
            assert request.start <= wait.start < wait.end <= command.start
            assert wait.track.split()[1] == command.track.split()[1]
            causes = {fact: ns for fact, ns in wait.facts.items() if fact.startswith("wait_") and fact != "wait_bus_ns"}
            assert wait.facts["waited_ns"] == wait.end - wait.start <= sum(causes.values())
            assert "pauses" in wait.facts or sum(causes.values()) == wait.facts["waited_ns"]


def test_what_was_paused_shows_whom_it_made_way_for(suspending_path: Path, suspending: Timeline) -> None:
    sched = json.loads(suspending_path.with_suffix(".json").read_text(encoding="utf-8"))["sched"]
    paused = suspending.slices("paused")
    pauses = [one for one in paused if one.name in ("suspended", "makes way")]
    whole = [one for one in paused if one not in pauses]
    assert len(pauses) == sched["suspensions"] + sched["preemptions"] == sum(one.facts["pauses"] for one in whole) > 100
    reads = [one for one in suspending.slices("die") if one.name == "read host"]
    for pause in pauses[:200]:
        assert any(one.start <= pause.start < pause.end <= one.end for one in whole)
        die = pause.track.replace("paused", "die")
        within = [one for one in reads if one.track == die and pause.start <= one.start and one.end <= pause.end]
        assert sum(one.end - one.start for one in within) == pause.end - pause.start
    assert sum(one.facts.get("passed", 0) for one in suspending.slices("die")) == sched["passed"]


def test_queues_are_as_long_as_commands_wait(timeline: Timeline) -> None:
    for die in ("0.0", "0.1", "1.0", "1.1"):
        queue = timeline.levels(f"queue {die}")
        waits = timeline.slices(f"waiting {die}")
        for one in waits[:200]:
            # Collections wait, too.
            together = sum(other.start <= one.start < other.end for other in waits)
            assert together <= level_at(queue, one.start)
        assert list(queue.values())[-1] == 0


@pytest.mark.parametrize("which", ["path", "buffered_path", "suspending_path"])
def test_perfettos_own_schema_reads_all_of_it(which: str, request: pytest.FixtureRequest) -> None:
    path: Path = request.getfixturevalue(which)
    timeline = decode(path)
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
    names: dict[int, str] = {}
    facts: dict[int, str] = {}
    found = []
    for packet in trace.packet:
        names |= {name.iid: name.name for name in packet.interned_data.event_names}
        facts |= {name.iid: name.name for name in packet.interned_data.debug_annotation_names}
        if packet.HasField("track_event"):
            event = packet.track_event
            name = event.name or names.get(event.name_iid, "")
            value = event.counter_value if event.HasField("counter_value") else None
            flows = list(event.flow_ids)
            noted = {facts[fact.name_iid]: fact.uint_value for fact in event.debug_annotations}
            found.append(Event(packet.timestamp, event.type, event.track_uuid, name, flows, value, noted))
    assert found == timeline.events
    types = schema.TrackEvent
    assert (types.TYPE_SLICE_BEGIN, types.TYPE_SLICE_END, types.TYPE_COUNTER) == (BEGIN, END, COUNTER)
    tracks = [packet.track_descriptor for packet in trace.packet if packet.HasField("track_descriptor")]
    assert {track.uuid: track.name for track in tracks} == timeline.tracks
    parents = {track.uuid: track.parent_uuid for track in tracks if track.HasField("parent_uuid")}
    assert parents == timeline.parents
    counters = {track.uuid for track in tracks if track.HasField("counter")}
    counts = ("dirty pages", "free blocks", "queue")
    assert counters == {uuid for uuid, name in timeline.tracks.items() if name.startswith(counts)}
    assert counters == {event.track for event in timeline.of(COUNTER)}
