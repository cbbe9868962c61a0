"""Helpers of tests of stepped drives."""

from typing import Any

import pytest

SMALL = {"capacity": "4MiB", "channels": 2, "pages_per_block": 8, "op_ratio": 0.3}
FULL = {**SMALL, "precondition": "full"}


def refusal(kind: type[Exception], call: Any) -> str:
    with pytest.raises(kind) as raised:
        call()
    message = str(raised.value)
    assert "\n" not in message
    return message
