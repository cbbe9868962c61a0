"""TLS of a live drive: certificates by path, clients without it or without a certificate, and refusals."""

import os
import socket
import ssl
import struct
import subprocess
from pathlib import Path

import pytest
from block_devices import tool
from nbd_client import CAPACITY, FLUSH, LIMIT_S, OPTION, READ, TLS_REQUIRED, WRITE, Client

import flashweir

SMALL = {"channels": 2, "capacity": "8MiB", "pages_per_block": 8}


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    """A folder with the certificates of an authority, a server and a client, as `nbdinfo` names them."""
    folder = tmp_path / "certificates"
    folder.mkdir()

    def openssl(*words: str) -> None:
        subprocess.run([tool("openssl"), *words], cwd=folder, check=True, capture_output=True, timeout=LIMIT_S)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca-key.pem", "-out", "ca-cert.pem", "-subj", "/CN=tests", "-days", "2")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    for name in ("server", "client"):
        openssl("req", *key, "-keyout", f"{name}-key.pem", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signed = ("-CA", "ca-cert.pem", "-CAkey", "ca-key.pem", "-CAcreateserial", "-extfile", "names", "-days", "2")
        openssl("x509", "-req", "-in", f"{name}.csr", *signed, "-out", f"{name}-cert.pem")
    return folder


def served(certificates: Path, **options: object) -> flashweir.LiveDrive:
    given = {
        "nbd": "tcp:127.0.0.1:0",
        "tls_cert": certificates / "server-cert.pem",
        "tls_key": certificates / "server-key.pem",
        **options,
    }
    return flashweir.serve(clock="virtual", set=SMALL, **given)  # type: ignore[arg-type]


def port_of(live: flashweir.LiveDrive) -> int:
    return int(live.uri.rsplit(":", 1)[1].split("/")[0])


def trusting(certificates: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificates / "ca-cert.pem")


@pytest.mark.parametrize("structured", [False, True])
def test_bytes_come_back_over_tls(certificates: Path, structured: bool) -> None:
    data = os.urandom(1 << 20)
    with served(certificates) as live:
        assert live.uri.startswith("nbds://127.0.0.1:")
        with Client(port_of(live), structured=structured, tls=trusting(certificates)) as client:
            assert client.size == CAPACITY
            assert client.ask(WRITE, 4096, data) == (0, b"")
            assert client.ask(FLUSH) == (0, b"")
            assert client.ask(READ, 4096, len(data)) == (0, data)


def test_nbdinfo_reads_the_drive_over_tls(certificates: Path) -> None:
    with served(certificates, tls_clients=certificates / "ca-cert.pem") as live:
        uri = f"nbds://localhost:{port_of(live)}/?tls-certificates={certificates}"
        found = subprocess.run(
            [tool("nbdinfo"), "--size", uri], capture_output=True, text=True, timeout=LIMIT_S, check=True
        )
        assert int(found.stdout) == CAPACITY


def test_a_client_without_tls_or_certificate_is_refused(certificates: Path) -> None:
    with served(certificates, tls_clients=certificates / "ca-cert.pem") as live:
        with socket.create_connection(("127.0.0.1", port_of(live)), LIMIT_S) as plain:
            plain.recv(18)
            plain.sendall(struct.pack(">I", 3) + struct.pack(">QII", OPTION, 7, 6) + bytes(6))
            assert struct.unpack(">QIII", plain.recv(20))[2] == TLS_REQUIRED
        with pytest.raises((AssertionError, OSError)):
            Client(port_of(live), tls=trusting(certificates))
        context = trusting(certificates)
        context.load_cert_chain(certificates / "client-cert.pem", certificates / "client-key.pem")
        with Client(port_of(live), tls=context) as client:
            assert client.ask(READ, 0, 512) == (0, bytes(512))


def test_noise_where_tls_begins_ends_only_its_connection(certificates: Path) -> None:
    with served(certificates) as live:
        for count in (0, 5, 4000):
            with socket.create_connection(("127.0.0.1", port_of(live)), LIMIT_S) as noisy:
                noisy.recv(18)
                noisy.sendall(struct.pack(">I", 3) + struct.pack(">QII", OPTION, 5, 0))
                noisy.recv(20)
                noisy.sendall(os.urandom(count))
        with Client(port_of(live), tls=trusting(certificates)) as client:
            assert client.ask(READ, 0, 512)[0] == 0


def test_what_makes_no_tls_is_refused_in_a_line(certificates: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    for options, expected in (
        ({"tls_key": None}, "expected a certificate and its key"),
        ({"nbd": f"unix:{tmp_path / 'sock'}"}, "TLS is for TCP"),
        ({"tls_cert": tmp_path / "none"}, "expected certificates in PEM form"),
        ({"tls_cert": tmp_path / "empty"}, "has no certificate"),
        ({"tls_key": tmp_path / "empty"}, "expected a private key in PEM form"),
        ({"tls_key": certificates / "client-key.pem"}, "expected the key of"),
        ({"tls_clients": tmp_path / "empty"}, "has no certificate"),
    ):
        with pytest.raises(flashweir.ConfigError) as refused:
            served(certificates, **options)
        assert expected in str(refused.value)
        assert "\n" not in str(refused.value)
