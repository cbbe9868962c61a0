"""JSON of users, in which a key that is there twice is refused: of two values, neither would be known to be meant."""

import json
from typing import Any


class TwiceError(ValueError):
    """A key that an object has twice, with different values."""

    def __init__(self, key: str) -> None:
        """Names the key."""
        super().__init__(f"key {json.dumps(key)} is there twice, with different values")


def loads(text: str | bytes) -> Any:  # noqa: ANN401 - JSON
    """The value of a text.

    Raises:
        TwiceError: an object has a key twice, with different values; the same value twice says one thing.
        ValueError: it is no JSON.
    """
    return json.loads(text, object_pairs_hook=of_pairs)


def of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of its keys and values in their order.

    Raises:
        TwiceError: as of `loads`.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        for key, value in pairs:
            if found[key] != value:
                raise TwiceError(key)
    return found
