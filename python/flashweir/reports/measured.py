"""Results of `flashweir replay` and `bench` as results of runs, to stand beside those of simulate and of fio."""

from collections.abc import Mapping
from typing import Any

from flashweir._native import ConfigError
from flashweir.benchmark import comparing
from flashweir.reports.shape import difference_of_replay
from flashweir.results.kinds import command_of
from flashweir.results.measured import MIB, latencies_of, measured

Json = dict[str, Any]
_TAKEN = "simulate, replay or bench --json, or of fio"
# Commands that write a page of their own.
_PAGES = ("compare", "diagnose", "fit", "lifetime", "reproduce", "search", "trace characterize", "bench --compare",
          "bench --pts", "diagnose --active", "compare --matrix")  # fmt: skip


def runs_of(found: object, file: str) -> list[tuple[str, Json]] | None:
    """A run of a replay, or one for each workload of a benchmark, by their names; None of anything else.

    Raises:
        ConfigError: a field is missing or of another kind, or another command wrote it.
    """
    command = command_of(found)
    if isinstance(found, dict) and command is None:
        # The check of its command names the field that it lacks.
        command = "bench" if is_bench(found) else "replay" if found.get("command") == "replay" else None
    if command is None or command == "simulate":
        return None
    if command == "bench":
        return of_bench(comparing.checked(found, file))
    if command == "replay" and isinstance(found, dict):
        if wrong := difference_of_replay(found):
            raise ConfigError(f"{file}: not a result of flashweir replay --json: expected {wrong}")
        return [("", of_replay(found))]
    where = f"; {command} --html writes its page" if command in _PAGES else ""
    raise ConfigError(f"{file}: is of flashweir {command}: expected results of {_TAKEN}{where}")


def is_bench(found: object) -> bool:
    """True for a result of `bench`, right or wrong."""
    return isinstance(found, dict) and found.get("format") == comparing.FORMAT


def of_replay(found: Mapping[str, Any]) -> Json:
    """A replay as a run."""
    settings = ("timing", "scale", "depth", "engine", "seed")
    return measured(
        f"flashweir {found.get('version', '')} replay",
        requests=found["requests"],
        seconds=found["elapsed_s"],
        iops=found["iops"],
        mib_s=1e6 * found["mb_per_s"] / MIB,
        latencies={name: latencies_of(count, found["latency_us"].get(name)) for name, count in found["by_op"].items()},
        workload=str(found["trace"]),
        config={
            "target": found["target"].get("name", ""),
            **{key: found[key] for key in settings if found.get(key) is not None},
        },
        more={"latency": "completion"},
    )


def of_bench(found: Mapping[str, Any]) -> list[tuple[str, Json]]:
    """The workloads of a benchmark as runs, by their names."""
    settings = {key: found[key] for key in ("target", "name", "state", "scale", "seed") if key in found}
    names = [one["name"] for one in found["workloads"]]
    return [
        (
            one["name"] if names.count(one["name"]) == 1 else f"{one['suite']} {one['name']}",
            measured(
                f"flashweir {found['version']} bench",
                requests=one["requests"],
                seconds=one["time_s"],
                iops=one["requests"] / one["time_s"],
                mib_s=one["bytes"] / one["time_s"] / MIB,
                latencies={"write": latencies_of(one["requests"], one["response_us"])},
                workload=one["spec"],
                config={**settings, "suite": one["suite"], **({"setup": one["setup"]} if one["setup"] else {})},
                more={"job": one["name"], "latency": "completion", "score": one["score"]},
            ),
        )
        for one in found["workloads"]
    ]
