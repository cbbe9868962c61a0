"""The worked examples fit the sources, and a page that does not is one clear line.

`just check-contributing` compiles them.
"""

import importlib.machinery
import importlib.util
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT

SCRIPT = ROOT / "scripts/check-contributing"


def script() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("check_contributing", str(SCRIPT))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


CHECK = script()
PAGES = CHECK.pages(ROOT)
SLOTS = {"gc/victim", "gc/planner", "sched", "task", "buffer/replacement"}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "crates/ssd/src", tmp_path / "crates/ssd/src")
    return tmp_path


def test_the_examples_fit_together(copy: Path) -> None:
    files = [CHECK.apply(page, text, copy) for page, text in PAGES.items()]
    assert {Path(name).parent.relative_to("crates/ssd/src").as_posix() for name in files} == SLOTS


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/")])
def test_a_wrong_page_is_one_clear_line(page: str, copy: Path) -> None:
    text = PAGES[page]
    slot = re.findall(r"<!-- patch: (\S+) -->", text)[0]
    head, marker, tail = text.partition("<!-- patch:")
    wrong = {
        head + marker + tail.replace("\n mod ", "\n mod no_", 1): rf"^{page}: hunk 1 of {slot} fits 0 times, expected",
        text.replace(slot, "crates/ssd/src/lib.rs"): rf"^{page}: patches crates/ssd/src/lib.rs, expected the mod.rs",
        head: rf"^{page}: expected one new file, then one patch",
    }
    for changed, message in wrong.items():
        with pytest.raises(CHECK.WrongExampleError, match=message) as caught:
            CHECK.apply(page, changed, copy)
        assert "\n" not in str(caught.value)
        for new in re.findall(r"<!-- file: (\S+) -->", text):
            (copy / new).unlink(missing_ok=True)
