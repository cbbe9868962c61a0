"""Allocators that a key of the drive names: `tenants.channels_file`."""

from pathlib import Path

import pytest
from conftest import refused
from test_allocators import ALL, DRIVE, SETTINGS, STREAMS, TENANTS, halves, run

import flashweir
from flashweir import FlashweirError

HALVES = """
def halves(features):
    half = features["channels"] // 2
    return {"web": range(half), "db": range(half, features["channels"])}


def nothing(features):
    return features["nothing"]
"""


def same(one: flashweir.Result, other: flashweir.Result) -> bool:
    """True if the drives did the same."""
    return all(one[part] == other[part] for part in ("flash", "latency_us", "simulated_s"))


def test_a_key_of_the_drive_names_the_allocator(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(HALVES, encoding="utf-8")
    given, everything = run(halves), run(lambda _: ALL)
    named = {"tenants.channels": "external", "tenants.channels_file": f"{file}:halves"}
    for settings in (named, {"tenants.channels": halves}):
        result = flashweir.simulate(TENANTS, set={**DRIVE, **settings})
        assert same(result, given)
        assert not same(result, everything)
        assert result["allocation.wall_s"] > 0
    device = tmp_path / "device.toml"
    device.write_text(f'[tenants]\nchannels = "external"\nchannels_file = "{file}:halves"\n', encoding="utf-8")
    assert same(flashweir.simulate(TENANTS, device, set=DRIVE), given)


def test_a_sweep_compares_allocators_of_files(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(HALVES + "\n\ndef everything(features):\n    return dict.fromkeys(features['tenants'], range(4))\n")
    mix = tmp_path / "two.toml"
    mix.write_text("".join(f'[tenants.{name}]\nworkload = "{text}"\n' for name, text in TENANTS.items()))
    spec = {
        "name": "allocators",
        "workloads": {"two": f"mix:{mix}"},
        "set": {**DRIVE, "tenants.channels": "external"},
    }

    def means(*functions: str) -> dict[str, float]:
        axes = {"tenants.channels_file": [f"{file}:{function}" for function in functions]}
        frame = flashweir.sweep({**spec, "axes": axes}, tmp_path / "-".join(functions))
        return dict(zip(functions, frame["latency_us.write.mean"], strict=True))

    both = means("halves", "everything")
    assert both["halves"] != both["everything"]
    # An answer is that of its own function, whichever is asked before.
    assert means("everything", "halves") == both


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("absent.py:f", "'absent.py:f': expected FILE.py:FUNCTION, with a file that is there"),
        ("own.py:absent", "'own.py:absent': own.py has no function absent"),
    ],
)
def test_a_key_that_names_no_allocator_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(HALVES, encoding="utf-8")
    settings = [*SETTINGS, "--set=tenants.channels=external", f"--set=tenants.channels_file={place}"]
    line = refused("simulate", *STREAMS, *settings)
    assert line == f"tenants.channels=external: tenants.channels_file {message}"
    with pytest.raises(FlashweirError, match=r"^allocator, window 0: KeyError: 'nothing'$") as caught:
        flashweir.simulate(
            TENANTS, set={**DRIVE, "tenants.channels": "external", "tenants.channels_file": "own.py:nothing"}
        )
    assert isinstance(caught.value.__cause__, KeyError)
