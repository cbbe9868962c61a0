"""Structures of a result about the SLC cache."""

from typing import Annotated

from flashweir.results.section import Field, Section


class KeptErases(Section):
    """Erases of blocks that are always in SLC mode."""

    min: Annotated[int, Field("the fewest of one", "erases")]
    mean: Annotated[float | None, Field("their mean; null without such blocks", "erases")]
    max: Annotated[int, Field("the most of one", "erases")]


class Kept(Section):
    """Blocks that are always in SLC mode."""

    blocks: Annotated[int, Field("their number", "blocks")]
    erases: Annotated[KeptErases, Field("erases of one; they are not in `wear`", "erases")]


class Slc(Section):
    """Pages into the SLC cache, past it and out of it."""

    written_pages: Annotated[int, Field("[written to the SLC cache](../concepts/slc-cache.md#in-the-result)", "pages")]
    direct_pages: Annotated[int, Field("written past it", "pages")]
    folded_pages: Annotated[int, Field("moved out of it", "pages")]
    overwritten_pages: Annotated[int, Field("overwritten while they were in it", "pages")]
    trimmed_pages: Annotated[int, Field("trimmed while they were in it", "pages")]
    erases: Annotated[int, Field("erases of blocks in SLC mode, which are in `flash.gc`", "blocks")]
    blocks: Annotated[int, Field("in SLC mode at the end", "blocks")]
    valid_pages: Annotated[int, Field("valid in them", "pages")]
    room_pages: Annotated[int, Field("pages that the cache takes until it is full", "pages")]
    static_blocks: Annotated[Kept, Field("blocks always in SLC mode", "blocks")]
