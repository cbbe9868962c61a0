"""Bundles: a result, a sweep or a report in one archive that others can check by running it again.

`archive` is the tar.zst file, `manifest` its list of contents, `contents` the files while a bundle is made;
`of_results` and `of_sweep` make specifications that work inside the bundle, `pack` puts all together. `again` runs a
bundle, `differences` compares, `checking` is both. docs/reference/bundle.md describes the format.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from flashweir.arguments import check_file, check_files, in_python
from flashweir.options import many, pages
from flashweir.options.option import checked, declared
from flashweir.results.section import Section

if TYPE_CHECKING:
    from flashweir.sweeps.runner import Progress

__all__ = ["bundle", "check_bundle"]

AnyPath = str | os.PathLike[str]


@declared
@in_python
def bundle(
    source: AnyPath | Sequence[AnyPath],
    output: AnyPath,
    *,
    traces: pages.Traces = False,
    report: pages.Report = None,
    base: pages.Base = None,
    columns: pages.GivenColumns = None,
) -> Section:
    """Packs a result, a sweep or a report as an archive that others can check by running it again.

    Results are run again before they are packed, and runs of a sweep are identified, so that what is packed is known to
    be complete. A file at `output` is replaced.

    Args:
        source: a file that `flashweir simulate --json` wrote, several, or the directory of a sweep or comparison.
        output: the archive, such as `result.tar.zst`.

    Returns:
        The manifest (docs/reference/bundle.md).

    Raises:
        ConfigError: `source` is none of these, a trace or device is missing or changed, or a run needs Python code.
        FlashweirError: a file can't be read, or the archive can't be written.
    """
    options = checked(bundle, locals())
    check_files("source", source)
    check_file("output", output)
    from flashweir.bundles.pack import packed

    return packed(source, output, **options)


@declared
@in_python
def check_bundle(
    path: AnyPath,
    traces: pages.MissingTraces = None,
    *,
    threads: many.Threads = None,
    progress: "Progress | None" = None,
) -> Section:
    """Checks a bundle: the hash of every file, then all runs once more, whose results have to be equal.

    Nothing is written outside of a temporary folder, and no code of the bundle is run.

    Args:
        path: the archive.
        progress: is called with a `State` as runs end, as that of `flashweir.sweep`; returning False stops the check.

    Returns:
        `equal` (None if traces are missing), `kind`, `runs`, `differing_runs`, `differences` (the first hundred fields
        that differ, each with `run`, `field`, `packed`, `here`), `versions` that differ (`name`, `packed`, `here`),
        `missing` traces (`name`, `path`, `sha256`, `bytes`), and `report` ("equal", "differs", "not compared" or None).

    Raises:
        ConfigError: the archive is none, is damaged, or would reach outside of itself.
        FlashweirError: `progress` stopped it.
        KeyboardInterrupt: Ctrl-C.
    """
    checked(check_bundle, locals())
    check_file("path", path)
    from flashweir.bundles import checking

    return checking.checked(path, traces, threads, progress)
