"""Grammar of policies: `fast+forwarding`, `log-block+cycle-stealing:gc.throttle=8`, tables in TOML, crossed lists.

A policy is a name and the keys of the drive that it sets. A word stands for the key that has it among its choices, so
that a new translation layer or planner can be written as soon as the engine has it. docs/reference/compare.md is the
grammar for readers.
"""

import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

from flashweir import _native
from flashweir._native import ConfigError
from flashweir.names import hint
from flashweir.settings import flat
from flashweir.sweeps.include import read_toml

# A policy's name, and the keys that it sets.
Policies = dict[str, dict[str, object]]

# The lists that are crossed, by the option that has them: each sets a key.
CROSSED = {
    "ftl": "ftl.kind",
    "planner": "gc.planner",
    "units": "units",
    "buffer": "buffer.bytes",
    "throttle": "gc.throttle",
}
# The planners are defined under one of the two clocks: it comes with them, unless a setting says otherwise.
_CLOCKS = {
    "super-data-block": "lock-step",
    "cycle-stealing": "lock-step",
    "forwarding": "async",
    "cycle-filling": "async",
}
# The methods of the literature: lock-step channels under a log-block layer with and without a throttle, channels with
# clocks of their own under a hybrid and a page-mapping layer; and page mapping that has its whole map in memory.
DEFAULT = (
    "log-block+synchronized+lock-step",
    "log-block+none+lock-step",
    "log-block+super-data-block",
    "log-block+cycle-stealing",
    "log-block+cycle-stealing:gc.throttle=8",
    "fast+synchronized",
    "fast+none",
    "fast+forwarding",
    "fast+cycle-filling",
    "dftl+synchronized",
    "dftl+none",
    "dftl+forwarding",
    "dftl+cycle-filling",
    "page+none",
)
_SEPARATOR = re.compile(r"[+:]")


def default() -> list[str]:
    """The policies of `DEFAULT` that this engine has the translation layers and planners for."""
    known = _words()
    return [name for name in DEFAULT if all("=" in part or part in known for part in _SEPARATOR.split(name))]


def read(given: object) -> Policies:
    """The policies that are meant, in their order.

    Args:
        given: a text with policies separated by commas, of which `default` stands for `DEFAULT` and `FILE.toml` for the
            `[policies]` of a file; several such texts; or a mapping of names to a policy as text, or to its settings.

    Raises:
        ConfigError: a policy that is none, an unknown word or key, or a name given twice.
    """
    if isinstance(given, Mapping):
        return {str(name): _entry(str(name), value) for name, value in given.items()}
    texts = [given] if isinstance(given, str | Path) else given
    if not isinstance(texts, Iterable):
        raise ConfigError(f"policies: {given!r}: expected policies such as 'fast+forwarding', or a mapping of names")
    found: Policies = {}
    for text in texts:
        for name, settings in _listed(text):
            if name in found:
                raise ConfigError(f"policies: {name!r} is listed twice")
            found[name] = settings
    if not found:
        raise ConfigError("policies: expected at least one, such as fast+forwarding")
    return found


def crossed(policies: Policies, lists: Mapping[str, Sequence[object]]) -> tuple[Policies, dict[str, object]]:
    """Every policy with every combination of the lists; and the settings that all of them have in common.

    A list with several values adds its value to the names; one with a single value is a setting of all.

    Args:
        policies: with none, the combinations alone are the policies.
        lists: by the names in `CROSSED`.

    Raises:
        ConfigError: a list sets what a policy sets, or has a value twice.
    """
    wanted = {CROSSED[option]: list(values) for option, values in lists.items() if values}
    for key, listed in wanted.items():
        texts = [str(value) for value in listed]
        if twice := next((text for place, text in enumerate(texts) if text in texts[:place]), None):
            raise ConfigError(f"{_option_of(key)}: {twice!r} is listed twice")
        if clash := next((name for name, settings in policies.items() if key in settings), None):
            raise ConfigError(f"{_option_of(key)}: policy {clash} sets {key} as well: expected it in one of the two")
    common = {key: values[0] for key, values in wanted.items() if len(values) == 1}
    varied = {key: values for key, values in wanted.items() if len(values) > 1}
    if not policies and not varied and wanted:
        varied, common = wanted, {}
    if not varied:
        return policies, common
    found: Policies = {}
    for name, settings in (policies or {"": {}}).items():
        for values in product(*varied.values()):
            more = dict(zip(varied, values, strict=True))
            found[_named(name, more)] = {**settings, **more}
    return found, common


def completed(settings: Mapping[str, object], common: Mapping[str, object]) -> dict[str, object]:
    """A policy's settings with the clock that its planner is defined for, where nothing says which."""
    clock = _CLOCKS.get(str(settings.get("gc.planner", common.get("gc.planner"))))
    if clock is None or "clock" not in _keys() or "clock" in settings or "clock" in common:
        return dict(settings)
    return {**settings, "clock": clock}


def parse(text: str) -> dict[str, object]:
    """The settings that one policy stands for: words and `KEY=VALUE`, joined by `+` or `:`.

    Raises:
        ConfigError: a word that is no choice of any key or of several, an unknown key, or a key given twice.
    """
    settings: dict[str, object] = {}
    for part in _SEPARATOR.split(text):
        key, equals, value = (side.strip() for side in part.partition("="))
        if equals:
            _check_key(key, text)
            if not value:
                raise ConfigError(f"policy {text}: {key}=: expected a value after it")
        else:
            key, value = _key_of(key, text), key
        if key in settings:
            raise ConfigError(f"policy {text}: sets {key} twice, to {settings[key]} and {value}")
        settings[key] = value
    return settings


def _listed(given: object) -> Iterable[tuple[str, dict[str, object]]]:
    """The policies in a text, a file, or a path."""
    if isinstance(given, Path):
        yield from _file(given).items()
        return
    if not isinstance(given, str):
        raise ConfigError(f"policies: {given!r}: expected policies such as 'fast+forwarding', or the name of a file")
    texts = [part.strip() for part in given.split(",")]
    if not all(texts):
        raise ConfigError(f"policies {given}: expected policies separated by commas, such as fast+none,fast+forwarding")
    for text in texts:
        if text.endswith(".toml"):
            yield from _file(Path(text)).items()
        elif text == "default":
            yield from ((name, parse(name)) for name in default())
        else:
            yield text, parse(text)


def _file(path: Path) -> Policies:
    """The `[policies]` of a TOML file."""
    table = read_toml(path, "a TOML file with [policies]")
    found = table.get("policies")
    if not isinstance(found, Mapping) or not found:
        raise ConfigError(f"{path}: expected [policies.NAME] tables with the settings of each policy")
    if unknown := next((key for key in table if key != "policies"), None):
        raise ConfigError(f"{path}: {unknown}: unknown key; expected [policies.NAME] tables alone")
    try:
        return read(found)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def _entry(name: str, value: object) -> dict[str, object]:
    """A policy of a mapping: its short form, or its settings."""
    if isinstance(value, str):
        return parse(value)
    if not isinstance(value, Mapping) or not value:
        raise ConfigError(f"policies.{name}: {value!r}: expected settings, or a text such as fast+forwarding")
    settings = flat(value)
    for key in settings:
        _check_key(key, name)
    return settings


def _named(name: str, more: Mapping[str, object]) -> str:
    """A policy's short form with further settings: words first."""
    words, settings = [name] if name else [], []
    for key, value in more.items():
        if _words().get(str(value)) == [key]:
            words.append(str(value))
        else:
            settings.append(f"{key}={value}")
    return ":".join(["+".join(words), *settings] if words else settings)


def _option_of(key: str) -> str:
    return next(f"--{option}" for option, of in CROSSED.items() if of == key)


def _key_of(word: str, text: str) -> str:
    keys = _words().get(word, [])
    if len(keys) == 1:
        return keys[0]
    if keys:
        ways = " or ".join(f"{key}={word}" for key in keys)
        raise ConfigError(f"policy {text}: {word!r} is a value of several keys: expected {ways}")
    raise ConfigError(f"policy {text}: {word!r} is no choice of any key{hint(word, _words())}; expected words such "
                      "as fast+forwarding, and other settings as :KEY=VALUE")  # fmt: skip


def _check_key(key: str, text: str) -> None:
    if key not in _keys():
        raise ConfigError(f"policy {text}: {key}: no key of a drive{hint(key, _keys())}")


# Keys whose choices are given by key alone: "none", "dynamic" and "direct" are words of planners, allocation and maps.
_WORDLESS = ("ageing.", "background.", "buffer.backpressure", "ftl.finish", "ftl.host", "ftl.separate", "nand.", "slc.")


@functools.cache
def _keys() -> dict[str, list[str]]:
    """Every key of a drive, with its choices where it has some."""
    found = json.loads(_native.schema())["x-keys"]
    return {key["name"]: [choice for choice in key.get("choices", ()) if isinstance(choice, str)] for key in found}


@functools.cache
def _words() -> dict[str, list[str]]:
    """Every choice that names a policy, with the keys that have it. Mechanisms beside the policies have none."""
    found: dict[str, list[str]] = {}
    for key, choices in _keys().items():
        for choice in choices if not key.startswith(_WORDLESS) else ():
            found.setdefault(choice, []).append(key)
    return found
