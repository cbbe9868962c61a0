"""Constants of ageing cells that `lifetime` has in Python are those of the engine, read from its source."""

import re
from dataclasses import asdict

import pytest
from conftest import ROOT

from flashweir.endurance import aged
from flashweir.endurance.cells import rating

LAW = (ROOT / "crates/ssd/src/ageing/law.rs").read_text(encoding="utf-8")
CODE = (ROOT / "crates/ssd/src/ageing/code.rs").read_text(encoding="utf-8")
PLAIN = {"ageing": {"kind": "none"}, "timing": {}, "nand": {}}


def constant(name: str, text: str) -> float:
    """A constant of a Rust file: a number, or a quotient of two."""
    (found,) = re.findall(rf"^const {name}: \w+ = ([\d._]+)(?: / ([\d._]+))?;", text, re.MULTILINE)
    top, below = (float(part.replace("_", "")) if part else 1.0 for part in found)
    return top / below


def law(cell: str) -> dict[str, str]:
    """The parameters of a cell's law."""
    (body,) = re.findall(rf"^const {cell}: Law = Law \{{(.*?)\n\}};", LAW, re.MULTILINE | re.DOTALL)
    return dict(re.findall(r"(\w+): ([\w.-]+),", body))


def kinds() -> dict[str, int]:
    """Bits of the code of each kind of cell."""
    return {cell: int(bits) for cell, bits in re.findall(r'kind\("(\w+)", "[^"]*", \w+, (\d+), ', LAW)}


def test_strengths_of_codes() -> None:
    assert kinds() == aged._ECC_BITS
    assert list(kinds()) == ["slc", "mlc", "tlc", "qlc"]


def test_steps_of_decoding() -> None:
    assert constant("SOFT", CODE) == pytest.approx(aged._SOFT)
    assert constant("CODEWORD_BITS", CODE) == 8 * aged._KIB
    assert constant("HALVINGS", CODE) == aged._BISECTIONS


@pytest.mark.parametrize("cell", ["mlc", "tlc"])
def test_laws_that_are_printed(cell: str) -> None:
    errors = rating(None, PLAIN, cell, None).cell.errors
    assert errors is not None
    ours, theirs = asdict(errors), law(cell.upper())
    names = [*aged._LAW, "measured_cycles"]
    assert {name: ours[name] for name in names} == {name: float(theirs[name]) for name in names}
    assert ours["per"] == ("page" if theirs["reads_of_page"] == "true" else "block")


def test_ratings() -> None:
    """Of MLC and TLC the chip's own; of SLC and QLC, whose errors only the engine assumes, those that it scales to."""
    scaled = dict(re.findall(r"scaled\((\w+), \w+, ([\d._]+)\)", LAW))
    theirs = {
        "slc": scaled["MLC"],
        "qlc": scaled["TLC"],
        **{cell: law(cell.upper())["rated_cycles"] for cell in ("mlc", "tlc")},
    }
    ours = {cell: rating(None, PLAIN, cell, None).cycles for cell in theirs}
    assert ours == {cell: float(cycles.replace("_", "")) for cell, cycles in theirs.items()}
