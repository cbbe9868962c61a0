"""The dashboard's samples, points of a day, and a server that only its own page can use."""

import json
import socket
import tracemalloc
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from dashboard_page import asked

from flashweir import ConfigError, FlashweirError
from flashweir.dashboard.history import RESOLUTIONS, History
from flashweir.dashboard.samples import Carried, curves, frame, point, quantile_us
from flashweir.dashboard.server import Address, Dashboard

PAGE = 4096


def sample(time_s: float, busy_ns: int = 0, requests: int = 0) -> dict[str, Any]:
    """A sample of a drive of one channel with two dies."""
    return {
        "time_s": time_s,
        "requests": {"read": 0, "write": requests},
        "bytes": {"read": 0, "write": requests * PAGE},
        "latency_ns": {"write": [[1023, requests // 2], [2047, requests - requests // 2]]},
        "flash": {},
        "written_bytes": requests * PAGE,
        "programmed_bytes": 2 * requests * PAGE,
        "buffer": {"bytes": 1, "capacity_bytes": 4},
        "dies": {
            "channels": 1,
            "per_channel": 2,
            "dies_per_row": 1,
            "work": ["read", "copy"],
            "busy_ns": [[busy_ns, 0], [0, busy_ns]],
        },
        "buses_ns": [busy_ns],
        "free_blocks": [5],
        "total_blocks": 10,
    }


def test_a_point_is_what_happened_between_two_samples() -> None:
    found = point(sample(1, 0, 100), sample(3, 500_000_000, 500))
    assert found["write_iops"] == 200
    assert found["write_mib_s"] == 400 * PAGE / 2 / (1 << 20)
    assert found["write_p50_us"] == 1.023
    assert found["write_p99_us"] == 2.047
    assert found["read_p99_us"] is None
    assert found["write_amplification"] == 2
    assert found["free_share"] == 0.5
    assert found["buffer_share"] == 0.25
    assert found["die_host"] == found["die_collection"] == 0.125
    assert point(sample(1), sample(3))["write_amplification"] is None
    reduced = point(curves(sample(1, 0, 100)), curves(sample(3, 500_000_000, 500)))
    assert reduced == found


def test_time_of_a_die_that_was_counted_ahead_is_carried_and_none_is_lost() -> None:
    carried = Carried()
    shares = [carried.shares(sample(0), sample(1, 2_500_000_000))]
    shares += [carried.shares(sample(at, 2_500_000_000), sample(at + 1, 2_500_000_000)) for at in (1, 2, 3)]
    assert [rows[0][0] for rows in shares] == pytest.approx([1, 1, 0.5, 0])
    assert [rows[1][1] for rows in shares] == pytest.approx([1, 1, 0.5, 0])
    picture = frame(sample(0), sample(1, 10**9), Carried())
    assert picture["buses"] == [1.0]


def test_samples_of_another_form_begin_anew() -> None:
    other = sample(1, 10**9)
    other["dies"] = {**other["dies"], "work": ["host", "copy", "mapping"], "busy_ns": [[9, 9, 9]] * 3}
    carried = Carried()
    carried.shares(sample(0), sample(1, 10**9))
    assert carried.shares(sample(1), {**other, "time_s": 2})[0] == pytest.approx([9e-9] * 3)
    assert point(other, sample(2, 10**9))["die_host"] == pytest.approx(0.5)


def test_quantiles_are_upper_edges() -> None:
    assert quantile_us([(1000, 99), (2000, 1)], 0.99) == 1
    assert quantile_us([(1000, 99), (2000, 1)], 0.999) == 2
    assert quantile_us([], 0.5) is None


def test_a_day_of_samples_has_bounded_memory_and_every_resolution() -> None:
    history = History()
    tracemalloc.start()
    try:
        for second in range(2 * 3600):
            history.add(second, sample(second * 0.1, second, second * 7))
        early = tracemalloc.get_traced_memory()[0]
        for second in range(2 * 3600, 25 * 3600):
            history.add(second, sample(second * 0.1, second, second * 7))
        late = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert [len(ring) for ring in history.rings] == [resolution.points for resolution in RESOLUTIONS]
    assert late < 12 << 20
    assert late < 2.5 * early
    minutes = history.rings[2].since(0)
    assert len(minutes) * 60 == 24 * 3600
    assert all(one["elapsed_s"] == pytest.approx(6) and one["write_iops"] == pytest.approx(70) for one in minutes)
    last = history.rings[0].since(0)[-1]["number"]
    assert history.rings[0].since(last + 1) == []
    assert [one["number"] for one in history.rings[0].since(last - 1)] == [last - 1, last]


def test_time_that_stands_still_has_no_point() -> None:
    history = History()
    for second in range(10):
        history.add(second, sample(min(second, 4)))
    assert len(history.rings[0]) == 4


@pytest.mark.parametrize("text", ["", "8080", ":8080", "localhost", "localhost:", "localhost:x", "localhost:70000"])
def test_addresses_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected HOST:PORT"):
        Address.parse(text)


def test_other_machines_are_kept_out_unless_asked_for() -> None:
    with pytest.raises(ConfigError, match="--exposed"):
        Dashboard("0.0.0.0:0")
    Dashboard("0.0.0.0:0", exposed=True).close()
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(ConfigError, match="a free port"):
        Dashboard(f"127.0.0.1:{other.getsockname()[1]}")
    assert Address.parse("[::1]:80") == ("::1", 80)


class Fixed:
    """A source that answers the same, and keeps the commands."""

    title = "fixed"

    def __init__(self) -> None:
        self.commands: list[tuple[str, Mapping[str, object]]] = []

    def about(self) -> dict[str, Any]:
        return {"kind": "live"}

    def state(self, query: Mapping[str, int]) -> dict[str, Any]:
        return dict(query)

    def command(self, name: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        if name == "refused":
            raise FlashweirError("no")
        if name == "wrong":
            raise ConfigError("unknown")
        self.commands.append((name, arguments))
        return {"done": name}

    def close(self) -> None:
        """Nothing."""


@pytest.fixture
def shown() -> Iterator[tuple[Fixed, str, str]]:
    """A source, the host of its page, and the page's token."""
    source, page = Fixed(), Dashboard("127.0.0.1:0")
    page.start(source)
    host = page.url.removeprefix("http://").removesuffix("/")
    text = asked(host, "GET", "/")[1]
    token = text.partition('name="flashweir-token" content="')[2].partition('"')[0]
    assert len(token) >= 32
    yield source, host, token
    page.close()


def test_only_the_page_itself_sends_commands(shown: tuple[Fixed, str, str]) -> None:
    source, host, token = shown
    body = {"cmd": "pause", "args": {"a": 1}}
    own = {"X_Flashweir_Token": token}
    assert asked(host, "POST", "/command", body)[0] == 403
    assert asked(host, "POST", "/command", body, X_Flashweir_Token=token[::-1])[0] == 403
    assert asked(host, "POST", "/command", body, **own, Origin="http://elsewhere.example")[0] == 403
    assert asked(host, "POST", "/command", body, **own, Origin="null")[0] == 403
    assert asked(host, "POST", "/command", body, **own, Host="elsewhere.example")[0] == 403
    assert asked(host, "POST", "/command", body, **own, Sec_Fetch_Site="cross-site")[0] == 403
    assert source.commands == []
    assert asked(host, "POST", "/command", body, **own, Origin=f"http://{host}") == (
        200,
        '{"result": {"done": "pause"}}',
    )
    assert source.commands == [("pause", {"a": 1})]
    assert asked(host, "POST", "/command", {"cmd": "refused"}, **own) == (409, '{"error": "no"}')
    assert asked(host, "POST", "/command", {"cmd": "wrong"}, **own) == (400, '{"error": "unknown"}')
    for bad in ("", "[]", "{", '{"cmd": 1}', '{"cmd": "a", "args": []}', "[" * 60_000, "\x00"):
        assert asked(host, "POST", "/command", bad, **own)[0] == 400, bad[:20]
    assert asked(host, "POST", "/other", body, **own)[0] == 400


def test_what_the_browser_may_read(shown: tuple[Fixed, str, str]) -> None:
    _, host, _ = shown
    for path in ("/", "/page.css", "/page.js", "/charts.js", "/picture.js", "/about", "/state"):
        assert asked(host, "GET", path)[0] == 200
        assert asked(host, "GET", path, Host="elsewhere.example")[0] == 403
    for path in ("/server.py", "/../server.py", "/%2e%2e/server.py", "/page.html", "//etc/passwd", "/page.js/"):
        assert asked(host, "GET", path)[0] == 404
    assert json.loads(asked(host, "GET", "/state?since=5&ring=x&ring=1&at=99999999999999999999")[1]) == {
        "since": 5,
        "ring": 1,
    }
