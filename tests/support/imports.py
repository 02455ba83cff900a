# SPDX-License-Identifier: Apache-2.0
"""Imports of each module, read off the sources: for rules about the architecture."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
ROOMS: Final = {
    "offramp_base": ROOT / "base",
    "offramp_p4": ROOT / "switch",
    "offramp_p4_tools": ROOT / "switch",
    "offramp": ROOT / "host",
    "offramp_sim": ROOT / "sim",
    "offramp_cli": ROOT / "cli",
}
"""The folder that holds each package."""


@dataclass(frozen=True, slots=True)
class Import:
    """One module that another one imports; ``typing``: for its annotations alone."""

    by: str
    of: str
    typing: bool


@dataclass(frozen=True, slots=True)
class Sources:
    """All modules by their dotted names, and what they import of each other."""

    files: Mapping[str, Path]
    imports: list[Import]

    def is_package(self, name: str) -> bool:
        """Whether it is a folder."""
        return self.files[name].name == "__init__.py"

    def circles(self, package: str) -> list[list[str]]:
        """Members of a package (``""``: of all) that import each other in a circle, each circle in order of names.

        Annotations bind modules of one folder, which are read together, but not packages: between these they count.
        """
        inside = f"{package}." if package else ""
        graph: defaultdict[str, set[str]] = defaultdict(set)
        for each in self.imports:
            if each.by.startswith(inside) and each.of.startswith(inside):
                by, of = (inside + name.removeprefix(inside).split(".")[0] for name in (each.by, each.of))
                if by != of and not (each.typing and not (self.is_package(by) and self.is_package(of))):
                    graph[by].add(of)
        reached = {name: _reach(graph, name) for name in graph}
        loops = {frozenset(o for o in reached[n] if n in reached.get(o, ())) for n in graph}
        return sorted(sorted(circle) for circle in loops if circle)


@cache
def read() -> Sources:
    """The sources of all packages, read once."""
    files = {}
    for folder in sorted(set(ROOMS.values())):
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return Sources(files, [each for name, path in files.items() for each in _imports(name, path, files)])


def _imports(by: str, path: Path, files: Mapping[str, Path]) -> Iterator[Import]:
    for node, typing in statements(ast.parse(path.read_text(encoding="utf-8")).body):
        for name in imported_names(node):
            of = name if name in files else name.rpartition(".")[0]
            if of in files and of != by:
                yield Import(by, of, typing)


def statements(body: Iterable[ast.stmt], typing: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """Statements in all depths, each with whether it is for annotations alone.

    Expressions are not entered, which would take ten times as long.
    """
    for node in body:
        yield node, typing
        guarded = typing or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
        yield from statements(getattr(node, "body", ()), guarded)
        for field in ("orelse", "finalbody"):
            yield from statements(getattr(node, field, ()), typing)
        for inner in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield from statements(inner.body, typing)


def imported_names(node: ast.AST) -> list[str]:
    """Dotted names that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def _reach(graph: Mapping[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    pending = [start]
    while pending:
        for following in graph.get(pending.pop(), ()):
            if following not in reached:
                reached.add(following)
                pending.append(following)
    return reached
