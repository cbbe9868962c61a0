"""The experiments that ship with the package."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flashweir._native import ConfigError

# Where the experiments that ship are, in the source tree and in an installed package.
SHIPPED = Path(__file__).parents[1] / "experiments"


def is_installed(place: Path) -> bool:
    """True if a path lies where packages are installed, beside which nobody puts traces."""
    return SHIPPED.is_dir() and not SHIPPED.is_symlink() and SHIPPED.resolve().parent.parent in place.resolve().parents


@contextmanager
def with_traces(folder: Path) -> Iterator[Path]:
    """A copy of the experiments that ship, as if the recorded traces in `folder` lay beside the source tree.

    Raises:
        ConfigError: it is no folder.
    """
    if not folder.is_dir():
        raise ConfigError(f"--traces {folder}: expected a folder with recorded traces")
    with tempfile.TemporaryDirectory(prefix="flashweir-experiments-") as scratch:
        copy = Path(scratch) / "project" / "experiments"
        shutil.copytree(SHIPPED.resolve(), copy, ignore=shutil.ignore_patterns("*.svg"))
        (Path(scratch) / "shared").mkdir()
        (Path(scratch) / "shared" / "traces").symlink_to(folder.resolve())
        yield copy
