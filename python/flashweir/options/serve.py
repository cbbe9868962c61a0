"""Options of a drive that is served."""

import os
from collections.abc import Sequence
from typing import Annotated, Literal

from flashweir.options.option import Option

AnyPath = str | os.PathLike[str]

Nbd = Annotated[
    str,
    Option(
        "text",
        "Address that clients connect to.",
        doc="address that clients connect to, `unix:PATH` or `tcp:HOST:PORT`.",
        row="the address (`unix:./flashweir.sock`); port 0 is any free one",
        metavar="unix:PATH|tcp:HOST:PORT",
    ),
]
VhostUserBlk = Annotated[
    Sequence[str],
    Option(
        "text",
        "A socket for virtual machines, with vhost-user-blk; may be repeated.",
        doc="sockets at which virtual machines open the drive with vhost-user-blk, `SOCKET` for the first export or"
        " `EXPORT=SOCKET`.",
        row="a socket at which virtual machines open the first export, or one by name, with"
        " [vhost-user-blk](serve.md#vhost-user-blk); may be repeated",
        metavar="[EXPORT=]SOCKET",
        several=True,
        also=object,
    ),
]
Exposed = Annotated[
    bool,
    Option(
        "flag",
        "Allow an address that other machines reach.",
        doc="allows an address that other machines reach.",
        row="allows an address that other machines reach: anybody there can then read and write the drive",
    ),
]
TlsCert = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Certificate of the server, PEM: clients must use TLS.",
        doc="certificate of the server, PEM: clients must use TLS.",
        row="certificate of the server, PEM; clients must use [TLS](serve.md#tls) then",
        metavar="FILE",
    ),
]
TlsKey = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Key of the certificate, PEM.",
        doc="key of the certificate, PEM.",
        row="key of the certificate, PEM",
        metavar="FILE",
    ),
]
TlsClients = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Authorities that sign clients' certificates, PEM.",
        doc="authorities that sign certificates of clients, PEM: clients must have one.",
        row="authorities that sign certificates of clients, PEM; clients must have one then",
        metavar="FILE",
    ),
]
Exports = Annotated[
    Sequence[str],
    Option(
        "text",
        "A part of the drive, and tenant; may be repeated.",
        doc="parts of the drive, `NAME` or `NAME=SIZE`; each is a tenant.",
        row="a part of the drive that clients open by name, and a tenant; may be repeated. Those without a size share"
        " the rest",
        metavar="NAME[=SIZE]",
        flags=("--export",),
        several=True,
        also=object,
    ),
]
Data = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Place of the bytes; none: a pattern is read.",
        doc='place of the bytes: a file, a folder, `"memory"` or `"none"`. `None`: the folder of `state`, or memory.',
        row="the [place of the bytes](serve.md#data) (`memory`)",
        metavar="FILE|DIR|memory|none",
    ),
]
Clock = Annotated[
    Literal["paced", "virtual"],
    Option(
        "text",
        "paced: requests take their simulated time; virtual: they are answered at once.",
        doc='`"paced"`: requests take their simulated time; `"virtual"`: they are answered at once.',
        row="[relation of wall time to simulated time](serve.md#time) (`paced`)",
        metavar="paced|virtual",
        choices=("paced", "virtual"),
    ),
]
Dilate = Annotated[
    float,
    Option(
        "number",
        "Wall time over simulated time, from 1 on.",
        doc="wall time over simulated time, from 1 on.",
        row="wall time over simulated time (1), with `paced`",
        metavar="K",
    ),
]
Control = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Take commands of `flashweir ctl` at a socket.",
        doc="socket that takes commands.",
        row="takes [commands](serve-control.md) at a unix socket",
        metavar="SOCKET",
    ),
]
Dashboard = Annotated[
    str | None,
    Option(
        "text",
        "Show the drive in a browser.",
        doc="address of a page that shows the drive in a browser, `HOST:PORT`; its URL is `dashboard`.",
        row="shows the drive [in a browser](serve.md#dashboard), at an address of this machine; port 0 is any free one",
        metavar="HOST:PORT",
        in_spec=False,
    ),
]
Record = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Keep the arrivals as a trace.",
        doc="trace of the arrivals, Parquet.",
        row="keeps the [arrivals](serve.md#recording) as a trace",
        metavar="F.parquet",
    ),
]
State = Annotated[
    AnyPath | None,
    Option(
        "path",
        "Folder that the drive lives in: it opens as it was.",
        doc="folder that the drive lives in: it opens as it was, also after its process was killed.",
        row="the [folder that the drive lives in](serve.md#state)",
        metavar="DIR",
    ),
]
PowerCuts = Annotated[
    bool,
    Option(
        "flag",
        "Follow what flash holds, so that power can be cut.",
        doc="follows what flash holds of the bytes, so that power can be cut.",
        row="follows what flash holds, so that [power can be cut](serve.md#power-cuts)",
    ),
]
ProtectedBuffer = Annotated[
    bool,
    Option(
        "flag",
        "Capacitors write the buffer to flash when power fails.",
        doc="capacitors write the buffer to flash when power fails.",
        row="capacitors write the buffer to flash when power fails",
    ),
]
IgnoreFlush = Annotated[
    bool,
    Option(
        "flag",
        "Answer flushes without effect: a drive that lies.",
        doc="flushes are answered without effect: a drive that lies, to test tests with.",
        row="answers flushes without effect: a drive that lies, to test tests with",
    ),
]
Seed = Annotated[
    int | None,
    Option(
        "whole",
        "Seed of the drive.",
        doc="of the drive's own randomness and of preconditioning.",
        row="of the drive's own randomness and of preconditioning",
        metavar="N",
        in_spec=False,
    ),
]
