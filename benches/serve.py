"""Lateness of a live drive as its client sees it: reads at depths over a unix socket, at simulated time times K.

    python benches/serve.py [--dilate K] [--requests N] [--depths 1,2,4,8,16,32]

One client in a process of its own keeps the depth with one connection, sends without waiting and receives as replies
come. For each depth it prints: replies a second, the share that the server handed to the socket in time, and
the client's view: median and 99th percentile of the time from sending to the whole reply, and the drive's median
latency times K. Beside it stands the floor of this machine, measured right before: a bare thread that waits as long,
asleep until 100 us before the due time and then looking at the clock, and hands as many bytes to a process that waits
for them on a socket; its share that is handed over within 50 us, and the same of a thread that only sleeps. Then, with
the virtual clock, replies a second and the median time of one read: the fast path.
"""

import argparse
import contextlib
import ctypes
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Literal

import flashweir

PAGE = 4096
DRIVE = {"channels": 8, "capacity": "1GiB", "precondition": "full", "timing.read": "80us", "timing.bus": 1}
REQUEST = struct.Struct(">IHHQQI")
REPLY_BYTES = 16 + PAGE
# Lateness that is always allowed.
ALLOWED_S = 50e-6


def connected(path: str) -> socket.socket:
    """A connection to the first export."""
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    taken(client, 18)
    client.sendall(struct.pack(">I", 3) + struct.pack(">QII", 0x49484156454F5054, 1, 0))
    taken(client, 10)
    return client


def taken(client: socket.socket, count: int) -> bytes:
    """So many bytes."""
    found = bytearray()
    while len(found) < count:
        if not (more := client.recv(count - len(found))):
            raise ConnectionError("the connection ended")
        found += more
    return bytes(found)


def read(path: str, depth: int, requests: int) -> None:
    """The client: prints wall seconds, and the time of each reply in seconds."""
    client = connected(path)
    sent, times = {}, []

    def send(number: int) -> None:
        page = number * 7919 % ((1 << 30) // PAGE)
        sent[number] = time.perf_counter()
        client.sendall(REQUEST.pack(0x25609513, 0, 0, number, page * PAGE, PAGE))

    began = time.perf_counter()
    for number in range(depth):
        send(number)
    for following in range(depth, requests + depth):
        reply = taken(client, REPLY_BYTES)
        times.append(time.perf_counter() - sent.pop(int.from_bytes(reply[8:16], "big")))
        if following < requests:
            send(following)
    print(time.perf_counter() - began, *times)


def floor(wait_s: float, awake_s: float, count: int) -> float:
    """Share of messages that a bare thread hands over within 50 us of their due time, one at a time."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        with contextlib.suppress(OSError):
            while len(taken(theirs, REPLY_BYTES)) == REPLY_BYTES:
                theirs.sendall(b"+")
        os._exit(0)
    theirs.close()
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    # PR_SET_TIMERSLACK, as the server does.
    ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)
    message, in_time = bytes(REPLY_BYTES), 0
    for _ in range(count):
        due = time.perf_counter() + wait_s
        time.sleep(max(wait_s - awake_s, 0))
        while time.perf_counter() < due:
            pass
        ours.sendall(message)
        in_time += time.perf_counter() - due <= ALLOWED_S
        ours.recv(1)
    ours.close()
    os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, before)
    return in_time / count


def measured(
    clock: Literal["paced", "virtual"], dilate: float, depth: int, requests: int
) -> tuple[float, list[float], flashweir.Result]:
    """Wall seconds, times of replies by the client, and the result of the drive."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "sock"))
        with flashweir.serve(nbd=f"unix:{path}", clock=clock, dilate=dilate, data="none", set=DRIVE) as live:
            words = [sys.executable, __file__, "--client", path, str(depth), str(requests)]
            run = subprocess.run(words, capture_output=True, text=True, check=True)  # noqa: S603
        wall, *times = map(float, run.stdout.split())
        return wall, times, live.result


def main() -> None:
    """Measures and prints."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--dilate", type=float, default=10)
    options.add_argument("--requests", type=int, default=4000)
    options.add_argument("--depths", default="1,2,4,8,16,32")
    options.add_argument("--client", nargs=3, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.client:
        read(given.client[0], int(given.client[1]), int(given.client[2]))
        return
    for depth in map(int, given.depths.split(",")):
        bare, asleep = (floor(80e-6 * given.dilate, awake, given.requests // 4) for awake in (100e-6, 0))
        wall, times, result = measured("paced", given.dilate, depth, given.requests)
        lateness = result["serve"]["lateness"]
        in_time = 1 - lateness["late"] / lateness["completions"]
        usual = result["latency_us"]["read"]["p50"] * given.dilate
        client = statistics.quantiles(times, n=100)
        print(
            f"depth {depth:2}: {given.requests / wall:7.0f}/s, {in_time:7.2%} in time by the server; client "
            f"{client[49] * 1e6:.0f} us median, {client[98] * 1e6:.0f} us p99; due after {usual:.0f} us; bare "
            f"{bare:.2%}, asleep {asleep:.2%}",
            flush=True,
        )
    for depth in (1, 32):
        wall, times, _ = measured("virtual", 1, depth, given.requests)
        print(f"virtual, depth {depth}: {given.requests / wall:.0f}/s, {statistics.median(times) * 1e6:.0f} us a read")


if __name__ == "__main__":
    main()
