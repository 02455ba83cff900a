# SPDX-License-Identifier: Apache-2.0
"""Docstrings are sentences that say what something is. Blind to all fragments but the kinds that were common here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

import pytest

import imports

DOCUMENTED: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
FOLDERS: Final = (*sorted({room.name for room in imports.ROOMS.values()}), "ci", "examples", "fpga", "tests")
FRAGMENT: Final = re.compile(r"(?:Of|Whose|Which) ")
FIELD: Final = re.compile(r"\s+\w+(?:, \w+)*: of (?!which\b)")
"""A parameter or attribute that is said to be of something, but not what it is."""


def fragments(tree: ast.AST) -> Iterator[str]:
    """Fragments among the docstrings of a module."""
    for node in ast.walk(tree):
        text = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
        if not text:
            continue
        first = text.splitlines()[0]
        if FRAGMENT.match(first) or (returns_nothing(node) and first.startswith("Whether ")):
            yield first
        yield from filter(FIELD.match, text.splitlines())


def returns_nothing(node: ast.AST) -> bool:
    """Whether a function is declared to return None, so that it cannot say whether something holds."""
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    return isinstance(node, functions) and isinstance(node.returns, ast.Constant) and node.returns.value is None


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_are_no_fragments(folder: str) -> None:
    paths = sorted((imports.ROOT / folder).rglob("*.py"))
    trees = {path.relative_to(imports.ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    assert [f"{name}: {line.strip()}" for name, tree in trees.items() for line in fragments(tree)] == []


@pytest.mark.parametrize(
    "code",
    [
        '"""Of the port."""',
        'def f() -> None:\n    """Whether it fits."""',
        '"""A\n\nArgs:\n    seed: of it.\n"""',
    ],
)
def test_a_fragment_is_seen(code: str) -> None:
    assert list(fragments(ast.parse(code)))
