"""Live drives: a simulated drive as a disk while a program goes on."""

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from flashweir import _native
from flashweir._native import ConfigError, FlashweirError
from flashweir.api import Progress, as_json, as_native_progress, device_name, name_device
from flashweir.arguments import check_path, in_python
from flashweir.options import serve as option
from flashweir.options.option import as_spec, checked, declared
from flashweir.result import Result
from flashweir.settings import chosen
from flashweir.tenants import AnyPath

if TYPE_CHECKING:
    from flashweir.dashboard.server import Dashboard

# The first bytes of the file of a saved drive.
_SAVED = b"flashweir drive\n"


class LiveDrive:
    """A simulated drive that is being served, until it is stopped. It is a context manager, which stops it."""

    def __init__(self, server: _native.Server, title: str = "drive", page: "Dashboard | None" = None) -> None:
        """Of a server that has started, with the page that is to show it; `serve` makes one."""
        self._server = server
        self._page = page
        self.dashboard: str | None = None
        if page is not None:
            from flashweir.dashboard.sources import Live

            page.start(Live(title, self.control))
            self.dashboard = page.url
        ready = json.loads(server.ready)
        self.uri: str = ready["uri"]
        self.size_bytes: int = ready["size_bytes"]
        self._result: Result | None = None

    def control(self, command: str, arguments: Mapping[str, object] | None = None) -> dict[str, Any]:
        """Executes a command of `flashweir ctl`, with its arguments by name.

        Raises:
            ConfigError: an unknown command or argument, or a value that is none.
            FlashweirError: the drive refuses it, or is no longer served.
        """
        line = json.dumps({"cmd": command, "args": dict(arguments or {})})
        return answer(json.loads(self._server.control(line)))

    def stop(self) -> Result:
        """Answers everything outstanding, flushes, and ends. Idempotent.

        Returns:
            The result, as `flashweir serve --json` writes it.
        """
        if self._result is None:
            if self._page is not None:
                self._page.close()
            self._result = Result(self._server.stop())
        return self._result

    @property
    def result(self) -> Result:
        """The result, once the drive was stopped."""
        if self._result is None:
            raise FlashweirError("this drive is still served: stop() ends it and returns the result")
        return self._result

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


@declared
@in_python
def serve(
    device: AnyPath | Mapping[str, Any] | None = None,
    *,
    nbd: option.Nbd = "unix:./flashweir.sock",
    vhost_user_blk: option.VhostUserBlk = (),
    exposed: option.Exposed = False,
    tls_cert: option.TlsCert = None,
    tls_key: option.TlsKey = None,
    tls_clients: option.TlsClients = None,
    exports: option.Exports = (),
    data: option.Data = None,
    clock: option.Clock = "paced",
    dilate: option.Dilate = 1.0,
    control: option.Control = None,
    dashboard: option.Dashboard = None,
    record: option.Record = None,
    state: option.State = None,
    power_cuts: option.PowerCuts = False,
    protected_buffer: option.ProtectedBuffer = False,
    ignore_flush: option.IgnoreFlush = False,
    seed: option.Seed = None,
    progress: Progress | None = None,
    set: Mapping[str, object] | None = None,
    **overrides: object,
) -> LiveDrive:
    """Serves a simulated drive as a disk over NBD (docs/reference/serve.md).

    Args:
        device: a preset's name, the path of a TOML or JSON file or of a saved drive, or a configuration as a mapping.
            `None` is the default drive, or the one in `state`.
        progress: that of `simulate`, with the phase "precondition".
        set: keys of the drive by their dotted names, as in `simulate`.
        overrides: the same as keyword arguments.

    Raises:
        ConfigError: an option, key or combination that can't be served.
        FlashweirError: preconditioning failed, or `progress` stopped it.
    """
    options = checked(serve, locals())
    check_path("device", device)
    for name, given in (("exports", exports), ("vhost_user_blk", vhost_user_blk)):
        if isinstance(given, str) or not all(isinstance(text, str) for text in given):
            raise ConfigError(f"{name}: {given!r}: expected a list of texts")
    page = opened_page(dashboard, exposed=exposed)
    with tempfile.TemporaryDirectory(prefix="flashweir-") as scratch, ExitStack() as closing:
        if page is not None:
            closing.callback(page.close)
        found = None if is_saved(device) else device_name(device, Path(scratch))
        drive = {"device": found, "overrides": chosen(set, overrides), "options": {"seed": seed}}
        spec = {
            "drive": drive,
            "load": os.fsdecode(device) if is_saved(device) else None,  # type: ignore[arg-type]
            **as_spec(serve, options),
            "exports": list(exports),
            "vhost_user_blk": list(vhost_user_blk),
            "watched": page is not None,
        }
        try:
            server = _native.Server(as_json(spec), as_native_progress(progress))
            closing.pop_all()
            return LiveDrive(server, title_of(device), page)
        except ConfigError as error:
            name_device(error, Path(scratch))
            raise


def opened_page(address: str | None, *, exposed: bool) -> "Dashboard | None":
    """The page at an address, not started yet; `None` without one.

    Raises:
        ConfigError: nothing can listen there, or other machines could reach it and it is not exposed.
    """
    if address is None:
        return None
    from flashweir.dashboard.server import Dashboard

    return Dashboard(address, exposed=exposed)


def title_of(device: object) -> str:
    """The name of a drive in the title of its page."""
    if device is None:
        return "default drive"
    return Path(os.fsdecode(device)).name if isinstance(device, str | bytes | os.PathLike) else "drive"


def is_saved(device: object) -> bool:
    """True if a device is the file of a saved drive."""
    if not isinstance(device, str | bytes | os.PathLike):
        return False
    try:
        with Path(os.fsdecode(device)).open("rb") as file:
            return file.read(len(_SAVED)) == _SAVED
    except OSError:
        return False


def answer(reply: dict[str, Any]) -> dict[str, Any]:
    """The result of a command from its reply; raises its error."""
    if reply["ok"]:
        found: dict[str, Any] = reply["result"]
        return found
    error = reply["error"]
    raise (ConfigError if error["kind"] == "bad-input" else FlashweirError)(error["message"])
