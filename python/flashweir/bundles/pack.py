"""Packs a result, a sweep or a report."""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flashweir._native import ConfigError, FlashweirError
from flashweir.arguments import shown
from flashweir.bundles import archive, of_results, of_sweep, readme
from flashweir.bundles.archive import Member
from flashweir.bundles.contents import Contents
from flashweir.bundles.manifest import FORMAT, MANIFEST, parse, versions
from flashweir.reports import about, page
from flashweir.reports import sources as report_sources
from flashweir.reports.names import names_of
from flashweir.reports.sources import read_result
from flashweir.results.section import Section

AnyPath = str | os.PathLike[str]
REPORT = "report.html"


def packed(
    source: AnyPath | Sequence[AnyPath],
    output: AnyPath,
    *,
    traces: bool,
    report: AnyPath | None,
    base: AnyPath | None,
    columns: str | None,
) -> Section:
    """Does what `flashweir.bundle` does."""
    sources = [Path(source)] if isinstance(source, str | os.PathLike) else [Path(one) for one in source]
    if not sources:
        raise ConfigError("source: expected a result or a sweep's directory")
    if len(sources) > 1 and (folder := next((one for one in sources if one.is_dir()), None)):
        raise ConfigError(f"{folder}: expected one folder of a sweep and nothing else, or files with results")
    target = Path(output)
    with tempfile.TemporaryDirectory(prefix="flashweir-bundle-") as scratch:
        contents, found = _collected(sources, Path(scratch).resolve(), base, columns)
        if report is not None:
            _add_report(Path(report), sources, contents)
        manifest = _manifest(sources[0], found, contents, traces=traces, report=report is not None)
        members = contents.members(traces=traces)
        manifest["files"] = _listing(members)
        contents.add("README.md", readme.text(manifest))
        members = contents.members(traces=traces)
        manifest["files"] = _listing(members)
        text = (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()
        # Nothing is written that `check_bundle` would refuse.
        parse(text, str(target))
        first = Member(MANIFEST, text, "", len(text))
        archive.write(target, [first, *members])
    return Section(manifest)


def _collected(
    sources: Sequence[Path], scratch: Path, base: AnyPath | None, columns: str | None
) -> tuple[Contents, dict[str, Any]]:
    """Files and specification: paths start from the first folder in which they are right."""
    is_sweep = sources[0].is_dir()
    bases = [Path(base)] if base is not None else [Path(), sources[0].absolute().parent]
    if not is_sweep:
        contents = _stage(scratch, 0)
        results = [read_result(file) for file in sources]
        runs = [
            of_results.specify(file, shown(name), result, contents, bases, columns)
            for file, name, result in zip(sources, names_of(sources), results, strict=True)
        ]
        seeds = list(dict.fromkeys(result["seed"] for result in results))
        return contents, {"kind": "result", "command": runs[0].command, "seeds": seeds,
                          "runs": [run.as_json() for run in runs]}  # fmt: skip
    if columns is not None:
        raise ConfigError("--columns: expected results; a sweep's specification has the columns of its traces")
    first: FlashweirError | None = None
    for rank, folder in enumerate(bases):
        contents = _stage(scratch, rank)
        try:
            spec = of_sweep.specify(sources[0], contents, folder)
        except FlashweirError as error:
            first = first or error
            continue
        return contents, {"kind": "sweep", "command": of_sweep.COMMAND, "seeds": list(spec.seeds), "runs": []}
    raise first or ConfigError(f"{sources[0]}: no sweep")


def _stage(scratch: Path, rank: int) -> Contents:
    stage = scratch / str(rank)
    stage.mkdir()
    return Contents(stage)


def _add_report(file: Path, sources: Sequence[Path], contents: Contents) -> None:
    """Adds the page of a report.

    Raises:
        ConfigError: the sources give another page.
    """
    try:
        given = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--report {file}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from error
    source = sources[0] if sources[0].is_dir() else dict(zip(names_of(sources), sources, strict=True))
    if not same_page(given, rendered(source)):
        names = " ".join(map(str, sources))
        raise ConfigError(
            f"--report {file}: is not the page of this source by this version; flashweir report {names} -o FILE is"
        )
    contents.add_file(REPORT, file)


def same_page(left: str, right: str) -> bool:
    """True if two pages differ at most in the machine that wrote them, and in the command."""
    return about.without(left) == about.without(right)


def rendered(source: Path | Mapping[str, Path]) -> str:
    """The page of a sweep's directory, or of results by name."""
    if isinstance(source, Path):
        title, _, sections = report_sources.of_sweep(source)
    else:
        title, _, sections = report_sources.of_results([(name, read_result(file)) for name, file in source.items()])
    return page.render(title, sections)


def _manifest(
    source: Path, found: Mapping[str, Any], contents: Contents, *, traces: bool, report: bool
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "kind": found["kind"],
        "name": shown(source.absolute().name).removesuffix(".json"),
        "created": _date(),
        "versions": versions(),
        "command": found["command"],
        "seeds": found["seeds"],
        "runs": found["runs"],
        "report": REPORT if report else None,
        "traces": sorted(
            (
                {"path": one.path, "name": one.name, "sha256": one.sha256, "bytes": one.bytes,
                 "requests": one.requests, "included": traces}
                for one in contents.traces.values()
            ),
            key=lambda trace: str(trace["path"]),
        ),
        "files": [],
    }  # fmt: skip


def _listing(members: Sequence[Member]) -> list[dict[str, Any]]:
    rows = [{"path": one.path, "sha256": one.sha256, "bytes": one.bytes} for one in members]
    return sorted(rows, key=lambda row: str(row["path"]))


def _date() -> str:
    """The present, or the time that SOURCE_DATE_EPOCH gives, in seconds since 1970.

    Raises:
        ConfigError: it gives none.
    """
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if not given:
        return datetime.now(UTC).isoformat(timespec="seconds")
    try:
        return datetime.fromtimestamp(int(given), UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError) as error:
        raise ConfigError(f"SOURCE_DATE_EPOCH {given}: expected seconds since 1970") from error
