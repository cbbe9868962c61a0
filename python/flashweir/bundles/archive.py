"""Archives: tar in zstd. Equal contents give equal bytes; nothing that an archive says is trusted when it is read."""

import hashlib
import io
import os
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from flashweir._native import ConfigError, FlashweirError
from flashweir.bundles.manifest import MANIFEST, MAX_MANIFEST_BYTES, Listed, is_name

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_BLOCK = tarfile.BLOCKSIZE
_CHUNK = 1 << 20
_LEVEL = 9
# Log2 of the largest window of a decoder, in bytes: a bound on its memory.
_MAX_WINDOW_LOG = 27
# An archive may unpack to so many bytes, or to so many times its own size.
_MAX_BYTES = 1 << 30
_MAX_RATIO = 100
_KINDS = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.DIRTYPE: "a folder",
}
# Files that a manifest lists, by path.
Listing = Mapping[str, Listed]


@dataclass(frozen=True)
class Member:
    """A file of an archive: its content, or the file that has it, and its hash."""

    path: str
    source: bytes | Path
    sha256: str
    bytes: int


def write(target: Path, members: Iterable[Member]) -> None:
    """Writes an archive that appears when it is complete.

    Raises:
        FlashweirError: a file can't be read, has changed since it was hashed, or the archive can't be written.
    """
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    options: dict[int, int] = {
        zstd.CompressionParameter.compression_level: _LEVEL,
        zstd.CompressionParameter.checksum_flag: 1,
    }
    try:
        with (
            zstd.ZstdFile(part, "wb", options=options) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar,
        ):
            for member in members:
                _add(tar, member)
        part.replace(target)
    except OSError as error:
        name = target if error.filename in (None, str(part)) else error.filename
        raise FlashweirError(f"{name}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)


def _add(tar: tarfile.TarFile, member: Member) -> None:
    # Owner, mode and time of a new TarInfo are fixed: 0, 0644 and 1970.
    info = tarfile.TarInfo(member.path)
    info.size = member.bytes
    if isinstance(member.source, bytes):
        tar.addfile(info, io.BytesIO(member.source))
        return
    with member.source.open("rb") as file:
        reader = _Hashing(file)
        try:
            tar.addfile(info, reader)
        except OSError as error:
            if error.errno is not None:
                raise
            raise FlashweirError(f"{member.source}: changed while it was read") from error
        if reader.hexdigest() != member.sha256 or file.read(1):
            raise FlashweirError(f"{member.source}: changed while it was read")


class _Hashing(io.RawIOBase):
    """A file that is hashed as it is read."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file, self._hash = file, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._hash.update(data)
        return data

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def is_bundle(path: Path) -> bool:
    """True if a file begins as a bundle does."""
    try:
        with _opened(path) as file:
            name, size = next(_headers(file, path))
            return name == MANIFEST and b'"flashweir-bundle-' in file.read(min(size, _CHUNK))
    except (ConfigError, StopIteration, zstd.ZstdError, EOFError):
        return False


def extract(archive: Path, folder: Path, read_manifest: Callable[[bytes], Listing]) -> None:
    """Unpacks an archive into an empty folder, and checks every file against its manifest.

    Args:
        archive: the file.
        folder: where to.
        read_manifest: takes the manifest, and returns the files that have to follow, by path.

    Raises:
        ConfigError: it is no bundle, is damaged, holds other files than its manifest lists, or anything but files
            within it, or would take more space than is reasonable.
    """
    try:
        with _opened(archive) as file:
            headers = _headers(file, archive)
            name, size = next(headers, ("", 0))
            if name != MANIFEST or size > MAX_MANIFEST_BYTES:
                raise ConfigError(f"{archive}: expected a bundle of flashweir, which begins with {MANIFEST}")
            text = file.read(size)
            _skip(file, size)
            listing = read_manifest(text)
            _check_space(archive, folder, sum(one.bytes for one in listing.values()))
            (folder / MANIFEST).write_bytes(text)
            _extract_rest(file, headers, archive, folder, listing)
    except (zstd.ZstdError, EOFError) as error:
        raise ConfigError(f"{archive}: damaged or no bundle of flashweir: {error}") from error
    except OSError as error:
        raise ConfigError(f"{error.filename or archive}: {error.strerror or error}") from error


def _extract_rest(
    file: zstd.ZstdFile, headers: Iterator[tuple[str, int]], archive: Path, folder: Path, listing: Listing
) -> None:
    left = dict(listing)
    for name, size in headers:
        expected = left.pop(name, None)
        if expected is None:
            raise ConfigError(f"{archive}: {name}: expected files that {MANIFEST} lists, each once")
        if size != expected.bytes:
            raise ConfigError(f"{archive}: {name}: has {size} bytes, and {expected.bytes} in {MANIFEST}: changed")
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with target.open("xb") as out:
            for chunk in _chunks(file, size):
                digest.update(chunk)
                out.write(chunk)
        _skip(file, size)
        if digest.hexdigest() != expected.sha256:
            raise ConfigError(
                f"{archive}: {name}: has sha256 {digest.hexdigest()}, and {expected.sha256} in {MANIFEST}: changed"
            )
    if left:
        raise ConfigError(f"{archive}: {next(iter(left))}: is in {MANIFEST}, and not in the archive")
    # The checksum of the archive stands at its end.
    if any(file.read(tarfile.RECORDSIZE)) or file.read(1):
        raise ConfigError(f"{archive}: damaged: expected nothing after its end")


def _opened(path: Path) -> zstd.ZstdFile:
    try:
        # Opening a pipe would wait for its writer.
        if not path.is_file():
            raise ConfigError(f"{path}: expected a bundle, a file such as result.tar.zst")
        return zstd.ZstdFile(path, "rb", options={zstd.DecompressionParameter.window_log_max: _MAX_WINDOW_LOG})
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error


def _headers(file: zstd.ZstdFile, archive: Path) -> Iterator[tuple[str, int]]:
    """Name and size of each file; its content has to be read before the next one is asked for.

    `tarfile` would follow extended headers of any size: this reads plain headers alone.
    """
    while any(header := _exactly(file, _BLOCK)):
        try:
            info = tarfile.TarInfo.frombuf(header, "utf-8", "strict")
        except (tarfile.HeaderError, ValueError) as error:
            raise ConfigError(f"{archive}: damaged, or no archive: {error}") from error
        if info.type != tarfile.REGTYPE:
            kind = _KINDS.get(info.type, "an extended header")
            raise ConfigError(f"{archive}: {info.name!r}: is {kind}: expected plain files alone")
        if not is_name(info.name):
            raise ConfigError(f"{archive}: {info.name!r}: expected a path within the bundle")
        yield info.name, info.size


def _chunks(file: zstd.ZstdFile, size: int) -> Iterator[bytes]:
    left = size
    while left:
        chunk = file.read(min(left, _CHUNK))
        if not chunk:
            raise EOFError("it ends in the middle of a file")
        left -= len(chunk)
        yield chunk


def _exactly(file: zstd.ZstdFile, size: int) -> bytes:
    return b"".join(_chunks(file, size))


def _skip(file: zstd.ZstdFile, size: int) -> None:
    """Reads what fills the last block of a file."""
    _exactly(file, -size % _BLOCK)


def _check_space(archive: Path, folder: Path, size: int) -> None:
    packed = archive.stat().st_size
    if size > max(_MAX_BYTES, _MAX_RATIO * packed):
        raise ConfigError(
            f"{archive}: would unpack to {size:,} bytes, {size // max(packed, 1):,} times its size: "
            f"expected at most {_MAX_RATIO} times"
        )
    free = shutil.disk_usage(folder).free
    if size > free:
        raise ConfigError(f"{archive}: unpacks to {size:,} bytes, and {folder.parent} has {free:,} left")
