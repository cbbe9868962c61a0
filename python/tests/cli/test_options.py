"""Options: each is declared once, and command line, spec, check, identity and documents follow from it."""

import importlib.machinery
import importlib.util
import inspect
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT, refused

import flashweir
from flashweir import ConfigError, _native
from flashweir.options import option
from flashweir.sweeps.options import RUN_OPTIONS
from flashweir.sweeps.spec import KEYS


def script() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("options_script", str(ROOT / "scripts/options"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


SCRIPT = script()
COMMANDS = SCRIPT.commands()
# A command and the function that does the same.
PAIRS: dict[str, Callable[..., object]] = {
    "simulate": flashweir.simulate,
    "sweep": flashweir.sweep,
    "compare": flashweir.compare,
    "search": flashweir.search,
    "fit": flashweir.fit,
    "report": flashweir.report,
    "bundle": flashweir.bundle,
    "check-bundle": flashweir.check_bundle,
    "reproduce": flashweir.reproduce,
    "lifetime": flashweir.lifetime,
    "bench": flashweir.bench,
    "replay": flashweir.replay,
    "serve": flashweir.serve,
    "probe": flashweir.probe,
    "diagnose": flashweir.diagnose,
    "collect": flashweir.collect,
    "trace info": flashweir.trace_info,
    "trace convert": flashweir.trace_convert,
    "trace generate": flashweir.trace_generate,
    "trace characterize": flashweir.characterize,
}
# Arguments of functions that are no options: inputs, outputs, callbacks, keys of the drive.
ARGUMENTS = {
    "workload", "device", "trace", "target", "path", "source", "log", "spec", "output", "command", "progress", "tell",
    "set", "overrides", "to_file", "paper", "force",
}  # fmt: skip
# Options whose two forms differ by more than spelling, each declared where it is.
BY_HAND = {
    "compare": {"policies", "ftl", "planner", "units", "buffer", "throttle", "seeds", "options"},  # lists, as one text
    "fit": {"effort"},  # of tests alone
    "lifetime": {"seeds"},  # a number of seeds, or a list in Python
    "bench": {"suites", "resume"},  # --suite, repeated, and `all`; --resume continues -o
    "diagnose": {"active", "empty", "capacity"},  # decides about the others
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_command_declares_no_option_of_its_function_by_hand(name: str) -> None:
    function = set(inspect.signature(PAIRS[name]).parameters) - BY_HAND.get(name, set())
    by_hand = {
        each for each, one, info, declared in SCRIPT.parameters(COMMANDS[name])
        if not isinstance(declared, option.Option) and isinstance(info, SCRIPT.OptionInfo)
    }  # fmt: skip
    assert by_hand & function <= ARGUMENTS


# Options of commands that mean something else than the option of the same name of another command.
OTHER_MEANINGS = {
    "--output": {"bench", "bundle", "collect", "trace characterize"},  # a file of each one's kind
    "--memory": {"import"},  # of an NVMeVirt, not of runs
    "--model": {"import"},  # NVMeVirt's own, not one of channels
    "--speed": {"replay"},  # of arrivals, not of a picture
}


def test_an_option_of_several_commands_is_declared_once() -> None:
    places: dict[str, dict[object, list[str]]] = {}
    for command, function in COMMANDS.items():
        for name, one, info, _ in SCRIPT.parameters(function):
            if isinstance(info, SCRIPT.OptionInfo):
                names, _ = SCRIPT.named(name, info, flag=SCRIPT.is_flag(one))
                flag = next(each for each in names.split(", ") if each.startswith("--"))
                declared = any(isinstance(part, option.Option) for part in one.annotation.__metadata__)
                places.setdefault(flag, {}).setdefault("declared" if declared else id(info), []).append(command)
    by_hand = {flag: {one for key, ones in each.items() if key != "declared" for one in ones}
               for flag, each in places.items() if len(each) > 1}  # fmt: skip
    assert by_hand == OTHER_MEANINGS


@pytest.mark.parametrize(
    "arguments", [{"threads": 0}, {"batch": 0}, {"seed": -1}, {"resume": 1}, {"memory_bytes": "x"}]
)
def test_options_of_a_search_are_checked_before_anything_runs(arguments: dict[str, object]) -> None:
    name, value = next(iter(arguments.items()))
    with pytest.raises(ConfigError, match=f"^{name}:? .*: expected "):
        flashweir.search({"workloads": "random:count=1"}, **arguments)
    if name == "memory_bytes":
        assert "--memory x: expected a size" in refused("search", "spec.toml", "--memory", str(value))


@pytest.mark.parametrize("name", PAIRS)
def test_a_command_has_the_options_of_its_function(name: str) -> None:
    function, command = PAIRS[name], inspect.signature(COMMANDS[name]).parameters
    options = option.options_of(function)
    shown = {each for each, one in options.items() if one.option.names(each)}
    assert shown <= set(command)
    for each in shown:
        assert options[each].option in command[each].annotation.__metadata__
    undeclared = set(inspect.signature(function).parameters) - set(options) - ARGUMENTS
    assert undeclared == BY_HAND.get(name, set())


def test_options_of_a_run_are_the_keys_of_its_spec() -> None:
    options = option.options_of(flashweir.simulate)
    spec = option.as_spec(flashweir.simulate, {name: one.default for name, one in options.items()})
    assert set(options) - set(spec) == {"allocator"}
    # An unknown key is refused by the native module, which lists those that it has.
    with pytest.raises(ConfigError) as caught:
        _native.plan(json.dumps({"nothing": 1}))
    known = set(re.findall(r"`([a-z_]+)`", str(caught.value))) - {"nothing"}
    assert known - {"workloads", "device", "overrides"} == set(spec)


def test_options_of_a_sweep_are_those_of_its_runs() -> None:
    chosen = {name for name, one in option.options_of(flashweir.simulate).items() if one.option.in_sweeps}
    assert chosen == set(RUN_OPTIONS) <= set(KEYS)
    assert {name for name in chosen if RUN_OPTIONS[name].option.on_command_line} <= set(
        inspect.signature(COMMANDS["compare"]).parameters
    )


def test_the_help_of_a_function_has_its_options() -> None:
    documented = flashweir.simulate.__doc__ or ""
    for name, one in option.options_of(flashweir.simulate).items():
        words = f"{name}: {one.option.doc or one.option.help}"
        assert " ".join(words.split()) in " ".join(documented.split())
    assert "Annotated" not in str(inspect.signature(flashweir.simulate))
    order = [documented.index(f"\n    {name}: ") for name in ("workload", "device", "seed", "verify", "alone", "set")]
    assert order == sorted(order)


@pytest.mark.parametrize("page", SCRIPT.PAGES, ids=lambda page: page.name)
def test_the_documents_have_the_rows_of_the_declarations(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert SCRIPT.written(text) == text, f"{page.name}: run scripts/options"


def test_values_of_another_kind_are_refused_alike() -> None:
    for name, one in RUN_OPTIONS.items():
        wrong: object = {"flag": 5, "whole": "x", "text": 5.5}[one.option.kind]
        with pytest.raises(ConfigError, match=f"^{name}: .*: expected "):
            flashweir.simulate("random:count=1", **{name: wrong})
        with pytest.raises(ConfigError, match=f"^{name}: .*: expected "):
            flashweir.sweep({"workloads": "random:count=1", name: wrong})
    assert "--skip-bad" in refused("simulate", "random:count=1", "--skip-bad", "-1")


def example() -> dict[str, list[tuple[str, str]]]:
    """The changes of the worked example in CONTRIBUTING.md, by file: the line before, and the lines that it adds."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## An option of a run")[2]
    section = section.partition("\n## ")[0]
    found: dict[str, list[tuple[str, str]]] = {}
    for path, body in re.findall(r"<!-- change: (\S+) -->\n```diff\n(.*?)```", section, re.DOTALL):
        before = "".join(line[1:] + "\n" for line in body.splitlines() if not line.startswith("+"))
        after = "".join(line[1:] + "\n" for line in body.splitlines())
        found.setdefault(path, []).append((before, after))
    return found


def test_an_option_of_a_run_is_added_in_two_files_of_the_package(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "python/flashweir", tmp_path / "flashweir", ignore=shutil.ignore_patterns("__pycache__"))
    for path, changes in example().items():
        file = tmp_path / Path(path).relative_to("python")
        text = file.read_text(encoding="utf-8")
        for before, after in changes:
            assert text.count(before) == 1, f"{path}: {before}"
            text = text.replace(before, after)
        file.write_text(text, encoding="utf-8")
    look = """
import inspect, json
import flashweir
from flashweir.cli import application
from flashweir.options.option import as_spec, options_of
from flashweir.sweeps.spec import KEYS
from flashweir.sweeps.points import _OPTIONS
one = options_of(flashweir.simulate)["cool_down"]
assert "cool_down: " in flashweir.simulate.__doc__
assert as_spec(flashweir.simulate, {**{n: o.default for n, o in options_of(flashweir.simulate).items()},
               "cool_down": "1s"})["cool_down"] == "1s"
assert "cool_down" in KEYS and "cool_down" in _OPTIONS
for command in ("simulate", "compare"):
    callback = next(one.callback for one in application().registered_commands if one.callback.__name__ == command)
    assert one.option.names("cool_down") == ("--cool-down",) and "cool_down" in inspect.signature(callback).parameters
try:
    flashweir.simulate("random:count=1", cool_down=5)
except flashweir.ConfigError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", look], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout == "cool_down: 5: expected a text\n"
    assert set(example()) == {"python/flashweir/options/run.py", "python/flashweir/api.py"}
