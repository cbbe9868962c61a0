"""Pictures of figures that need neither scripts nor WebGL: the first figure of a page, and points in space."""

import base64
import io

from flashweir.charts.model import Chart, Cloud

_WIDTH_IN, _DPI = 7.0, 110.0
# Bytes from which on a drawing is larger than the same as pixels.
_LARGE = 60_000


def still(chart: Chart) -> str:
    """The figure as an address that holds its data: an SVG, or a PNG where there are many points."""
    from flashweir.charts.matplotlib import png, svg

    drawn = b"" if isinstance(chart, Cloud) else svg(chart, width_in=_WIDTH_IN).encode()
    if not drawn or len(drawn) > _LARGE:
        return _address("image/png", png(chart, width_in=_WIDTH_IN, dpi=_DPI))
    return _address("image/svg+xml", drawn)


def _address(kind: str, data: bytes) -> str:
    packed = _paletted(data) if kind == "image/png" else data
    return f"data:{kind};base64,{base64.b64encode(packed).decode()}"


def _paletted(data: bytes) -> bytes:
    """A PNG of at most 128 colours."""
    from PIL import Image

    with Image.open(io.BytesIO(data)) as image:
        out = io.BytesIO()
        image.convert("RGB").quantize(128).save(out, "PNG", optimize=True)
    return out.getvalue()
