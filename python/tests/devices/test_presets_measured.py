"""Drives of today as targets: the probe meets link, firmware, SLC cache and mapping units. Its files are drives."""

import tomllib
from pathlib import Path

import pytest
from conftest import flashweir as command

import flashweir

TODAY = ("970-pro", "enterprise-tlc", "consumer-tlc", "zn540", "z-nand", "qlc", "ufs", "emmc")
# Small enough for tests; word lines of two, three and four page types stay whole.
SMALLER = "capacity=256MiB,op_ratio=1,pages_per_block=96"


def target(name: str) -> str:
    has_cache = any(one["name"] == name and one["config"]["slc"]["kind"] != "none" for one in flashweir.presets())
    return f"sim:{name},{SMALLER}" + (",slc.static_blocks=2" if has_cache else "")


@pytest.mark.parametrize("name", TODAY)
def test_a_probe_of_it_answers(name: str, tmp_path: Path) -> None:
    out = tmp_path / "drive.toml"
    command("probe", target(name), "-o", str(out))
    found = tomllib.loads(out.read_text())
    # The file is a drive.
    assert flashweir.simulate("random:span=1MiB,count=1", out)["requests"] == 1
    # It has a buffer, and takes time to read: whatever else was found.
    assert found["buffer"]["bytes"] != "0B"
    assert found["timing"]["read"]
