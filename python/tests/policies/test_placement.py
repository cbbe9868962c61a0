"""Placement handles beside a namespace that has none."""

import pytest

import flashweir

DRIVE = {
    "ftl.classifier": "stream",
    "ftl.groups": 2,
    "ftl.isolated": True,
    "capacity": "16MiB",
    "op_ratio": 0.4,
    "channels": 2,
    "pages_per_block": 16,
}


@pytest.mark.parametrize(("victims_of", "moves"), [("group", False), ("all", True)])
def test_a_stream_in_order_beside_a_conventional_namespace(victims_of: str, *, moves: bool) -> None:
    """Isolated, with victims of its own, it is never relocated; greedy over all blocks takes some of it."""
    run = flashweir.simulate(
        {
            "conventional": "random:span=8MiB,size=4KiB,count=20000",
            "placed": "sequential:span=8MiB,offset=8MiB,size=4KiB,count=20000,stream=1",
        },
        precondition="full",
        set={**DRIVE, "gc.victims_of": victims_of},
    )
    plain, stream = run["placement"]["host_groups"]
    assert (plain["written_pages"], stream["written_pages"]) == (20_000, 20_000)
    assert plain["relocated_pages"] > 1_000
    assert (stream["relocated_pages"] > 0) is moves
