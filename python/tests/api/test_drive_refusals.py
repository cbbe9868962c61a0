"""Requests and calls that a stepped drive refuses, in one line each."""

from typing import Any

import pytest
from stepped import FULL, refusal

import flashweir
from flashweir import Drive


def drive(**options: Any) -> Drive:
    return Drive(set=FULL, verify=True, **options)


FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"op": "wirte"}, "op: 'wirte'; expected read, write, trim or flush"),
    ({"op": ["read", 3]}, "op: '3'; expected read"),
    ({"op": 1}, "op: int64 values; expected read"),
    ({"op": None}, "op: expected read"),
    ({"length": None}, "length: expected bytes; only a flush has none"),
    ({"offset": None}, "offset: expected bytes; only a flush has none"),
    ({"offset": 0.0}, "offset: float64 values; expected whole numbers"),
    ({"offset": "0"}, "offset: <U1 values; expected whole numbers"),
    ({"offset": -512}, "offset: -512; expected whole numbers from 0 on"),
    ({"offset": 1 << 70}, "offset: object values; expected whole numbers"),
    ({"offset": [[0]]}, "offset: an array of shape (1, 1); expected one value or one dimension"),
    ({"offset": [[0], [0, 1]]}, "offset: setting an array element with a sequence"),
    ({"offset": [0, 512], "length": [512] * 3}, "2 of offset, 3 of length: expected one value, or as many of each"),
    ({"tenant": 2}, "tenant: 2; the drive has 2, numbered from 0"),
    ({"tenant": "c"}, "tenant: 'c'; expected a number, or one of a, b"),
]
UNFIT: list[tuple[dict[str, Any], str]] = [
    ({"offset": 100}, "request 1 of 1: offset 100; expected a multiple of 512 bytes"),
    ({"length": 100}, "request 1 of 1: length 100; expected a multiple of 512 bytes"),
    ({"length": 0}, "request 1 of 1: a read of 0 bytes; expected at least 512"),
    ({"length": 1 << 50}, "request 1 of 1: length 1125899906842624; expected less than 2 TiB"),
    ({"op": "flush", "offset": 512}, "request 1 of 1: a flush has no address and no length"),
    ({"offset": [0, 4 << 20]}, "request 2 of 2: bytes 4194304 to 4194816 lie beyond the drive, which has 4194304"),
    ({"op": "append"}, "request 1 of 1: append is a command to a zone; expected ftl.kind=zones with ftl.host=none"),
    (
        {"time_ns": 999},
        "request 1 of 1: it arrives at 999 ns, before the present, 1000 ns; expected a time from then on",
    ),
]
WRONG = [(flashweir.ConfigError, *one) for one in FIELDS] + [(flashweir.TraceError, *one) for one in UNFIT]


@pytest.mark.parametrize(("kind", "fields", "message"), WRONG)
def test_requests_that_make_no_sense_are_refused(kind: type[Exception], fields: dict[str, Any], message: str) -> None:
    stepped = drive(tenants=["a", "b"])
    stepped.advance_to(1000)
    asked = {"op": "read", "offset": 0, "length": 512, **fields}
    assert refusal(kind, lambda: stepped.submit(**asked)).startswith(message)
    assert (stepped.outstanding, stepped.submit(op="flush")) == (0, range(1))


def test_commands_to_zones_go_to_a_drive_of_zones() -> None:
    zone = 16 * 4096
    settings = {"ftl.kind": "zones", "ftl.host": "none", "capacity": 4 * zone, "pages_per_block": 16, "op_ratio": 1}
    stepped = Drive(set=settings, verify=True)
    stepped.submit(op=["append", "finish", "reset", "close"], offset=0, length=[4096, zone, zone, zone])
    result = stepped.finish()
    assert (result["zones"]["finished"], result["zones"]["padded_pages"], result["zones"]["resets"]) == (1, 15, 1)
    assert result["zones"]["errors"]["invalid_transition"] == 1
    assert result["latency_us"]["append"]["count"] == 1


@pytest.mark.parametrize("more", [{}, {"buffer.bytes": "64KiB"}, {"host.link": "pcie3x4"}])
def test_the_completion_of_an_append_says_where_its_data_went(more: dict[str, Any]) -> None:
    zone = 16 * 4096
    settings = {"ftl.kind": "zones", "ftl.host": "none", "capacity": 4 * zone, "pages_per_block": 16, "op_ratio": 1}
    stepped = Drive(set={**settings, **more}, latency_parts=True)
    stepped.submit(op=["append", "append", "append", "append"], offset=[0, zone, 0, zone + 4096], length=8192)
    stepped.drain()
    done = sorted(stepped.poll(), key=lambda one: one["number"])
    # The last one names no zone: it fails, and keeps its address.
    assert [int(one["offset"]) for one in done] == [0, zone, 8192, zone + 4096]
    stepped.submit(op="finish", offset=0, length=zone)
    stepped.drain()
    (finish,) = stepped.poll()
    assert finish["latency_ns"] > 0
    assert finish["host_queue_ns"] == 0
    if "buffer.bytes" in more:
        assert finish["buffer_ns"] > 0
    stepped.finish()


def test_other_wrong_calls_say_what_is_right() -> None:
    stepped = drive()
    stepped.advance_to(1000)
    config = flashweir.ConfigError
    assert "time does not go back" in refusal(config, lambda: stepped.advance_to(999))
    assert "whole number of nanoseconds" in refusal(config, lambda: stepped.advance_to(1.5))  # type: ignore[arg-type]
    assert "from 0 on" in refusal(config, lambda: stepped.advance_to(-1))
    assert "time does not go back" in refusal(config, lambda: stepped.wait(5))
    assert "unknown field 'size'" in refusal(config, lambda: stepped.submit({"op": "read", "size": 4096}))
    assert "request 1 of 1: unknown field 'lba'" in refusal(config, lambda: stepped.submit([{"op": "read", "lba": 1}]))
    assert "request 2 of 2: no offset" in refusal(
        config, lambda: stepped.submit([{"op": "flush"}, {"op": "read", "length": 512}])
    )
    assert "request 2 of 2: time_ns: expected one for every" in refusal(
        config, lambda: stepped.submit([{"op": "flush", "time_ns": 2000}, {"op": "flush"}])
    )
    assert "request 1 of 1: int; expected a mapping" in refusal(config, lambda: stepped.submit([3]))
    assert "either requests or fields" in refusal(config, lambda: stepped.submit([], op="read"))
    assert "trace.csv" not in refusal(config, lambda: stepped.submit("trace.csv"))
    assert stepped.submit([]) == range(0)


def test_a_closed_drive_says_so() -> None:
    with drive() as stepped:
        fork = stepped.fork()
        stepped.submit(op="flush")
    stepped.close()
    assert repr(stepped) == "<Drive: closed>"
    calls: list[Any] = [
        lambda: stepped.submit(op="flush"),
        lambda: stepped.submit(op=["flush"]),
        lambda: stepped.advance_to(5),
        lambda: stepped.now_ns,
        stepped.poll,
        stepped.fork,
        stepped.stats,
        stepped.finish,
        stepped.drain,
        stepped.wait,
    ]
    for call in calls:
        assert refusal(flashweir.FlashweirError, call).startswith("this drive is closed: open another one")
    assert repr(fork) == "<Drive: 4,194,304 bytes, at 0 ns, 0 outstanding>"
    result = fork.finish()
    assert result["requests"] == 0
    assert fork.closed
