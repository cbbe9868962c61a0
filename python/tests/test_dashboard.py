"""The dashboard's samples, points of a day, recorded runs, and a server that only its own page can use."""

import http.client
import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import forked
import pytest
from nbd_client import FLUSH, READ, WRITE, Client, ended, served

import flashweir
from flashweir import ConfigError, FlashweirError
from flashweir.dashboard.history import RESOLUTIONS, History
from flashweir.dashboard.samples import Carried, curves, frame, point, quantile_us
from flashweir.dashboard.server import Address, Dashboard
from flashweir.dashboard.sources import Recording

DRIVE: dict[str, object] = {"channels": 2, "capacity": "8MiB", "pages_per_block": 8}
PAGE = 4096
RUN = "random:span=8MiB,count=6000,write=0.8"
LIMIT_S = 60


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


def asked(host: str, method: str, path: str, body: object = None, **headers: str) -> tuple[int, str]:
    """Status and text of an answer."""
    connection = http.client.HTTPConnection(host, timeout=LIMIT_S)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    text = body if isinstance(body, str | None) else json.dumps(body)
    connection.request(method, path, text, named)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    assert answer.getheader("Content-Security-Policy", "").startswith("default-src 'none'")
    connection.close()
    return found


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


def test_a_recorded_run_is_played_from_samples_and_from_its_timeline(tmp_path: Path) -> None:
    samples, timeline, read = tmp_path / "run.jsonl", tmp_path / "run.pftrace", tmp_path / "read.jsonl"
    settings = {**DRIVE, "precondition": "full"}
    result = flashweir.simulate(RUN, set=settings, samples=samples)
    flashweir.simulate(RUN, set=settings, timeline=timeline)
    flashweir._native.timeline_samples(str(timeline), str(read))
    last, other = (json.loads(path.read_text().splitlines()[-1]) for path in (samples, read))
    assert last["requests"]["write"] == other["requests"]["write"] == result["counters"]["requests"]["write"]
    assert last["flash"]["gc"] == other["flash"]["gc"] == result["flash"]["gc"]
    assert last["programmed_bytes"] / last["written_bytes"] == pytest.approx(result["write_amplification"])
    busy = [sum(map(sum, found["dies"]["busy_ns"])) for found in (last, other)]
    assert busy[0] == pytest.approx(busy[1], rel=0.01)
    assert sum(last["free_blocks"]) == sum(other["free_blocks"])
    for path in (samples, read):
        source = Recording("run", path, None)
        about = source.about()
        assert len(about["points"]) == len(about["times_s"]) > 20
        assert source.state({"at": 10**9})["at"] == len(about["times_s"]) - 1
        picture = source.state({"at": 5})["frame"]
        assert all(0 <= sum(row) <= 1.01 for row in picture["dies"]["shares"])
        with pytest.raises(ConfigError, match="the run is over"):
            source.command("pause", {})


def test_samples_of_a_long_run_are_few_and_cover_it(tmp_path: Path) -> None:
    found = tmp_path / "run.jsonl"
    flashweir.simulate("random:span=8MiB,count=60000,write=0.5", set=DRIVE, samples=found)
    times = [json.loads(line)["time_s"] for line in found.read_text().splitlines()]
    assert 300 <= len(times) <= 601
    assert times == sorted(times)
    assert times[0] < times[-1] / 100


WATCHED: tuple[dict[str, object], ...] = (
    {},
    {"engine": "event", "buffer.bytes": "64KiB"},
    {"sched.kind": "suspend", "dies": 2},
    {"gc.planner": "cycle-stealing", "ftl.kind": "log-block", "clock": "lock-step"},
    {"ftl.kind": "log-block"},
    {"alloc.kind": "superblock"},
)


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("settings", WATCHED, ids=str)
def test_a_run_of_which_samples_are_taken_has_the_same_result(
    tmp_path: Path, settings: dict[str, object], verify: bool
) -> None:
    options: dict[str, Any] = {"set": {**DRIVE, "precondition": "full", **settings}, "verify": verify}
    plain = flashweir.simulate(RUN, **options).to_dict()
    found = flashweir.simulate(RUN, **options, samples=tmp_path / "run.jsonl").to_dict()
    assert {key: value for key, value in found.items() if "wall" not in key} == {
        key: value for key, value in plain.items() if "wall" not in key
    }
    last = json.loads((tmp_path / "run.jsonl").read_text().splitlines()[-1])
    assert sum(map(sum, last["dies"]["busy_ns"])) > 0


def test_serve_shows_the_address_of_its_page_and_ends_it(tmp_path: Path) -> None:
    with served(tmp_path, "--clock", "virtual", "--dashboard", "127.0.0.1:0") as (run, ready):
        assert list(ready) == ["event", "uri", "size_bytes", "pid", "dashboard"]
        host = ready["dashboard"].removeprefix("http://").removesuffix("/")
        assert json.loads(asked(host, "GET", "/about")[1])["title"] == "default drive"
        ended(run)
    with pytest.raises(ConnectionRefusedError):
        asked(host, "GET", "/about")


def test_a_page_that_can_t_be_shown_leaves_no_trace_of_the_drive(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        words = ["serve", "--data", "disk.img", "--dashboard", f"127.0.0.1:{port}"]
        done = forked.run(words, cwd=tmp_path, timeout_s=LIMIT_S)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: --dashboard 127.0.0.1:{port}: ")
    assert list(tmp_path.iterdir()) == []


def test_watch_prints_its_address_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "flashweir", "watch", RUN, "--set", "capacity=8MiB", "--set", "pages_per_block=8"],
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    watch = threading.Timer(3 * LIMIT_S, run.kill)
    watch.start()
    assert run.stdout is not None
    url = run.stdout.readline().strip()
    about = json.loads(asked(url.removeprefix("http://").removesuffix("/"), "GET", "/about")[1])
    assert about["kind"] == "recorded"
    assert about["title"] == RUN
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=LIMIT_S)
    watch.cancel()
    assert (run.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("none.pftrace",), "none.pftrace: No such file"),
        (("bad.pftrace",), "expected a timeline"),
        (("bad.pftrace", "--device", "tlc"), "expected no --device"),
        ((RUN, "--speed", "0"), "--speed 0.0: expected a number above 0"),
        ((RUN, "--dashboard", "0.0.0.0:0"), "--exposed"),
        (("none.trace",), "none.trace"),
    ],
)
def test_watch_refuses_in_one_line(tmp_path: Path, words: tuple[str, ...], expected: str) -> None:
    (tmp_path / "bad.pftrace").write_bytes(b"nothing")
    done = forked.run(["watch", *words], cwd=tmp_path, timeout_s=LIMIT_S)
    assert done.returncode == 2
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_drive_that_is_served_stands_still_while_paused(tmp_path: Path) -> None:
    with flashweir.serve(nbd=f"unix:{tmp_path / 'sock'}", set=DRIVE) as live:
        assert live.dashboard is None
        assert live.control("sample")["dies"]["work"] == ["host", "collection", "mapping"]
        with Client(tmp_path / "sock") as client:
            assert client.ask(WRITE, 0, bytes(PAGE)) == (0, b"")
            before = live.control("pause")["simulated_s"]
            assert live.control("pause") == {"paused": True, "simulated_s": before}
            done: list[float] = []
            writer = threading.Thread(
                target=lambda: (client.ask(WRITE, PAGE, bytes(PAGE)), done.append(time.monotonic()))
            )
            writer.start()
            time.sleep(0.3)
            assert live.control("status")["simulated_s"] == before
            assert live.control("sample")["served"]["paused"]
            assert done == []
            assert live.control("resume")["paused"] is False
            writer.join(LIMIT_S)
            assert done
            assert client.ask(READ, PAGE, PAGE) == (0, bytes(PAGE))
            live.control("pause")
    assert live.result["counters"]["requests"]["write"] == 2


def test_virtual_time_stands_still_too_and_a_paused_drive_can_be_stopped(tmp_path: Path) -> None:
    with (
        flashweir.serve(nbd=f"unix:{tmp_path / 'sock'}", clock="virtual", set=DRIVE) as live,
        Client(tmp_path / "sock") as client,
    ):
        live.control("pause")
        writer = threading.Thread(target=lambda: client.ask(WRITE, 0, bytes(PAGE)))
        writer.start()
        time.sleep(0.2)
        assert writer.is_alive()
        assert live.control("status")["outstanding"] == 1
        live.stop()
        writer.join(LIMIT_S)
        assert not writer.is_alive()


@pytest.mark.parametrize("engine", ["auto", "event"])
def test_a_sample_says_what_the_counters_say(tmp_path: Path, engine: str) -> None:
    draw = random.Random(1)  # noqa: S311 - nothing to hide
    settings = {**DRIVE, "engine": engine, "precondition": "full", "buffer.bytes": "64KiB"}
    with flashweir.serve(
        nbd=f"unix:{tmp_path / 'sock'}", clock="virtual", dashboard="127.0.0.1:0", exports=["a", "b"], set=settings
    ) as live:
        with Client(tmp_path / "sock", "b") as client:
            for _ in range(400):
                assert client.ask(WRITE, draw.randrange(800) * PAGE, bytes(PAGE)) == (0, b"")
            client.ask(FLUSH)
        found, counters = live.control("sample"), live.control("counters")
        assert found["requests"]["write"] == counters["counters"]["requests"]["write"] == 400
        assert found["collections"] == counters["counters"]["collections"] > 0
        assert found["tenants"]["b"]["requests"]["write"] == 400
        assert found["tenants"]["a"]["requests"]["write"] == 0
        assert found["buffer"] == {"bytes": 0, "capacity_bytes": 64 << 10}
        assert sum(count for _, count in found["latency_ns"]["write"]) == 400
        work = dict(zip(found["dies"]["work"], map(sum, zip(*found["dies"]["busy_ns"], strict=True)), strict=True))
        assert work["program"] > 0
        assert work["copy"] > 0
        assert work["erase"] > 0
        blocks = found["blocks"]
        free = sum(row.count(-1) for row in blocks["valid"])
        assert free == sum(blocks["free"]) == sum(found["free_blocks"])
        assert sum(map(len, blocks["valid"])) == found["total_blocks"]
        assert sum(map(sum, blocks["erases"])) == pytest.approx(
            counters["wear"]["mean"] * found["total_blocks"], rel=0.01
        )


def test_a_watched_drive_is_saved_as_one_that_is_not(tmp_path: Path) -> None:
    state, options = tmp_path / "state", {"nbd": f"unix:{tmp_path / 'sock'}", "clock": "virtual"}
    for dashboard, settings in (("127.0.0.1:0", DRIVE), (None, None), ("127.0.0.1:0", None)):
        with flashweir.serve(state=state, dashboard=dashboard, set=settings, **options) as live:  # type: ignore[arg-type]
            with Client(tmp_path / "sock") as client:
                if settings is None:
                    assert client.ask(READ, PAGE, PAGE) == (0, b"a" * PAGE)
                assert client.ask(WRITE, PAGE, b"a" * PAGE) == (0, b"")
            live.control("save", {"path": str(tmp_path / "saved")})
    with flashweir.serve(tmp_path / "saved", dashboard="127.0.0.1:0", **options) as live:  # type: ignore[arg-type]
        assert live.control("sample")["dies"]["work"][0] == "read"
