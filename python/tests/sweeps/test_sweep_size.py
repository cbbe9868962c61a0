"""Grids over capacity, blocks and over-provisioning: two are given, and the third follows."""

import pytest

from flashweir import sweep
from flashweir.sweeps.points import over

SMALL = {"channels": 2, "page": "4KiB", "pages_per_block": 16}


@pytest.mark.parametrize(
    ("base", "above", "found"),
    [
        ({"capacity": 1, "op_ratio": 0.1}, {"op_ratio": 0.2}, {"capacity": 1, "op_ratio": 0.2}),
        ({"capacity": 1, "op_ratio": 0.1}, {"op_raw": 0.2}, {"capacity": 1, "op_raw": 0.2}),
        ({"capacity": 1, "op_ratio": 0.1}, {"blocks_per_unit": 9}, {"op_ratio": 0.1, "blocks_per_unit": 9}),
        ({"blocks_per_unit": 9, "op_raw": 0.1}, {"capacity": 1}, {"capacity": 1, "op_raw": 0.1}),
        ({"blocks_per_unit": 9, "capacity": 1}, {"op_raw": 0.1}, {"blocks_per_unit": 9, "op_raw": 0.1}),
        ({"op_ratio": 0.1}, {"capacity": 1, "blocks_per_unit": 9}, {"capacity": 1, "blocks_per_unit": 9}),
        ({"channels": 2}, {"capacity": 1, "blocks_per_unit": 9, "op_raw": 0.1},
         {"channels": 2, "capacity": 1, "blocks_per_unit": 9, "op_raw": 0.1}),
    ],
)  # fmt: skip
def test_what_is_below_gives_way(base: dict[str, object], above: dict[str, object], found: dict[str, object]) -> None:
    assert over(base, above) == found


@pytest.mark.parametrize(
    ("pinned", "axis", "values", "blocks"),
    [
        ({"capacity": "16MiB"}, "op_ratio", [0.05, 0.1, 0.15, 0.2], [271, 284, 296, 309]),
        ({"capacity": "16MiB"}, "op_raw", [0.1, 0.2], [284, 320]),
        ({"capacity": "16MiB"}, "blocks_per_unit", [140, 150], [280, 300]),
        ({"op_ratio": 0.1}, "blocks_per_unit", [140, 150], [280, 300]),
        ({"blocks_per_unit": 100}, "op_raw", [0.1, 0.2], [200, 200]),
        ({"capacity": "16MiB", "op_ratio": 0.3}, "blocks_per_unit", [140, 150], [280, 300]),
    ],
)
def test_grids_that_pin_two_of_the_three(
    pinned: dict[str, object], axis: str, values: list[float], blocks: list[int]
) -> None:
    spec = {"workloads": "random:span=1MiB,count=10", "set": {**SMALL, **pinned}, "axes": {axis: values}}
    # The blocks that the two units keep erased count, too.
    drives = sweep(spec)
    assert drives["geometry.blocks"].to_list() == blocks
    built = drives.select("geometry.op_ratio", "geometry.logical_pages")
    assert len(set(built.rows())) == len(values)
