"""The structure of a result: schema, types, units and documents agree with results of every kind of drive."""

import copy
import inspect
import json
import pickle
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import ROOT, flashweir

import flashweir as package
from flashweir.results import parts
from flashweir.results.run import Run
from flashweir.results.schema import differences, result_schema
from flashweir.results.section import Section, fields_of, places, structure_in, unit_of
from flashweir.sweeps import store

MIXED = "random:span=32MiB,count=2000,write=0.6,trim=0.05,flush=0.05"
SMALL = {"capacity": "64MiB", "op_ratio": 0.4}
# A run for each part of a result that only some have.
RUNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "everything": {"workload": {"a": MIXED, "b": "zipf:span=16MiB,count=500,write=0.5"}, "alone": True,
                   "set": {"buffer.bytes": "1MiB", "precondition": "full"}, "latency_parts": True, "explain": "p99",
                   "activity": True, "warmup": "requests=100"},
    "power cuts": {"set": {"buffer.bytes": "64KiB"}, "power_cut": 5},
    "lock step": {"set": {"clock": "lock-step", "ftl.kind": "log-block"}},
    "fast": {"set": {"ftl.kind": "fast"}},
    "map on flash": {"set": {"ftl.kind": "dftl"}},
    "scheduler": {"set": {"sched.kind": "suspend", "host.queue_depth": 4}},
    "allocator": {"workload": {"a": MIXED, "b": MIXED}, "windows": True,
                  "set": {"tenants.channels": "look-ahead", "alloc.kind": "dynamic"}},
    "own allocator": {"workload": {"a": MIXED, "b": MIXED}, "windows": True, "set": {"alloc.kind": "dynamic"},
                      "allocator": lambda window: dict.fromkeys(window["tenants"], window["channels"])},
    "groups": {"set": {"ftl.classifier": "generations"}},
    "mapping units": {"set": {"ftl.map_unit": "1KiB"}},
    "copyback": {"set": {"gc.copyback": 1}},
    "bad blocks": {"set": {"nand.bad_blocks": 0.02}},
    "energy": {"set": {"energy.read_uj": 10}},
    "host": {"device": "970-pro", "set": {"capacity": "4GiB", "op_ratio": 0.1}},
    "trace": {"workload": str(ROOT / "traces/package-build.blktrace.0.zst"), "set": {"capacity": "1GiB"}, "wrap": True},
    "superblocks": {"set": {"capacity": "1GiB", "dies": 4, "page": "16KiB", "pages_per_block": 32, "op_ratio": None,
                            "ftl.map_unit": "4KiB", "buffer.bytes": "2MiB", "alloc.kind": "superblock"}},
    "zones": {"set": {"ftl.kind": "zones"}},
    "ageing cells": {"set": {"ageing.kind": "power-law", "ageing.cycles": 2000}},
    "backlog of TRIMs": {"set": {"trim.backlog": 8}},
    "cache": {"workload": "sequential:span=512MiB,size=128KiB,count=400,write=1", "device": "consumer-tlc",
              "set": {"capacity": None, "op_ratio": None}},
}  # fmt: skip


@pytest.fixture(scope="module")
def results() -> dict[str, package.Result]:
    found = {}
    for name, one in RUNS.items():
        options = {"workload": MIXED, **one, "set": {**SMALL, **one.get("set", {})}}
        found[name] = package.simulate(options.pop("workload"), options.pop("device", None), **options)
    return found


def test_results_of_every_kind_of_drive_are_as_the_schema_says(results: dict[str, package.Result]) -> None:
    for name, result in results.items():
        assert list(differences(result.to_dict())) == [], name


def test_every_part_that_only_some_runs_have_occurs(results: dict[str, package.Result]) -> None:
    optional = {key for key, one in fields_of(Run).items() if one.field.optional}
    nullable = {key for key, one in fields_of(Run).items() if one.null}
    for key in optional | nullable:
        assert any(result.to_dict().get(key) is not None for result in results.values()), key


def test_a_field_that_nobody_declared_and_one_of_another_type_are_found(results: dict[str, package.Result]) -> None:
    result = results["everything"].to_dict()
    result["new"] = 1
    result["latency_us"]["read"]["p50"] = "5"
    del result["wear"]["run"]["mean"]
    result["channels"][1]["bus"] = None
    assert list(differences(result)) == [
        ".latency_us.read.p50: str, expected number or null",
        ".channels[1].bus: NoneType, expected number",
        ".wear.run.mean: lacks",
        ".new: unknown",
    ]


def test_quantities_have_units_and_meanings() -> None:
    for path, one in places(Run):
        assert one.field.meaning, path
        unit = {"us": "us", "ns": "ns", "s": "s", "j": "J", "bytes": "bytes", "pages": "pages", "blocks": "blocks"}
        ending = one.key.rpartition("_")[2]
        if ending in unit and one.type in (int, float) and one.key != "per_host_gib_j" and "_mib_s" not in one.key:
            assert one.field.unit == unit[ending], path
    assert unit_of("latency_us.read.p99", Run) == unit_of("streams.web.latency_us.read.p99", Run) == "us"
    assert [unit_of("bandwidth_mib_s", Run), unit_of("nothing.at.all", Run)] == ["MiB/s", ""]


def test_the_command_prints_the_schema() -> None:
    schema = json.loads(flashweir("schema", "--result").out)
    assert schema == result_schema() == package.result_schema()
    read = schema["properties"]["latency_us"]["additionalProperties"]["properties"]
    assert read["p99"] == {"type": ["number", "null"], "description": "99th percentile", "unit": "us"}
    assert schema["properties"]["requests"]["type"] == "integer"
    assert "](" not in json.dumps(schema)


def test_the_documents_have_every_field() -> None:
    text = "".join((ROOT / f"docs/reference/{page}.md").read_text("utf-8") for page in ("result", "result-files"))
    for path, one in places(Run):
        keys = ",".join(fields_of(structure)) if (structure := one.field.each or structure_in(one.type)[0]) else ""
        assert f"{{{keys}}}" in text or re.search(rf"[.`{{,]{one.key}[`,}}.]", text), path


def test_parts_of_a_result_are_of_their_declared_types(results: dict[str, package.Result]) -> None:
    result = results["everything"]
    assert isinstance(result.latency_us.read, parts.Latencies)
    assert isinstance(result["streams.a.latency_us.write"], parts.Latencies)
    assert isinstance(result.streams["b"], parts.Stream)
    for one in (result, result.latency_us, result.latency_us.read, result.streams):
        for other in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):  # noqa: S301 - our own
            assert (other, type(other)) == (one, type(one))
    # Without the declaration it would be a section of unknown parts: mypy reads the same annotations.
    assert {"iops", "latency_us", "wear"} <= set(inspect.get_annotations(Run))
    assert type(Section({"a": {"b": 1}}).a) is Section


def test_rows_of_a_sweep_have_the_units_of_the_structure(tmp_path: Path) -> None:
    frame = package.sweep({"workloads": "random:span=1MiB,count=200", "set": SMALL})
    columns: dict[str, type] = dict.fromkeys(
        ("iops", "simulated_s", "latency_us.read.p99", "write_amplification"), float
    )
    assert set(columns) <= set(frame.columns)
    file = tmp_path / "rows.parquet"
    file.write_bytes(store._parquet([], columns))
    units = json.loads(pl.read_parquet_metadata(file)["units"])
    assert units == {"iops": "1/s", "simulated_s": "s", "latency_us.read.p99": "us"}
