"""Policies of destage that ship: functions for `background.destage.file=flashweir.destaging:NAME`."""

from flashweir.external import DestageView


def ahead(view: DestageView) -> bool:
    """Pages leave the write buffer as soon as a unit is free, and not only once a write finds no room."""
    return view.dirty_pages > 0
