"""Commands as processes of their own, forked from one that has imported everything already.

A third of a second to two seconds of each command are imports, the same in all of them. `run` starts one server a
test process, which imports once and forks a process for each command line. That process has the arguments, folder,
environment and streams that it would have otherwise, and calls `flashweir.cli.main` as the installed script does.
`run_script` does the same with a text of Python. test_start.py has the imports of commands, in fresh processes.
"""

import atexit
import contextlib
import functools
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

# Libraries that commands import where they use them.
_LIBRARIES = (
    "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "matplotlib.figure", "numpy", "plotly",
    "polars", "rich.console", "rich.progress", "rich.table", "scipy.optimize", "scipy.stats",
    "flashweir.charts.matplotlib", "flashweir.reports.api", "flashweir.sweeps",
)  # fmt: skip
_LENGTH = struct.Struct("!Q")
_STREAMS = 4


def run(
    arguments: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float = 300,
) -> "subprocess.CompletedProcess[str]":
    """Runs `flashweir` with arguments and without standard input, as `subprocess.run` does.

    Raises:
        subprocess.TimeoutExpired: it runs for longer; it is killed.
    """
    words = ["flashweir", *arguments]
    return _as_text(_ran({"words": words, "script": None}, words, cwd=cwd, env=env, timeout_s=timeout_s))


def run_piped(
    arguments: Sequence[str], given: bytes, *, cwd: Path | None = None, timeout_s: float = 300
) -> "subprocess.CompletedProcess[bytes]":
    """Runs `flashweir` with a pipe as standard input, which `given` comes through; what it prints, as bytes.

    Raises:
        subprocess.TimeoutExpired: it runs for longer; it is killed.
    """
    words = ["flashweir", *arguments]
    return _ran({"words": words, "script": None}, words, cwd=cwd, env=None, timeout_s=timeout_s, given=given)


def run_script(
    text: str, *, cwd: Path | None = None, env: Mapping[str, str] | None = None, timeout_s: float = 300
) -> "subprocess.CompletedProcess[str]":
    """Runs a text of Python, as `python -c` does.

    Raises:
        subprocess.TimeoutExpired: it runs for longer; it is killed.
    """
    task = {"words": ["-c"], "script": text}
    return _as_text(_ran(task, ["python", "-c", text], cwd=cwd, env=env, timeout_s=timeout_s))


def _as_text(done: "subprocess.CompletedProcess[bytes]") -> "subprocess.CompletedProcess[str]":
    out, err = (text.decode("utf-8", "surrogateescape").replace("\r\n", "\n") for text in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def _ran(
    task: Mapping[str, object],
    words: Sequence[str],
    *,
    cwd: Path | None,
    env: Mapping[str, str] | None,
    timeout_s: float,
    given: bytes | None = None,
) -> "subprocess.CompletedProcess[bytes]":
    request = {**task, "cwd": os.fspath(cwd or Path.cwd()), "env": dict(os.environ if env is None else env)}
    ours, theirs = socket.socketpair()
    with ours, contextlib.ExitStack() as stack:
        outs = []
        ends = [theirs.fileno()]
        for _ in ("stdout", "stderr"):
            reader, writer = os.pipe()
            outs.append(stack.enter_context(os.fdopen(reader, "rb")))
            ends.append(writer)
        feeder = None
        if given is not None:
            reader_end, feed = os.pipe()
            ends.append(reader_end)
            feeder = threading.Thread(target=_feed, args=(feed, given))
        try:
            _server().ask(request, ends)
        finally:
            theirs.close()
            for end in ends[1:]:
                os.close(end)
        if feeder:
            feeder.start()
        (pid,) = _LENGTH.unpack(_exactly(ours, _LENGTH.size))
        overdue = threading.Event()
        timer = threading.Timer(timeout_s, lambda: (overdue.set(), os.kill(pid, signal.SIGKILL)))
        timer.start()
        try:
            texts = _read(outs)
            (status,) = _LENGTH.unpack(_exactly(ours, _LENGTH.size))
        finally:
            timer.cancel()
            timer.join()
        if feeder:
            feeder.join()
    if overdue.is_set():
        raise subprocess.TimeoutExpired(words, timeout_s)
    code = os.waitstatus_to_exitcode(status)
    return subprocess.CompletedProcess(words, code, *texts)


def _feed(pipe: int, given: bytes) -> None:
    """Writes all of `given`, or as much as is read, and closes the pipe."""
    with contextlib.suppress(BrokenPipeError), os.fdopen(pipe, "wb") as file:
        file.write(given)


def _read(files: "Sequence[object]") -> list[bytes]:
    """All that comes out of some pipes, read as it comes."""
    found: dict[object, list[bytes]] = {file: [] for file in files}
    with selectors.DefaultSelector() as waiting:
        for file in files:
            waiting.register(file, selectors.EVENT_READ)  # type: ignore[arg-type]
        while waiting.get_map():
            for key, _ in waiting.select():
                chunk = os.read(key.fd, 1 << 16)
                found[key.fileobj].append(chunk)
                if not chunk:
                    waiting.unregister(key.fileobj)
    return [b"".join(chunks) for chunks in found.values()]


class _Server:
    """The server of this process; ends with it."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        self._lock = threading.Lock()
        with theirs:
            # -P: what lies beside this file is nothing that a command can import.
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        atexit.register(self._end)

    def ask(self, request: Mapping[str, object], ends: Sequence[int]) -> None:
        """Sends a command line and the descriptors of its process: answer, output, messages and, if any, input."""
        text = json.dumps(request).encode()
        with self._lock:
            socket.send_fds(self._control, [_LENGTH.pack(len(text))], ends)
            self._control.sendall(text)

    def _end(self) -> None:
        self._control.close()
        self._process.wait()


@functools.cache
def _server() -> _Server:
    return _Server()


def _exactly(connection: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        chunk = connection.recv(length - len(found))
        if not chunk:
            raise ConnectionError("the server of commands has ended")
        found += chunk
    return found


def serve(control: socket.socket) -> None:
    """Forks a process for each command line that is asked for, until nobody can ask any more."""
    running: dict[int, tuple[int, socket.socket]] = {}
    with selectors.DefaultSelector() as waiting:
        waiting.register(control, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                if key.fileobj is not control:
                    waiting.unregister(key.fileobj)
                    pid, answers = running.pop(key.fd)
                    os.close(key.fd)
                    with answers, contextlib.suppress(BrokenPipeError):
                        answers.sendall(_LENGTH.pack(os.waitpid(pid, 0)[1]))
                    continue
                head, ends, _, _ = socket.recv_fds(control, _LENGTH.size, _STREAMS)
                if not head:
                    return
                request = json.loads(_exactly(control, _LENGTH.unpack(head)[0]))
                pid = os.fork()
                if not pid:
                    for one in (waiting, control, *(answers for _, answers in running.values())):
                        one.close()
                    os.close(ends[0])
                    _become(request, ends[1:])
                answers = socket.socket(fileno=ends[0])
                for end in ends[1:]:
                    os.close(end)
                answers.sendall(_LENGTH.pack(pid))
                place = os.pidfd_open(pid)
                running[place] = pid, answers
                waiting.register(place, selectors.EVENT_READ)


def _become(request: Mapping[str, object], ends: Sequence[int]) -> None:
    """The command or script, in the process that was forked for it; never returns.

    It ends without taking the interpreter down, which would touch, and so copy, all memory of the server.
    """
    import traceback

    from flashweir.cli import main

    for end, stream in zip(ends, (1, 2, 0), strict=False):
        os.dup2(end, stream)
        os.close(end)
    os.chdir(str(request["cwd"]))
    os.environ.clear()
    os.environ.update(request["env"])  # type: ignore[call-overload]
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.argv[:] = request["words"]  # type: ignore[call-overload]
    script = request["script"]
    code: object = 1
    try:
        if script is None:
            main()
        sys.path.insert(0, "")
        exec(compile(str(script), "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - our own documents
        code = 0
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001 - as the interpreter does with what nobody caught
        traceback.print_exc()
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _import_all() -> None:
    import gc
    from importlib import import_module

    from flashweir.cli import application

    application()
    for library in _LIBRARIES:
        import_module(library)
    gc.freeze()


if __name__ == "__main__":
    _import_all()
    serve(socket.socket(fileno=int(sys.argv[1])))
