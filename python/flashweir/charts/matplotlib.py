"""Figures as PNG, SVG and PDF files, without a browser or a display.

Uses matplotlib's objects and never pyplot or its settings, so threads may write at once and the settings of a script
that uses matplotlib itself stay as they are. Texts are drawn as they stand: no mathematics, no markup.
"""

import contextlib
import io
import logging
import math
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashweir._native import ConfigError, FlashweirError
from flashweir.charts.model import Chart
from flashweir.whole import STANDARD

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")
_WIDTHS_IN = (2.0, 60.0)
_PIXELS = 32_000


_SETTINGS = threading.Lock()


def write(
    chart: Chart,
    path: str | os.PathLike[str],
    *,
    width_in: float = 7.0,
    height_in: float | None = None,
    dpi: float = 200.0,
) -> None:
    """Draws a figure into a file, which appears when it is complete. The same figure gives the same bytes.

    Args:
        chart: what to draw; title, legend and note are part of the picture.
        path: ends in `.png`, `.svg` or `.pdf`; `-` is standard output, as PNG.
        width_in: inches, 2 to 60.
        height_in: inches; None is what the figure needs. Smaller than its texts need is not obeyed.
        dpi: pixels an inch of a PNG.

    Raises:
        ConfigError: another suffix, a folder that is not there, or a size that can't be.
        FlashweirError: the file can't be written.
    """
    target = Path(path)
    _check(target, width_in, height_in, dpi)
    _quiet()
    from flashweir.charts.layout import lay_out

    figure = lay_out(chart, width_in, height_in, dpi)
    suffix = target.suffix.lower()
    data = _svg(figure, chart) if suffix == ".svg" else _pdf(figure, chart) if suffix == ".pdf" else _png(figure)
    if str(target) == STANDARD:
        sys.stdout.buffer.write(data)
        return
    part = target.with_name(f".{target.name}.{os.getpid()}.{id(figure):x}.part")
    try:
        part.write_bytes(data)
        part.replace(target)
    except OSError as error:
        raise FlashweirError(f"{target}: can't be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def svg(chart: Chart, *, width_in: float = 7.0) -> str:
    """A figure as the text of an SVG, for a notebook or a page."""
    _quiet()
    from flashweir.charts.layout import lay_out

    return _svg(lay_out(chart, width_in, None, 72), chart).decode()


def png(chart: Chart, *, width_in: float = 7.0, dpi: float = 200.0) -> bytes:
    """A figure as the bytes of a PNG."""
    _quiet()
    from flashweir.charts.layout import lay_out

    return _png(lay_out(chart, width_in, None, dpi))


def _check(target: Path, width_in: float, height_in: float | None, dpi: float) -> None:
    if str(target) != STANDARD and target.suffix.lower() not in SUFFIXES:
        raise ConfigError(f"{target}: a figure is written as .png, .svg or .pdf, expected a name that ends so")
    if not target.absolute().parent.is_dir():
        raise ConfigError(f"{target}: there is no folder {target.parent}")
    if target.is_dir():
        raise ConfigError(f"{target}: that is a folder")
    for name, inches in (("width_in", width_in), ("height_in", height_in)):
        if inches is not None and not _WIDTHS_IN[0] <= inches <= _WIDTHS_IN[1]:
            raise ConfigError(f"{name} {inches}: expected {_WIDTHS_IN[0]:g} to {_WIDTHS_IN[1]:g} inches")
    if not (dpi > 0 and math.isfinite(dpi) and width_in * dpi <= _PIXELS):
        raise ConfigError(f"dpi {dpi}: expected a positive number, and at most {_PIXELS} pixels in all")


def _quiet() -> None:
    """Keeps matplotlib's remarks on caches and fonts off standard error; a program that logs still gets them."""
    logger = logging.getLogger("matplotlib")
    if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
        logger.addHandler(logging.NullHandler())


def _png(figure: "Figure") -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    stream = io.BytesIO()
    canvas: Any = FigureCanvasAgg(figure)
    canvas.print_png(stream, metadata={"Software": "flashweir"})
    return stream.getvalue()


def _svg(figure: "Figure", chart: Chart) -> bytes:
    """SVG whose texts are texts, so that they can be searched and edited, and whose ids depend on the figure alone."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    from flashweir.charts.lettering import plain

    stream = io.BytesIO()
    canvas: Any = FigureCanvasSVG(figure)
    about = {"Date": None, "Creator": "flashweir", "Title": plain(chart.title)}
    # Matplotlib has these two settings for the whole process only.
    with _SETTINGS, rc_context({"svg.fonttype": "none", "svg.hashsalt": "flashweir"}):
        canvas.print_svg(stream, metadata=about)
    return stream.getvalue()


def _pdf(figure: "Figure", chart: Chart) -> bytes:
    """PDF whose texts are texts, with the parts of its fonts that they need."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    from flashweir.charts.lettering import plain

    stream = io.BytesIO()
    canvas: Any = FigureCanvasPdf(figure)
    about = {"CreationDate": None, "Creator": "flashweir", "Title": plain(chart.title)}
    with _SETTINGS, rc_context({"pdf.fonttype": 42}):
        canvas.print_pdf(stream, metadata=about)
    return stream.getvalue()
