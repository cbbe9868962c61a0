"""The specification of results: the run of each as options of `simulate`, found again in what the result says."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from flashweir import api
from flashweir._native import ConfigError, FlashweirError
from flashweir.arguments import shown
from flashweir.bundles import toml
from flashweir.bundles.contents import CODE, Contents, code_in
from flashweir.bundles.differences import ABSENT, of_results
from flashweir.options.option import options_of
from flashweir.tenants import MIX
from flashweir.whole import STANDARD

# Options of a run whose value is a file or a function: a bundle makes these again without.
_LEFT_OUT = ("requests", "timeline", "timeline_from", "timeline_to", "allocator", "model")
# Options of a run, and what they are on the command line.
OPTIONS = {
    name: (*one.option.names(name), "")[0] for name, one in options_of(api.simulate).items() if name not in _LEFT_OUT
}
# Seed of a run that was given none.
_DEFAULT_SEED = 1
_UNNAMED = "workload"
_SHOWN = 3
# Stands in a result for bytes of a file's name that are not UTF-8.
_REPLACED = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class Specified:
    """A run as a bundle has it: name, file of its result, workload, device file and options of `simulate`."""

    name: str
    result: str
    workload: str
    device: str
    options: Mapping[str, Any]

    @property
    def command(self) -> str:
        """The command that makes the result again, in the folder of the bundle."""
        words = ["flashweir", "simulate", self.workload, "--device", self.device]
        for name, value in self.options.items():
            option = OPTIONS[name]
            if not option:
                continue
            several = value if isinstance(value, list) else [value]
            for one in several:
                words += (
                    [option] if one is True and name != "activity" else [option, "all" if one is True else str(one)]
                )
        return shlex.join([*words, "--json", "again.json"])

    def as_json(self) -> dict[str, Any]:
        """The entry of the manifest."""
        return {"name": self.name, "result": self.result, "workload": self.workload, "device": self.device,
                "options": dict(self.options), "command": self.command}  # fmt: skip


def specify(
    file: Path, name: str, result: Mapping[str, Any], contents: Contents, bases: Sequence[Path], columns: str | None
) -> Specified:
    """Adds a result and the files of its run, and finds the options that give it again by running it.

    Args:
        file: the result.
        name: what a report calls it.
        result: what is in the file.
        contents: takes the files.
        bases: folders that paths of traces may start from.
        columns: the description of a table, which no result holds.

    Raises:
        ConfigError: the run can't be made again: a file is not there or has changed, or the run needs Python code.
    """
    _check(file, result)
    if key := code_in(result["config"]):
        raise ConfigError(f"{file}: {CODE.format(key=key)}")
    requests = {one["workload"]: one["trace"].get("requests") for one in result["workloads"] if "trace" in one}
    traces = {text: contents.trace(_find(file, text, bases)) for text in requests}
    for trace in contents.traces.values():
        counts = [count for text, count in requests.items() if traces[text] == trace.path and count is not None]
        trace.requests = max([*counts, trace.requests or 0]) or None
    stored = contents.add_file(contents.free("results", f"{file.stem}.json"), file)
    stem = Path(stored).stem
    device = contents.add(f"devices/{stem}.json", json.dumps(result["config"], indent=2) + "\n")
    workload = _workload(result, traces, stem, contents)
    first = ""
    for options in candidates(result, columns):
        try:
            again = run(contents.stage, workload, device, options)
        except FlashweirError as error:
            first = first or str(error).replace(f"{contents.stage}/", "")
            continue
        found = list(islice(of_results(result, again), _SHOWN))
        if not found:
            return Specified(name, stored, workload, device, options)
        first = first or "gives another result now: " + "; ".join(
            f"{field} was {_said(packed)}, is {_said(here)}" for field, packed, here in found
        )
    raise ConfigError(f"{file}: the run that it describes, made again before it is packed: {first}")


def _check(file: Path, result: Mapping[str, Any]) -> None:
    """Refuses a result without the fields that its run is found in."""
    workloads = result["workloads"]
    right = all(
        isinstance(one, Mapping)
        and all(isinstance(one.get(key), str) for key in ("name", "workload"))
        and all(isinstance(one.get(key) or {}, Mapping) for key in ("trace", "options"))
        for one in workloads
    )
    if not (right and workloads and isinstance(result.get("seed"), int)):
        raise ConfigError(f"{file}: expected a result with seed, and with name and workload of each of its workloads")


def _said(value: object) -> str:
    text = "absent" if value is ABSENT else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}..."  # noqa: PLR2004 - the width of a message


def _find(file: Path, text: str, bases: Sequence[Path]) -> Path:
    """The file of a trace.

    Raises:
        ConfigError: there is none.
    """
    if text == STANDARD:
        raise ConfigError(f"{file}: its trace came through a pipe: expected a result of a trace that is a file")
    for base in bases:
        if (base / text).is_file():
            return base / text
        if _REPLACED in text and len(found := _shown_as(base, Path(text).parts)) == 1:
            return found[0]
    places = " or ".join(dict.fromkeys(str(base.absolute()) for base in bases))
    if any(next((base / text).parent.glob(f"{Path(text).name}.blktrace.*"), None) for base in bases):
        raise ConfigError(
            f"{file}: trace {text}: is a set of files: expected a result of one file, such as a tar of them or what "
            "flashweir trace convert makes"
        )
    raise ConfigError(f"{file}: trace {text}: there is no such file in {places}: --base DIR is where its path starts")


def _shown_as(base: Path, parts: Sequence[str]) -> list[Path]:
    """Files below a folder whose path a result shows so: names that are not UTF-8 have other signs in results."""
    places = [base]
    for part in parts:
        if _REPLACED not in part:
            places = [place / part for place in places]
        else:
            places = [one for place in places if place.is_dir() for one in place.iterdir() if shown(one.name) == part]
    return [place for place in places if place.is_file()]


def _workload(result: Mapping[str, Any], traces: Mapping[str, str], stem: str, contents: Contents) -> str:
    """The workload of the run: a trace, a generator, or a mix of its tenants."""
    streams = result["workloads"]
    texts = [traces.get(one["workload"], one["workload"]) for one in streams]
    if len(streams) == 1 and streams[0]["name"] == _UNNAMED and not streams[0].get("options"):
        return str(texts[0])
    tenants = {
        one["name"]: {"workload": text, **(one.get("options") or {})} for one, text in zip(streams, texts, strict=True)
    }
    return f"{MIX}{contents.add(f'mix-{stem}.toml', toml.dumps({'volumes': 'shared', 'tenants': tenants}))}"


def candidates(result: Mapping[str, Any], columns: str | None) -> Iterator[dict[str, Any]]:
    """Options that may have made a result, the most likely ones first: a result does not hold all of them."""
    traces = [one["trace"] for one in result["workloads"] if "trace" in one]
    own = any("format" in (one.get("options") or {}) for one in result["workloads"])
    hinted = any("hint" in (one.get("options") or {}) for one in result["workloads"])
    formats = {trace["format"] for trace in traces if trace.get("detected_by") == "option"} - {"table"}
    streams = (result.get("streams") or {}).values()
    warmup = result.get("warmup") or {}
    known = {
        "seed": None if result["seed"] == _DEFAULT_SEED else result["seed"],
        "verify": bool(result.get("verified")),
        "latency_parts": result.get("latency_parts_us") is not None,
        "explain": (result.get("explain") or {}).get("percentile"),
        "warmup": f"requests={warmup['requests']}" if warmup.get("method") == "requests" else warmup.get("method"),
        "windows": bool((result.get("allocation") or {}).get("windows")),
        "alone": any(stream.get("alone_latency_us") for stream in streams),
        "format": formats.pop() if len(formats) == 1 and not own and not columns else None,
        "columns": columns,
        "skip_bad": max((trace.get("skipped_bad") or 0 for trace in traces), default=0) or None,
        "hint": None if hinted else next(([one["hint"] for one in trace.get("hints") or ()] for trace in traces), None),
    }
    for wrap in (False, True):
        for cuts in _power_cuts(result.get("power_cuts")):
            for activity in _activities(result.get("activity")):
                given = {**known, "wrap": wrap, "power_cut": cuts, "activity": activity}
                yield {name: value for name, value in given.items() if _is_given(value)}


def _is_given(value: object) -> bool:
    """True if an option was given. A seed of 0 was: it is a number, though it equals False."""
    return value is not None and value is not False and value != []


def _power_cuts(cuts: Mapping[str, Any] | None) -> Sequence[object]:
    """Random cuts, or cuts at the times that the result has."""
    if cuts is None:
        return [None]
    return [cuts["cuts"], [f"{round(one['time_s'] * 1e9)}ns" for one in cuts.get("details") or []]]


def _activities(activity: Mapping[str, Any] | None) -> Sequence[object]:
    """The whole run, or the window that the result has."""
    if activity is None:
        return [None]
    start, end = (round(activity[key] * 1e9) for key in ("from_s", "to_s"))
    return [True, f"{start}ns..{end}ns"]


def place_of(folder: Path, workload: str) -> str:
    """A workload of a bundle that lies in `folder`, with the whole path of its file if it has one."""
    bare = workload.removeprefix(MIX)
    start = workload.removesuffix(bare)
    return f"{start}{folder / bare}" if (folder / bare).is_file() else workload


def run(folder: Path, workload: str, device: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Runs a workload of a bundle that lies in `folder`."""
    return api.simulate(place_of(folder, workload), folder / device, **options).to_dict()
