"""Modules of a Rust crate, and which uses which: names that are re-exported count where they are defined."""

import re
from collections.abc import Iterator, Mapping

Module = tuple[str, ...]

ITEM = re.compile(
    r"^(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe |extern \"C\" )*"
    r"(?:fn|struct|enum|trait|type|const|static|union|macro_rules!) (\w+)",
    re.MULTILINE,
)
USE = re.compile(r"\buse\s+([^;]*);")


def code_of(source: str) -> str:
    """A source without its comments, strings, inline tests, and modules that only say who may see an item."""
    source = re.sub(r"//.*", "", source.partition("#[cfg(test)]\nmod tests {")[0])
    source = re.sub(r'"(?:[^"\\]|\\.)*"', '""', source)
    return re.sub(r"\bpub\(in [\w:]+\)", "pub(super)", source)


def names_of(tree: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names that a `use` brings, with their paths: `a::{b, c as d}` brings b of a::b and d of a::c, `a::*` brings *."""
    head, brace, rest = tree.strip().partition("{")
    if not brace:
        path, _, alias = (part.strip() for part in head.partition(" as "))
        parts = tuple(part.strip() for part in path.split("::"))
        parts = parts[:-1] if parts[-1] == "self" and len(parts) > 1 else parts
        yield alias or parts[-1], parts
        return
    depth, part = 0, ""
    for character in rest.rpartition("}")[0] + ",":
        if character == "," and depth == 0:
            if part.strip():
                yield from names_of(head + part.strip())
            part = ""
            continue
        depth += (character == "{") - (character == "}")
        part += character


class Crate:
    """The modules of a crate, by the sources of their files."""

    def __init__(self, sources: Mapping[Module, str]) -> None:
        self.code = {module: code_of(source) for module, source in sources.items()}
        self.items = {module: set(ITEM.findall(code)) for module, code in self.code.items()}
        self.bound: dict[Module, dict[str, tuple[str, ...]]] = {}
        self.globs: dict[Module, list[tuple[str, ...]]] = {}
        for module, code in self.code.items():
            names = [name for tree in USE.findall(code) for name in names_of(tree)]
            self.bound[module] = {name: path for name, path in names if name != "*"}
            self.globs[module] = [path[:-1] for name, path in names if name == "*"]

    def uses(self) -> dict[Module, set[Module]]:
        """For each module the modules whose own items it names, by `use` or in full."""
        return {module: self.used_by(module) - {module} for module in self.code}

    def used_by(self, module: Module) -> set[Module]:
        body = USE.sub("", self.code[module])
        paths = list(self.bound[module].values())
        for path in re.findall(r"\b\w+(?:::\w+)+", body):
            first, *rest = path.split("::")
            paths.append((*self.bound[module].get(first, (first,)), *rest))
        words = set(re.findall(r"\w+", body)) if self.globs[module] else set()
        for path in self.globs[module]:
            at, rest = self.start(module, path)
            found = None if at is None else self.walk(at, rest, set())
            if found is not None:
                paths += [(*path, word) for word in words & (self.items[found] | set(self.bound[found]))]
        return {at for at in (self.defined(module, path) for path in paths) if at is not None}

    def defined(self, module: Module, path: tuple[str, ...]) -> Module | None:
        """The module that defines what a path names; None outside of the crate, and for a module itself."""
        at, rest = self.start(module, path)
        found = None if at is None else self.walk(at, rest, set())
        return None if found is None or found == (at or ()) + rest else found

    def start(self, module: Module, path: tuple[str, ...]) -> tuple[Module | None, tuple[str, ...]]:
        """The module of the crate where a path begins, and what follows."""
        first, rest = path[0], path[1:]
        if first in ("crate", "self"):
            return (() if first == "crate" else module), rest
        if first == "super":
            at = module[:-1]
            while rest and rest[0] == "super":
                at, rest = at[:-1], rest[1:]
            return at, rest
        return (module, path) if (*module, first) in self.code else (None, path)

    def walk(self, at: Module, rest: tuple[str, ...], seen: set[tuple[Module, str]]) -> Module | None:
        """Follows a path down from a module, and every name that the module only re-exports."""
        while rest and (*at, rest[0]) in self.code:
            at, rest = (*at, rest[0]), rest[1:]
        if not rest or rest[0] in self.items[at] or (at, rest[0]) in seen:
            return at
        seen = seen | {(at, rest[0])}
        if rest[0] in self.bound[at]:
            to, follows = self.start(at, self.bound[at][rest[0]])
            return None if to is None else self.walk(to, follows + rest[1:], seen)
        for path in self.globs[at]:
            to, follows = self.start(at, path)
            found = None if to is None else self.walk(to, follows + rest, seen)
            if found is not None and rest[0] in self.items[found]:
                return found
        return at
