"""Modules of a Python package, and which uses which: names that are re-exported count where they are defined."""

import ast
from collections.abc import Iterator, Mapping

Module = tuple[str, ...]


class Package:
    """The modules of a package, by their sources."""

    def __init__(self, sources: Mapping[Module, str]) -> None:
        self.trees = {module: ast.parse(source) for module, source in sources.items()}
        # Names that modules import when they are imported themselves: the module, and the name there if it has one.
        self.bound = {module: self.imports(tree) for module, tree in self.trees.items()}
        self.own = {module: set(self.names(tree)) for module, tree in self.trees.items()}

    @staticmethod
    def imports(tree: ast.Module) -> dict[str, tuple[Module, str | None]]:
        found: dict[str, tuple[Module, str | None]] = {}
        for node in tree.body:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    found[alias.asname or alias.name] = (tuple(alias.name.split(".")), None)
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                for alias in node.names:
                    found[alias.asname or alias.name] = (tuple(node.module.split(".")), alias.name)
        return found

    @staticmethod
    def names(tree: ast.Module) -> Iterator[str]:
        """Names that a module defines."""
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id

    def uses(self) -> dict[Module, set[Module]]:
        """For each module the modules whose own names it imports, or reads of a module that it imports."""
        return {module: self.used_by(module) - {module} for module in self.trees}

    def used_by(self, module: Module) -> set[Module]:
        bound = self.bound[module]
        found = {self.defined(at, name) for at, name in bound.values()}
        for node in ast.walk(self.trees[module]):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in bound:
                at, name = bound[node.value.id]
                of = at if name is None else (*at, name)
                if of in self.trees:
                    found.add(self.defined(of, node.attr))
        return {at for at in found if at is not None}

    def defined(self, at: Module, name: str | None) -> Module | None:
        """The module that defines a name of a module; None if it is no source of the package."""
        seen: set[tuple[Module, str]] = set()
        while name is not None and at in self.trees and (at, name) not in seen:
            seen.add((at, name))
            if (*at, name) in self.trees:
                return (*at, name)
            if name not in self.bound[at]:
                return at if name in self.own[at] else None
            at, name = self.bound[at][name]
        return at if at in self.trees else None
