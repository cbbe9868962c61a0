"""Wrong twins of the unit tests that stand for examples of the papers.

Each repeats the example of a test on a drive of the package: as it is the test's own expectation holds, and with a
wrong policy or input, as a plausible bug would make it, it does not. `coverage.toml` names the twins.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from unit_examples import (
    COPIED,
    ERASED,
    MERGE,
    MERGED,
    PROGRAMMED,
    THROTTLED,
    WHOLE,
    behind_writes,
    block_map,
    blocks_filled,
    channels_of_a_stripe,
    collected,
    cycles_of_super_pages,
    erases_overlap,
    first_flush,
    four_reads,
    joined,
    like,
    lock_step_iops,
    page_map,
    page_map_iops,
    pages_filled,
    read_and_program,
    suspended_between_blocks,
    suspended_between_copies,
    two_dies,
    waits_for_channel_0,
)
from unit_rig import FETCH, READ, TRANSFER, WRITE


class UnitTwin(NamedTuple):
    """A twin: the check of its row, the bug in words, the example with keywords that make it wrong, and its result."""

    check: str
    says: str
    example: Callable[..., Any]
    wrong: dict[str, Any]
    expected: Any


_FREE = WRITE + FETCH
_DEVICE = "crates/ssd/tests/device"
_WORKED = "crates/run/tests/models/worked.rs"
_EXAMPLES = "crates/ssd/src/ftl/log/tests/examples.rs"
_SUPER, _STEALING = {"planner": "super-data-block"}, {"planner": "cycle-stealing"}


def _of_channel_0(**settings: Any) -> Any:
    return collected(0, **{**_STEALING, **settings})


def _of_super(**settings: Any) -> Any:
    return collected(0, **{**_SUPER, **settings})


def _thrown(**settings: Any) -> Any:
    return collected(1, **{"throttle": 2, **settings})


def _whole(**settings: Any) -> Any:
    return collected(1, **settings)


def _on_second(**settings: Any) -> Any:
    return collected(0, **{**_STEALING, "more": (2,), **settings})


def _in_order(**settings: Any) -> int:
    return first_flush(**{"order": "in-order", **settings})


def _own_write(*, pages: Sequence[int] = (1, 9)) -> list[int]:
    return behind_writes(pages=pages)


TWINS = [
    # huang2010
    UnitTwin(
        "crates/run/tests/activity.rs::a_buffer_full_for_one_channel_keeps_the_other_one_waiting",
        "the buffer is never full",
        waits_for_channel_0,
        {"buffer": "16KiB"},
        [0, 0, WRITE, 2 * WRITE],
    ),
    UnitTwin(
        f"{_DEVICE}/commands.rs::a_read_takes_read_and_transfer_a_program_transfer_and_program",
        "transfers take no time",
        read_and_program,
        {"timing.command": 0, "timing.bus": 0},
        [READ + TRANSFER, WRITE],
    ),
    UnitTwin(
        "crates/ssd/src/alloc/striped.rs::every_order_is_a_bijection_on_one_stripe",
        "the channel is the slowest digit",
        channels_of_a_stripe,
        {"order": "WDPC"},
        4,
    ),
    UnitTwin(
        "crates/ssd/src/buffer/pages/tests.rs::bound_pages_take_room_one_by_one_and_leave_together",
        "pages of a super page leave apart",
        cycles_of_super_pages,
        {"units": "independent"},
        3,
    ),
    UnitTwin(
        f"{_EXAMPLES}::a_collection_merges_the_data_block_of_each_valid_page_in_order",
        "a throttle of 2 is on",
        _whole,
        {"throttle": 2},
        WHOLE,
    ),
    UnitTwin(
        "crates/run/tests/models/lockstep_grid.rs::planners_over_channels",
        "planners exchanged",
        lock_step_iops,
        _SUPER,
        like(lock_step_iops, 0.005),
    ),
    UnitTwin(
        f"{_WORKED}::super_data_block_merges_neighbours_early_and_pointlessly",
        "the planner is off",
        _of_super,
        {"planner": "none"},
        MERGE * 3,
    ),
    UnitTwin(
        f"{_EXAMPLES}::super_data_blocks_are_merged_early_or_for_nothing",
        "cycles are stolen",
        _of_super,
        _STEALING,
        MERGE * 3,
    ),
    UnitTwin(
        f"{_WORKED}::cycle_stealing_merges_from_the_oldest_page_on",
        "super data blocks are merged",
        _of_channel_0,
        _SUPER,
        [*MERGE * 3, ("erase", 1)],
    ),
    UnitTwin(
        f"{_EXAMPLES}::stealing_goes_on_to_the_second_oldest_log_block",
        "super data blocks are merged",
        _on_second,
        _SUPER,
        [*MERGE * 3, ("erase", 1)],
    ),
    UnitTwin(
        f"{_WORKED}::the_fifth_request_makes_one_flush_of_a_page_of_every_channel",
        "pages leave in order",
        first_flush,
        {"order": "in-order"},
        4,
    ),
    UnitTwin(
        f"{_WORKED}::a_throttled_collection_moves_the_rest", "the throttle is off", _thrown, {"throttle": 0}, THROTTLED
    ),
    UnitTwin(
        f"{_EXAMPLES}::a_throttled_collection_moves_what_is_left_to_the_newest_log_block",
        "a throttle of 1",
        _thrown,
        {"throttle": 1},
        THROTTLED,
    ),
    UnitTwin(
        f"{_WORKED}::in_order_no_page_overtakes_an_older_request",
        "pages leave in any order",
        _in_order,
        {"order": "any"},
        3,
    ),
    # wen2012
    UnitTwin(
        "crates/ssd/src/ftl/tests.rs::page_mapping_moves_what_is_valid_and_erases_the_victim",
        "the oldest block is the victim",
        page_map,
        {"victim": "fifo"},
        [("copy", 1), ("erase", 1), ("erase", 1)],
    ),
    UnitTwin(
        "crates/ssd/src/ftl/tests.rs::log_block_merges_the_data_blocks_of_its_oldest_log_block_in_full",
        "pages are mapped one by one",
        block_map,
        {"kind": "page"},
        [*MERGE * 2, ("erase", 1)],
    ),
    UnitTwin(
        f"{_DEVICE}/schedules.rs::forwarding_overlaps_collections_and_ends_sooner",
        "the planner is off",
        erases_overlap,
        {"gc.planner": "none"},
        True,
    ),
    UnitTwin(
        f"{_DEVICE}/schedules.rs::a_forward_collection_of_a_page_map_stops_between_two_copies",
        "the planner is off",
        suspended_between_copies,
        {"planner": "none"},
        [COPIED, COPIED, PROGRAMMED, COPIED, ERASED, PROGRAMMED],
    ),
    UnitTwin(
        f"{_DEVICE}/schedules.rs::a_forward_collection_of_a_block_map_stops_between_two_data_blocks",
        "cycles are filled in place of forwarding",
        suspended_between_blocks,
        {"planner": "cycle-filling"},
        [MERGED, ERASED, MERGED, ERASED, PROGRAMMED],
    ),
    UnitTwin(
        f"{_DEVICE}/schedules.rs::cycle_filling_of_a_block_map_merges_and_erases_together",
        "the planner is off",
        blocks_filled,
        {"planner": "none"},
        [[*[MERGED, ERASED] * 3, ERASED], [*[MERGED, ERASED] * 3, ERASED, PROGRAMMED]],
    ),
    UnitTwin(
        f"{_DEVICE}/schedules.rs::cycle_filling_of_a_page_map_copies_and_erases_together",
        "the planner is off",
        pages_filled,
        {"planner": "none"},
        [[COPIED, COPIED, ERASED], [COPIED, COPIED, ERASED, PROGRAMMED]],
    ),
    UnitTwin(
        "crates/ssd/src/gc/planner/tests.rs::forwarding_has_four_start_conditions_and_one_to_stop",
        "the buffer is not full",
        erases_overlap,
        {"buffer.bytes": "64KiB"},
        True,
    ),
    UnitTwin(
        "crates/ssd/src/gc/planner/tests.rs::followers_do_what_the_initiator_does",
        "no follower has so few spare blocks",
        blocks_filled,
        {"spare_blocks": 0},
        [[*[MERGED, ERASED] * 3, ERASED], [*[MERGED, ERASED] * 3, ERASED, PROGRAMMED]],
    ),
    UnitTwin(f"{_DEVICE}/buffer.rs::writes_to_a_page_that_waits_join_it", "no buffer", joined, {"buffer": "0B"}, 1),
    UnitTwin(
        "crates/run/tests/models/channels_grid.rs::page_mapping_over_buffers",
        "cycles are filled in place of forwarding",
        page_map_iops,
        {"planner": "cycle-filling"},
        like(page_map_iops, 0.01),
    ),
    # zhu2017
    UnitTwin(
        f"{_DEVICE}/bus.rs::dies_of_a_channel_read_together_and_take_turns_on_its_bus",
        "each die has a bus of its own",
        two_dies,
        {"channels": 2},
        [READ + TRANSFER, READ + 2 * TRANSFER],
    ),
    UnitTwin(
        "crates/run/tests/models/read_first.rs::the_paper_s_example",
        "the scheduler is off",
        four_reads,
        {"sched.kind": "fifo"},
        [220, 20, 240, 260, 280],
    ),
    UnitTwin(
        f"{_DEVICE}/scheduling.rs::a_write_that_gives_way_to_one_read_ends_that_much_later",
        "the bound has no effect",
        four_reads,
        {"sched.write_bound": "none"},
        [220, 20, 240, 260, 280],
    ),
    UnitTwin(
        "crates/ssd/src/sched/tests.rs::a_read_passes_writes_but_no_read_no_write_to_its_page_and_no_collection",
        "commands keep their order",
        behind_writes,
        {"pages": (1, 9), "sched.kind": "fifo"},
        [WRITE + FETCH, WRITE + 2 * FETCH],
    ),
    UnitTwin(
        "crates/ssd/src/sched/tests.rs::the_bound_is_of_the_last_nanosecond",
        "the bound is a nanosecond shorter",
        four_reads,
        {"sched.write_bound": "219999"},
        [220, 20, 240, 260, 280],
    ),
    UnitTwin(
        f"{_DEVICE}/scheduling.rs::a_read_never_passes_a_write_to_its_page",
        "pages are not compared",
        _own_write,
        {"pages": (10, 9)},
        [_FREE + WRITE + FETCH, _FREE],
    ),
    UnitTwin(
        f"{_DEVICE}/scheduling.rs::reads_pass_writes_that_wait",
        "the scheduler is off",
        behind_writes,
        {"sched.kind": "fifo"},
        [WRITE + FETCH, WRITE + 2 * FETCH],
    ),
]
