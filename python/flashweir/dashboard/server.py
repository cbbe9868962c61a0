"""The HTTP server of the page: a few files, the state as JSON, and commands.

The browser of this machine is the only client, unless the address was exposed. A page of another site can send requests
to this address: those are refused by their `Host` and `Origin`, and commands need the token that is in the page.
"""

import hmac
import json
import secrets
import socket
import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from ipaddress import ip_address
from socketserver import TCPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from flashweir._native import ConfigError, FlashweirError
from flashweir.dashboard.sources import Source

FILES = {
    "/page.css": "text/css; charset=utf-8",
    "/page.js": "text/javascript; charset=utf-8",
    "/charts.js": "text/javascript; charset=utf-8",
    "/picture.js": "text/javascript; charset=utf-8",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'"
)
TOKEN = "{{token}}"  # noqa: S105 - its place in the page
# The longest body of a command, bytes.
MAX_BODY = 1 << 16
# Seconds that a connection may be silent.
PATIENCE_S = 30
# Connections at a time.
MAX_CONNECTIONS = 64


class Address(NamedTuple):
    """Host and port to listen at; port 0 is any free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, option: str = "--dashboard") -> "Address":
        """An address as on the command line, `HOST:PORT`.

        Raises:
            ConfigError: it is none.
        """
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not (colon and host and port.isascii() and port.isdigit() and int(port) < 1 << 16):
            raise ConfigError(f"{option} {text}: expected HOST:PORT, such as 127.0.0.1:8080; port 0 is any free one")
        return cls(host, int(port))

    def check(self, *, exposed: bool, option: str = "--dashboard") -> None:
        """Refuses an address that other machines reach, unless it is exposed.

        Raises:
            ConfigError: it is one, or none of this machine.
        """
        shown = f"{option} {self.host}:{self.port}"
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise ConfigError(f"{shown}: {error.strerror}; expected an address of this machine") from error
        outside = next((one[4][0] for one in found if not ip_address(str(one[4][0])).is_loopback), None)
        if outside is not None and not exposed:
            raise ConfigError(
                f"{shown}: other machines reach {outside}, and anybody there could cut the drive's power; expected a"
                " loopback address such as 127.0.0.1, or --exposed"
            )


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    source: Source

    def __init__(self, address: Address, *, exposed: bool) -> None:
        self.exposed = exposed
        self.token = secrets.token_urlsafe(24)
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Binds without the look-up of the machine's name that the library makes."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    @property
    def url(self) -> str:
        """The page's address."""
        host, port = self.server_address[:2]
        shown = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{shown}:{port}/"

    def hosts(self) -> set[str]:
        """Values of `Host` that name this server."""
        host, port = self.server_address[:2]
        names = {"localhost", "127.0.0.1", "[::1]", f"[{host!s}]" if ":" in str(host) else str(host)}
        return {f"{name}:{port}" for name in names} | (names if port == 80 else set())  # noqa: PLR2004 - HTTP's own

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - of the library
        """Answers a connection, if there are not too many."""
        with self._lock:
            taken = len(self._open) < MAX_CONNECTIONS
            if taken:
                self._open.add(request)
        if not taken:
            self.shutdown_request(request)
            return
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._open.discard(request)

    def cut_connections(self) -> None:
        """Ends connections that browsers keep open."""
        with self._lock:
            for one in self._open:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - of the library
        """A client that has gone is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE_S

    def do_GET(self) -> None:
        """Answers with a file, or the state."""
        parts = urlsplit(self.path)
        if not self._is_ours():
            return
        if parts.path == "/":
            page = _file("/page.html").decode().replace(TOKEN, self.server.token)
            self._send(HTTPStatus.OK, page.encode(), "text/html; charset=utf-8")
        elif parts.path in FILES:
            self._send(HTTPStatus.OK, _file(parts.path), FILES[parts.path])
        elif parts.path == "/about":
            self._json(HTTPStatus.OK, self.server.source.about())
        elif parts.path == "/state":
            asked = parse_qs(parts.query)
            query = {name: int(values[-1]) for name, values in asked.items() if _is_number(values[-1])}
            self._json(HTTPStatus.OK, self.server.source.state(query))
        else:
            self._json(HTTPStatus.NOT_FOUND, {"error": "no such page"})

    def do_POST(self) -> None:
        """Executes a command."""
        length = self.headers.get("Content-Length", "")
        if not (_is_number(length) and int(length) <= MAX_BODY):
            self.close_connection = True
            self._json(HTTPStatus.BAD_REQUEST, {"error": f"expected a body of at most {MAX_BODY} bytes"})
            return
        body = self.rfile.read(int(length))
        if not self._is_ours():
            return
        if not hmac.compare_digest(self.headers.get("X-Flashweir-Token", "").encode(), self.server.token.encode()):
            self._json(HTTPStatus.FORBIDDEN, {"error": "expected the token of the page"})
            return
        asked = _command(body)
        if asked is None or self.path != "/command":
            self._json(HTTPStatus.BAD_REQUEST, {"error": 'expected {"cmd": NAME, "args": {...}}'})
            return
        try:
            self._json(HTTPStatus.OK, {"result": self.server.source.command(*asked)})
        except ConfigError as error:
            self._json(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        except FlashweirError as error:
            self._json(HTTPStatus.CONFLICT, {"error": str(error)})

    def _is_ours(self) -> bool:
        """Refuses requests that a page of another site makes, or that came under a foreign name."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        foreign = self.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none")
        named = self.server.exposed or host.lower() in self.server.hosts()
        if named and not foreign and origin in (None, f"http://{host}"):
            return True
        self.close_connection = True
        self._json(HTTPStatus.FORBIDDEN, {"error": "expected a request of the dashboard's own page"})
        return False

    def _json(self, status: HTTPStatus, found: object) -> None:
        self._send(status, json.dumps(found).encode(), "application/json")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": POLICY,
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        """The server's name, without versions of others."""
        return "flashweir"

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing on standard error."""


def _file(name: str) -> bytes:
    return resources.files("flashweir.dashboard").joinpath(name.removeprefix("/")).read_bytes()


def _command(body: bytes) -> tuple[str, dict[str, object]] | None:
    """The command of a body, and its arguments; `None` if it is none."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(asked, dict):
        return None
    name, arguments = asked.get("cmd"), asked.get("args", {})
    return (name, arguments) if isinstance(name, str) and isinstance(arguments, dict) else None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 16  # noqa: PLR2004 - more than any count has


class Dashboard:
    """A page under its address, from `start` on until it is closed."""

    def __init__(self, address: str, *, exposed: bool = False, option: str = "--dashboard") -> None:
        """Listens at `HOST:PORT`, and answers nobody yet.

        Raises:
            ConfigError: nothing can listen there, or other machines could reach it and it is not exposed.
        """
        at = Address.parse(address, option)
        at.check(exposed=exposed, option=option)
        try:
            self._server = _Server(at, exposed=exposed)
        except OSError as error:
            expected = f"{error.strerror}; expected an address of this machine and a free port"
            raise ConfigError(f"{option} {address}: {expected}") from error
        self.url = self._server.url
        self._thread: threading.Thread | None = None

    def start(self, source: Source) -> None:
        """Shows a drive, which is closed with the page."""
        self._server.source = source
        self._thread = threading.Thread(target=self._server.serve_forever, name="dashboard", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the page. Idempotent."""
        if self._thread is not None:
            self._server.shutdown()
            self._server.cut_connections()
            self._thread.join()
            self._thread = None
            self._server.source.close()
        self._server.server_close()
