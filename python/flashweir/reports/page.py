"""Draws a report as one HTML file that needs nothing else: no network, no other file, no server.

The page's own policy forbids every request, and every script but those that it holds. Every text is escaped; figures
are JSON in the page, which a script draws.
"""

import json
import math
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from html import escape
from importlib import resources
from typing import Any

from flashweir import whole
from flashweir._native import __version__
from flashweir.charts.model import Axis, Bars, Chart, Cloud, Heat, Plot, Strips
from flashweir.charts.names import undirected
from flashweir.charts.palette import STATES
from flashweir.charts.plotly import figure
from flashweir.charts.units import scaled
from flashweir.reports.drawing import hash_of, pack, packed
from flashweir.reports.model import Block, Cell, Content, Details, Facts, Figure, Section, Table, Text
from flashweir.reports.still import still

# Rows of a table that are shown at once, and cells up to which the others are in the page too.
SHOWN_ROWS = 200
_MAX_CELLS = 30_000
# Rows from which on a table scrolls under its headings.
_LONG = 25
# Characters of a figure from which on it is packed.
_LARGE_FIGURE = 60_000
# Columns up to which a narrow window shows a table as such.
_CARDS = 3
_NOTHING = "-"
_NUMBER_STARTS = tuple("0123456789+-")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_DOT = re.compile(r"(?<=\w)\.(?=[A-Za-z])", re.ASCII)
_OPENING = ".\u200b"
# Behind signs, but not within 5,000.
_BREAK = re.compile(r"(?<=[,:=/+_])(?=\S)(?!(?<=\d,)\d{3}(?!\d))")
_SLOT = re.compile(r"\{\{(\w+)\}\}")
# From here on, more digits than the number's own say nothing.
_LARGE = 10_000
# Characters of a word that a column can be as wide as.
_LONGEST_WORD = 24
# Minimum of the smallest number of a column, in units of its last digit.
_LEAST = 100


def write(path: str | os.PathLike[str], title: str, sections: Sequence[Section]) -> None:
    """Writes `render(title, sections)`; the file appears when it is complete, and a link is followed.

    Raises:
        OSError: the file can't be written.
    """
    whole.write(path, render(title, sections))


def render(title: str, sections: Sequence[Section]) -> str:
    """The whole page as HTML. The same input gives the same text."""
    names = _Names()
    # Figures first: theirs are names of files too.
    charts = [block.chart for section in sections for block in section.blocks if isinstance(block, Figure)]
    named = deque(names.of_file(chart.name) for chart in charts)
    contents: list[str] = []
    content: list[str] = []
    figures: list[str] = []
    for section in sections:
        anchor = names.of(section.title)
        inner: list[str] = []
        listed: list[str] = []
        for beside, blocks in _runs(section.blocks):
            drawn = []
            for block in blocks:
                if isinstance(block, Figure):
                    name = named.popleft()
                    if not block.chart.group or block.chart.name == block.chart.group:
                        listed.append(f'<li><a href="#{name}">{_text(block.chart.title)}</a></li>')
                    figures.append(_data(name, block.chart))
                    drawn.append(_figure(name, block.chart, first=len(figures) == 1))
                else:
                    drawn.append(_block(block, names))
            inner.append(f'<div class="figures">\n{_lines(drawn)}\n</div>' if beside else _lines(drawn))
        below = f"<ol>{''.join(listed)}</ol>" if listed else ""
        contents.append(f'<li><a href="#{anchor}">{_text(section.title)}</a>{below}</li>')
        content.append(
            f'<section id="{anchor}" aria-labelledby="{anchor}-title">\n'
            f'<h2 id="{anchor}-title">{_text(section.title)}</h2>\n{_lines(inner)}\n</section>'
        )
    scripts = [_closed(_own(f"{name}.js")) for name in (("inflate", "values", "page") if figures else ("page",))]
    library = packed() if figures else None
    hashes = [*(hash_of(f"\n{script}\n".encode()) for script in scripts), *([library.hash] if library else [])]
    held = (
        f'<script type="text/plain" id="plotly-packed" data-size="{library.size}">{library.text}</script>'
        if library
        else ""
    )
    parts = {
        "policy": _policy(hashes),
        "version": _text(__version__),
        "title": _text(title),
        "style": _own("page.css"),
        "contents": f"<ol>\n{_lines(contents)}\n</ol>",
        "content": _lines(content),
        "figures": _lines(figures),
        "plotly": held,
        "scripts": _lines(f"<script>\n{script}\n</script>" for script in scripts),
    }
    # One pass: what is filled in is not searched again.
    return _SLOT.sub(lambda slot: parts[slot[1]], _own("page.html"))


class _Names:
    """Anchors: letters, digits, dots and dashes, each once; a figure's is its file's name."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def of(self, text: str) -> str:
        return self._once(re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.") or "part")

    def of_file(self, text: str) -> str:
        return self._once(re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-.") or "figure")

    def _once(self, base: str) -> str:
        name, count = base, 1
        while name in self._taken:
            count += 1
            name = f"{base}-{count}"
        self._taken.add(name)
        return name


def _runs(blocks: Iterable[Block]) -> Iterable[tuple[bool, list[Block]]]:
    """Blocks with neighbouring figures together, which may stand side by side."""
    run: list[Block] = []
    for block in blocks:
        if run and isinstance(block, Figure) != isinstance(run[0], Figure):
            yield isinstance(run[0], Figure), run
            run = []
        run.append(block)
    if run:
        yield isinstance(run[0], Figure), run


def _block(block: Block, names: _Names) -> str:
    if isinstance(block, Text):
        shape = ' class="alert"' if block.alert else ' class="lead"' if block.lead else ""
        return _lines(f"<p{shape}>{_text(part)}</p>" for part in block.text.split("\n\n"))
    if isinstance(block, Facts):
        rows = []
        for term, said in block.facts:
            values = [said] if isinstance(said, str) else said
            rows.append(f"<dt>{_isolated(term)}</dt>{''.join(f'<dd>{_isolated(value)}</dd>' for value in values)}")
        return f"<dl>\n{_lines(rows)}\n</dl>"
    if isinstance(block, Details):
        return f"<details><summary>{_isolated(block.title)}</summary><pre>{_text(block.text)}</pre></details>"
    if isinstance(block, Table):
        return _table(block, names)
    raise TypeError(f"no block of a report: {type(block).__name__}")


def _table(table: Table, names: _Names) -> str:
    count = len(table.rows)
    kept = table.rows if count * len(table.columns) <= _MAX_CELLS else table.rows[:SHOWN_ROWS]
    numeric = [_is_numeric([row[at] for row in kept]) for at in range(len(table.columns))]
    heads = "".join(
        f'<th scope="col"{_right(right)} aria-sort="none"><button type="button">{_breakable(name)}</button></th>'
        for name, right in zip(table.columns, numeric, strict=True)
    )
    anchor = names.of(f"table-{table.caption}")
    places = [_decimals([row[at] for row in kept]) for at in range(len(table.columns))]
    rows = [f"<tr>{_row(row, numeric, places)}</tr>" for row in kept]
    bodies, below = f"<tbody>\n{_lines(rows[:SHOWN_ROWS])}\n</tbody>", ""
    if len(rows) > SHOWN_ROWS:
        bodies += f'\n<tbody id="{anchor}-rest" hidden>\n{_lines(rows[SHOWN_ROWS:])}\n</tbody>'
        every, few = f"Show all {count:,} rows", f"Show the first {SHOWN_ROWS} rows"
        below = (
            f'<button type="button" class="more" hidden aria-expanded="false" aria-controls="{anchor}-rest"'
            f' data-all="{every}" data-few="{few}">{every}</button>'
        )
    elif count > len(rows):
        rest = f" {table.rest}" if table.rest else ""
        below = f'<p class="note">The first {len(rows)} of {count:,} rows.{_text(rest)}</p>'
    shape = "scroll long" if len(kept) > _LONG else "scroll"
    kind = "table fits" if table.fits else "table"
    style = ""
    if len(table.columns) > _CARDS:
        kind += " cards"
        style = _card_labels(anchor, table.columns)
    return (
        f'<div class="{kind}">\n{style}<p class="caption" id="{anchor}">{_text(table.caption)}</p>\n'
        f'<div class="{shape}" role="region" tabindex="0" aria-labelledby="{anchor}">\n'
        f'<table aria-labelledby="{anchor}"><thead><tr>{heads}</tr></thead>\n{bodies}</table>\n</div>\n{below}\n</div>'
    )


def _row(row: Sequence[Content], numeric: Sequence[bool], places: Sequence[int | None]) -> str:
    """Cells of a row; the first one names it."""
    cells = list(map(_cell, row, numeric, places))
    return "".join([f'<th scope="row"{cells[0][3:-5]}</th>', *cells[1:]]) if cells else ""


def _card_labels(anchor: str, columns: Sequence[str]) -> str:
    """Headings beside the cells, for narrow windows, where each row is a block of its own."""
    broken = [_css(_DOT.sub(_OPENING, name)) for name in columns]
    rules = (f'[aria-labelledby="{anchor}"] tbody tr > :nth-child({at})::before{{content:"{name}"}}'
             for at, name in enumerate(broken, start=1))  # fmt: skip
    return f"<style>@media screen and (max-width: 640px) {{\n{_lines(rules)}\n}}</style>\n"


def _css(plain: str) -> str:
    """A text in a string of a style sheet: whatever is not a plain letter or digit is a code."""
    return "".join(one if one.isascii() and one.isalnum() else f"\\{ord(one):06x}" for one in undirected(plain))


def _is_numeric(values: Iterable[Content]) -> bool:
    def is_number(value: Content) -> bool:
        if isinstance(value, Cell):
            return value.text[:1] in _NUMBER_STARTS
        return isinstance(value, (int, float)) and not isinstance(value, bool)

    known = [value for value in values if value is not None]
    return bool(known) and all(map(is_number, known))


def _decimals(values: Iterable[Content]) -> int | None:
    """Number of decimals for all numbers of a column: five significant digits of the largest.

    None, each number has its own, where the smallest would be left with less than three.
    """
    known = [abs(value) for value in values if isinstance(value, float) and value and math.isfinite(value)]
    if not known:
        return None
    places = max(0, 4 - math.floor(math.log10(max(known))))
    return places if min(known) * 10**places >= _LEAST else None


def _cell(content: Content, numeric: bool, places: int | None) -> str:
    value = content.value if isinstance(content, Cell) else content
    sort = ""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        sort = f' data-v="{value:.12g}"'
    text = _shown(content, places)
    if numeric:
        return f'<td class="n"{sort}>{_isolated(text)}</td>'
    # Words stay whole: a text is broken behind signs, and anywhere only where a part of it is very long.
    parts = _BREAK.split(text)
    long = any(len(word) > _LONGEST_WORD for part in parts for word in part.split())
    inner = "<wbr>".join(map(_text, parts))
    inner = inner if text.isascii() else f"<bdi>{inner}</bdi>"
    shape = ' class="any"' if long else ""
    return f"<td{shape}{sort}>{inner}</td>"


def _right(numeric: bool) -> str:
    return ' class="n"' if numeric else ""


def _shown(content: Content, places: int | None = None) -> str:
    """A cell's text: numbers with separators, and no more digits than a reader compares."""
    if isinstance(content, Cell):
        return content.text
    if isinstance(content, bool):
        return "yes" if content else "no"
    if content is None or (isinstance(content, float) and not math.isfinite(content)):
        return _NOTHING
    if isinstance(content, float):
        return said(content) if places is None or not content else f"{content:,.{places}f}"
    return f"{content:,}" if isinstance(content, int) else content


def said(value: float) -> str:
    """A number as tables show it: five significant digits, and all those before the point."""
    return f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:,.5g}"


def _figure(name: str, chart: Chart, *, first: bool) -> str:
    chart = scaled(chart)
    note = f'\n<p class="note">{_text(chart.note)}</p>' if chart.note else ""
    wide = ' class="wide"' if isinstance(chart, (Cloud, Strips)) else ""
    picture = ""
    if first or isinstance(chart, Cloud):
        picture = f'<img class="still" src="{still(chart)}" alt="{_text(describe(chart))}">'
    facet = ""
    if chart.group:
        facet = f' data-group="{_text(chart.group)}" data-facet="{_text(chart.facet)}"'
        note = f'\n<p class="note facet">{_text(chart.facet)}</p>{note}'
    return (
        f'<figure id="{name}"{wide}{facet} aria-labelledby="{name}-title">\n'
        f'<figcaption><h3 id="{name}-title">{_text(chart.title)}</h3></figcaption>\n'
        f'<div class="plot" id="{name}-plot" role="group" aria-label="{_text(describe(chart))}"'
        f' data-idle="{STATES["idle"]}">{picture}</div>{note}\n</figure>'
    )


def _data(name: str, chart: Chart) -> str:
    drawn = figure(chart)
    data = _json(drawn)
    if len(data) < _LARGE_FIGURE:
        return f'<script type="application/json" id="{name}-plot-data">{data}</script>'
    packed_data = pack(data.encode())
    outline = escape(_json({**drawn, "data": [_outline(trace) for trace in drawn["data"]]}))
    return (
        f'<script type="text/plain" id="{name}-plot-data" data-size="{len(data)}" data-outline="{outline}">'
        f"{packed_data}</script>"
    )


def _outline(trace: dict[str, Any]) -> dict[str, Any]:
    """A trace without its values: what says how high the figure will be."""
    kept: dict[str, Any] = {key: trace[key] for key in ("name", "showlegend", "colorbar") if key in trace}
    return {**kept, "z": []}


def describe(chart: Chart) -> str:
    """Description of a figure in words, for readers who do not see it."""
    if isinstance(chart, Plot):
        kind = f"{chart.y.label} over {chart.x.label}; {_listed('curve', [series.name for series in chart.series])}"
    elif isinstance(chart, Bars):
        rows = _listed("row", chart.categories)
        kind = f"stacked bars of {chart.x.label}; {rows}; {_listed('part', [name for name, _ in chart.parts])}"
    elif isinstance(chart, Heat):
        cells = f"{len(chart.rows)} x {len(chart.columns)} values"
        kind = f"heat map of {chart.unit or 'values'} over {_axes(chart.x, chart.y)}; {cells}{_extremes(chart)}"
    elif isinstance(chart, Strips):
        states = ", ".join(chart.states)
        colours = f"coloured by what takes most time: {states}"
        kind = f"a strip a row over {chart.x.label}, {colours}; {_listed('row', chart.rows)}"
    elif isinstance(chart, Cloud):
        kind = f"{len(chart.points)} points in three dimensions: {chart.z.label} over {_axes(chart.x, chart.y)}"
    else:
        kind = ""
    return f"{chart.title}: {kind}."


def _axes(x: Axis, y: Axis) -> str:
    return f"{x.label} and {y.label}"


def _extremes(chart: Heat) -> str:
    known = [value for row in chart.values for value in row if value is not None]
    return f", from {said(min(known))} to {said(max(known))}" if known else ""


def _listed(kind: str, names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{len(names)} {kind}{'' if len(names) == 1 else 's'}: {', '.join(names[:most])}{more}"


def _text(plain: str) -> str:
    """Escaped for HTML, between tags and in quoted attributes; what no page can hold becomes a mark."""
    return escape(undirected(_CONTROL.sub("\ufffd", plain)).encode("utf-8", "replace").decode("utf-8"))


def _isolated(plain: str) -> str:
    """The same for names of others, whose direction of writing must not turn round what stands beside them."""
    return f"<bdi>{_text(plain)}</bdi>" if not plain.isascii() else _text(plain)


def _breakable(name: str) -> str:
    """A heading that may be broken behind the dots of a metric's name, where a page has no room for it."""
    return _DOT.sub(".<wbr>", _isolated(name))


def _json(value: Any) -> str:  # noqa: ANN401 - JSON holds anything
    """JSON that ends no script element and starts no comment: ASCII, without <, > and &."""
    dumped = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return dumped.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _closed(script: str) -> str:
    """A script that does not end its element: `</script` and `<!--` stand only in strings and patterns."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--").strip()


def _policy(hashes: Sequence[str]) -> str:
    """Forbids everything but the inline style, pictures made in the page, and the scripts that are in the page."""
    return _text(
        f"default-src 'none'; script-src {' '.join(hashes)}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    ).replace("&#x27;", "'")


def _own(name: str) -> str:
    return resources.files("flashweir.reports").joinpath(name).read_text(encoding="utf-8").rstrip("\n")


_lines: Callable[[Iterable[str]], str] = "\n".join
