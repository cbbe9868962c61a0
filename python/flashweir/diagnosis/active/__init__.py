"""Active diagnosis: tests that write a drive all over, each a ratio on the same drive.

docs/concepts/active-diagnosis.md has the mechanism behind every threshold.

`session.py` executes phases and keeps their course, `ratios.py` makes intervals, `greedy.py` has closed forms; a file
a test; `run.py` puts them in order, `showing.py` says the verdict.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from flashweir.importing import device
from flashweir.targets import Target, given

if TYPE_CHECKING:
    from flashweir.api import Progress
    from flashweir.tenants import AnyPath

__all__ = ["diagnose_target"]


def diagnose_target(
    target: "AnyPath | Target",
    *,
    erase: "AnyPath | None" = None,
    seed: int = 1,
    progress: "Progress | None" = None,
    tell: Callable[[str], object] | None = None,
) -> dict[str, object]:
    """Runs the tests on a target; `tell` is called with a line about bytes before the first of them."""
    # The tests compute with numpy, which a diagnosis of a log does without.
    from flashweir.diagnosis.active.run import check_size, diagnosed, written_at_most
    from flashweir.diagnosis.active.session import GIB, opened

    with given(target) as name:
        asked = device.target(name)
        named = asked if erase is not None and erase == target else erase
        with device.named(name, asked):
            session = opened(asked, None if named is None else str(named), seed)
            check_size(session, name)
            if tell is not None:
                most = written_at_most(session.size_bytes) / GIB
                tell(f"note: {name}: writes its {session.size_bytes / GIB:.3g} GiB several times, up to {most:.3g} GiB")
            return diagnosed(session, name, seed, progress)
