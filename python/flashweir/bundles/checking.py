"""Hashes of a bundle, its runs made again, and what differs."""

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flashweir._native import ConfigError, FlashweirError
from flashweir.bundles import again, archive, manifest, pack
from flashweir.bundles.contents import digest
from flashweir.results.section import Section
from flashweir.sweeps.runner import Progress
from flashweir.whole import STANDARD

AnyPath = str | os.PathLike[str]


def checked(path: AnyPath, traces: AnyPath | None, threads: int | None, progress: Progress | None) -> Section:
    """Does what `flashweir.check_bundle` does."""
    name = os.fspath(path)
    file = Path(path)
    if traces is not None and not Path(traces).is_dir():
        raise ConfigError(f"--traces {os.fspath(traces)}: expected a folder")
    with tempfile.TemporaryDirectory(prefix="flashweir-bundle-") as scratch:
        folder = Path(scratch).resolve() / "bundle"
        folder.mkdir()
        if name == STANDARD:
            file = Path(scratch) / "standard-input"
            _spool(file)
        read: dict[str, Any] = {}

        def listing(text: bytes) -> Mapping[str, manifest.Listed]:
            read.update(manifest.parse(text, name))
            return manifest.listed(read)

        try:
            archive.extract(file, folder, listing)
        except FlashweirError as error:
            error.args = (str(error).replace(str(file), name), *error.args[1:])
            raise
        missing = _give_traces(folder, read["traces"], None if traces is None else Path(traces))
        found = {
            "bundle": name,
            "kind": read["kind"],
            "created": read["created"],
            "made_by": read["versions"],
            "versions": _versions(read["versions"]),
            "missing": [{key: one[key] for key in ("name", "path", "sha256", "bytes")} for one in missing],
        }
        if missing:
            return Section({**found, "equal": None, "runs": 0, "differing_runs": 0, "differences": [], "report": None})
        try:
            if read["kind"] == "sweep":
                outcome = again.sweep(folder, folder.with_name("again"), threads, progress)
            else:
                outcome = again.results(folder, read, progress)
            report = _report(folder, read)
        except ConfigError as error:
            raise ConfigError(f"{name}: {str(error).replace(f'{folder}/', '')}") from error
        return Section({
            **found,
            "equal": outcome.differing == 0 and report != "differs",
            "runs": outcome.runs,
            "differing_runs": outcome.differing,
            "differences": outcome.differences,
            "report": report,
        })  # fmt: skip


def _spool(file: Path) -> None:
    """Standard input as a file, which an archive is read from several times."""
    if sys.stdin is None:
        raise ConfigError(f"{STANDARD}: standard input is closed; expected a bundle, a file such as result.tar.zst")
    with file.open("wb") as target:
        shutil.copyfileobj(sys.stdin.buffer, target)


def _versions(packed: Mapping[str, str]) -> list[dict[str, str | None]]:
    """Versions that are others here."""
    here = manifest.versions()
    return [
        {"name": name, "packed": packed.get(name), "here": here.get(name)}
        for name in {**here, **packed}
        if packed.get(name) != here.get(name)
    ]


def _give_traces(folder: Path, traces: Sequence[Mapping[str, Any]], given: Path | None) -> list[Mapping[str, Any]]:
    """Puts traces that are not included in their places, as links; returns those that are not there."""
    wanted = [one for one in traces if not one["included"]]
    if not wanted or given is None:
        return wanted
    by_size: dict[int, list[Path]] = {}
    for above, _, names in os.walk(given):
        for path in (Path(above, name) for name in names):
            if path.is_file():
                by_size.setdefault(path.stat().st_size, []).append(path)
    missing = []
    known: dict[Path, str] = {}
    for one in wanted:
        alike = sorted(by_size.get(one["bytes"], []), key=lambda path: (path.name != one["name"], path))
        for path in alike:
            if path not in known:
                known[path] = digest(path)[0]
            if known[path] == one["sha256"]:
                place = folder / one["path"]
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(path.resolve())
                break
        else:
            missing.append(one)
    return missing


def _report(folder: Path, read: Mapping[str, Any]) -> str | None:
    """Comparison of the page with the one that the packed results give; other versions draw other pages."""
    if read["report"] is None:
        return None
    if any(one["name"] in ("flashweir", "build", "plotly", "polars") for one in _versions(read["versions"])):
        return "not compared"
    source = folder / "results" if read["kind"] == "sweep" else {
        run["name"]: folder / run["result"] for run in read["runs"]
    }  # fmt: skip
    given = (folder / read["report"]).read_text(encoding="utf-8", errors="replace")
    return "equal" if pack.same_page(pack.rendered(source), given) else "differs"
