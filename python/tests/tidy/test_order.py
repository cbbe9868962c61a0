"""The order of the test files: none that takes long comes last, when other processes have nothing left to do."""

from conftest import LONGEST, ROOT, place_of


def test_files_that_take_long_come_first() -> None:
    given = {"a/one/test_a.py": 1, f"a/{LONGEST[1]}": 2, "a/one/test_many.py": 90, f"a/{LONGEST[0]}": 3, "a/b.py": 1}
    found = sorted(given, key=lambda file: place_of(file, given[file]))
    assert found == [f"a/{LONGEST[0]}", f"a/{LONGEST[1]}", "a/one/test_many.py", "a/b.py", "a/one/test_a.py"]


def test_files_that_take_long_are_there() -> None:
    files = [path.as_posix() for folder in ("python", "research") for path in (ROOT / folder).rglob("test_*.py")]
    assert [name for name in LONGEST if sum(file.endswith(f"/{name}") for file in files) != 1] == []


def test_the_recipes_keep_the_order() -> None:
    recipes = [line for line in (ROOT / "justfile").read_text(encoding="utf-8").splitlines() if "pytest -n" in line]
    assert len(recipes) == 3
    assert all("--dist loadfile --no-loadscope-reorder" in line for line in recipes)
