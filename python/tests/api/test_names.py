"""Old names of result fields are refused with the new ones, wherever a field can be named."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import flashweir
from flashweir import ConfigError, Section
from flashweir.statistics.columns import check_metrics

FIELDS = [(one["old"], one["new"]) for one in flashweir.renamed() if one["kind"] == "field"]


def holding(path: str) -> Section:
    """A section with one field at a dotted path."""
    value: Any = 1
    for name in reversed(path.split(".")):
        value = {name: value}
    return Section(value)


@pytest.mark.parametrize(("old", "new"), FIELDS)
def test_an_old_field_is_refused_with_the_new_name(old: str, new: str, tmp_path: Path) -> None:
    result = holding(new)
    with pytest.raises(KeyError, match=re.escape(f"{old}: it is now {new}")):
        result[old]
    head, _, _ = old.rpartition(".")
    part, last = (result[head] if head else result), old.rsplit(".", maxsplit=1)[-1]
    with pytest.raises(KeyError, match=f"{last}: it is now {new.rsplit('.', maxsplit=1)[-1]}"):
        part[last]
    with pytest.raises(AttributeError, match=f"has no '{last}': it is now '{new.rsplit('.', maxsplit=1)[-1]}'"):
        getattr(part, last)
    sweep = {"workloads": "random:count=10", "axes": {"channels": [2]}, "metrics": [old]}
    with pytest.raises(ConfigError, match=re.escape(f"metrics: {old} is no number of a result; it is now {new}")):
        flashweir.sweep(sweep, tmp_path / "s")
    with pytest.raises(ConfigError, match=re.escape(f"; it is now `{new}`")):
        check_metrics(pl.DataFrame({"iops": [1.0]}), [old])


def test_the_new_name_is_said_only_where_it_is() -> None:
    with pytest.raises(KeyError) as refused:
        Section({"other": 1})["most"]
    assert refused.value.args == ("most",)
    assert Section({"max_merged": 1}).get("most") is None
