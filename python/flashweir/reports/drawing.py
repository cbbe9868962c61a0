"""The library that draws figures in a page: plotly.js without what no figure needs, packed."""

import base64
import hashlib
import json
import zlib
from functools import lru_cache
from importlib import resources
from typing import NamedTuple


class Packed(NamedTuple):
    """A script as raw DEFLATE in base64, the number of its bytes, and the hash by which a page allows it."""

    text: str
    size: int
    hash: str


@lru_cache(maxsize=1)
def packed() -> Packed:
    """plotly.js as pages hold it."""
    script = needed(resources.files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()).encode()
    return Packed(pack(script), len(script), hash_of(script))


def pack(data: bytes) -> str:
    """Data as raw DEFLATE in base64."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return base64.b64encode(packer.compress(data) + packer.flush()).decode()


def needed(library: bytes) -> str:
    """The library without the parts that scripts/plotly-cuts.js found; all of another version of it."""
    script = library.decode()
    known = json.loads(resources.files("flashweir.reports").joinpath("plotly_cuts.json").read_text(encoding="utf-8"))
    if hashlib.sha256(library).hexdigest() != known["sha256"]:
        return script
    # JavaScript counts characters as UTF-16 does.
    wide = script.encode("utf-16-le")
    parts, at = [], 0
    for start, end in known["cuts"]:
        parts.append(wide[2 * at : 2 * start])
        at = end
    return b"".join([*parts, wide[2 * at :]]).decode("utf-16-le")


def hash_of(script: bytes) -> str:
    """Hash of a script as a page's policy has it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"
