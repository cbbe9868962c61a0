"""Checks of an experiment: published values, and claims with their parts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flashweir.reproduction.fields import Fields
from flashweir.reproduction.twins import Twin
from flashweir.reproduction.twins import read as read_twin

_NUMBER = (int, float)
_ANY = (int, float, list, str)


@dataclass(frozen=True)
class Value:
    """A published value, and where among the measured ones its counterpart is.

    `published` is None where a value is only to be shown; a range is right if the measured value lies in it; a word
    such as "low" is right up to `most`. Without a tolerance a deviation is shown and not judged. With `quantiles` the
    published value has to lie between these two of the runs, whatever their mean; a `variant` shows them and is not
    judged. `needs_full` is the reason why runs
    of the quick size can't decide it.
    """

    name: str
    where: str
    unit: str
    of: str
    at: Mapping[str, Any] = field(default_factory=dict)
    published: float | tuple[float, float] | str | None = None
    tolerance: float | None = None
    most: float | None = None
    quantiles: tuple[float, float] | None = None
    twin: Twin | None = None
    needs_full: str = ""
    variant: bool = False

    @property
    def judged(self) -> bool:
        """True if the measured value is held against the published one, and not only shown beside it."""
        if self.variant:
            return False
        ranged = isinstance(self.published, tuple | str)
        return self.published is not None and (ranged or self.tolerance is not None or self.quantiles is not None)


@dataclass(frozen=True)
class Part:
    """A part of a claim: a check, the curves it is made on, and its numbers.

    `at` chooses among the curves; `start`, `end` and `only` choose among their places. `noise` is the relative
    difference that another seed makes (half of the interval of 95%): a check whose verdict depends on less can't be
    decided. `needs_full` is the reason why runs of the quick size can't decide it.
    """

    says: str
    check: str
    of: str
    than: str | None = None
    at: Mapping[str, Any] = field(default_factory=dict)
    start: object = None
    end: object = None
    only: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    noise: float = 0.0
    twin: Twin | None = None
    needs_full: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim about a figure, and the checks that all have to hold for it; `by` names its author, if not the paper.

    `name` distinguishes it within its experiment.
    """

    where: str
    claim: str
    parts: tuple[Part, ...]
    by: str = ""
    name: str = ""


def read_value(fields: Fields) -> Value:
    """A row of `[[values]]`, with what its group says."""
    published = fields.take("published", _ANY)
    if isinstance(published, list):
        if len(published) != 2 or not all(isinstance(end, _NUMBER) for end in published):  # noqa: PLR2004 - two ends
            raise fields.wrong("published", f"{published!r}: expected a range [low, high]")
        published = (float(published[0]), float(published[1]))
    found = Value(
        fields.text("name"),
        fields.text("where"),
        fields.text("unit"),
        fields.text("of"),
        fields.take("at", dict, {}),
        published,
        fields.take("tolerance", _NUMBER),
        fields.take("most", _NUMBER),
        read_quantiles(fields, "quantiles"),
        read_twin(fields),
        fields.text("needs_full", ""),
        fields.flag("variant"),
    )
    fields.done()
    if found.variant and found.quantiles is None:
        raise fields.wrong("variant", "expected with quantiles: without them and a tolerance a value is not judged")
    if found.quantiles and (found.tolerance is not None or not isinstance(published, _NUMBER)):
        raise fields.wrong("quantiles", "expected with a published number, and without a tolerance")
    if isinstance(published, str) and found.most is None:
        raise fields.wrong("most", f"expected the largest value that counts as {published!r}")
    return found


def read_quantiles(fields: Fields, key: str) -> tuple[float, float] | None:
    """Two shares, the smaller first."""
    found = fields.take(key, list)
    if found is None:
        return None
    numbers = all(isinstance(share, _NUMBER) and not isinstance(share, bool) for share in found)
    if not numbers or len(found) != 2 or not 0 <= found[0] < found[1] <= 1:  # noqa: PLR2004 - two ends
        raise fields.wrong(key, f"{found!r}: expected two shares such as [0.05, 0.95]")
    return float(found[0]), float(found[1])


def read_claim(fields: Fields) -> Claim:
    """A table of `[[claims]]`."""
    parts = [_part(part) for part in fields.listed("parts")]
    found = Claim(
        fields.text("where"), fields.text("claim"), tuple(parts), fields.text("by", ""), fields.text("name", "")
    )
    fields.done()
    if not parts:
        raise fields.wrong("parts", "expected at least one check")
    return found


def _part(fields: Fields) -> Part:
    found = Part(
        fields.text("says"),
        fields.text("check"),
        fields.text("of"),
        fields.take("than", str),
        fields.take("at", dict, {}),
        fields.table.pop("start", None),
        fields.table.pop("end", None),
        tuple(str(name) for name in fields.take("only", list, [])),
        noise=float(fields.take("noise", _NUMBER, 0.0)),
        twin=read_twin(fields),
        needs_full=fields.text("needs_full", ""),
        options=fields.table,
    )
    if not 0 <= found.noise < 1:
        raise fields.wrong("noise", f"{found.noise:g}: expected a share of the value, such as 0.01")
    return found
