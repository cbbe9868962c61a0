"""Inputs of bundles, and archives taken apart and put together again, as an adversary may."""

import hashlib
import io
import json
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TRACE = "".join(
    f"{128166372003061629 + rank * 10_000_000},web,0,{op},{start},4096,100\n"
    for rank, (op, start) in enumerate([("Read", 0), ("Write", 4096), ("Write", 40 << 20)])
)
DRIVE = 'channels = 2\ncapacity = "64MiB"\npages_per_block = 64\n'
MIX = """time_scale = "1/100"
[tenants.a]
workload = "t.csv"
format = "msr"
[tenants."b c"]
workload = "random:count=100,span=1MiB,rate=1000"
start = "1ms"
"""


def members(bundle: Path) -> dict[str, bytes]:
    """The files of a bundle."""
    with tarfile.open(fileobj=io.BytesIO(zstd.decompress(bundle.read_bytes()))) as tar:
        return {info.name: tar.extractfile(info).read() for info in tar}  # type: ignore[union-attr]


def archived(infos: list[tuple[tarfile.TarInfo, bytes]], format: int = tarfile.GNU_FORMAT) -> bytes:
    """An archive of these members."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format) as tar:
        for info, content in infos:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return zstd.compress(buffer.getvalue())


def plain(files: dict[str, bytes]) -> list[tuple[tarfile.TarInfo, bytes]]:
    return [(tarfile.TarInfo(path), content) for path, content in files.items()]


def packed_again(bundle: Path, edit: Callable[[dict[str, bytes]], None]) -> None:
    """Edits the files of a bundle, and gives the manifest their hashes."""
    files = members(bundle)
    edit(files)
    manifest = json.loads(files.pop("MANIFEST.json"))
    manifest["files"] = [
        {"path": path, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        for path, content in files.items()
    ]
    bundle.write_bytes(archived(plain({"MANIFEST.json": json.dumps(manifest).encode(), **files})))
