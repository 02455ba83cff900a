# SPDX-License-Identifier: Apache-2.0
"""Values are not called by words that hide what they are."""

from __future__ import annotations

import ast
from typing import Final

import pytest

import imports

VAGUE: Final = frozenset({"found", "made", "told", "both", "why"})
"""Names that hide what a value is."""
VAGUE_ANYWHERE: Final = frozenset({"why"})
"""Those that hide it as a part of a name, too."""
PUBLISHED: Final = frozenset(
    {
        "base/offramp_base/checks.py:found",
        "host/offramp/hermod/deploy/target.py:found",
        "host/offramp/job/watch.py:why",
    }
)
"""Fields that are keys of published JSON."""
FOLDERS: Final = (*sorted({room.name for room in imports.ROOMS.values()}), "ci", "examples", "fpga", "tests")


def stored(tree: ast.AST) -> set[str]:
    """Names that code binds: variables, parameters, attributes, fields and functions."""
    names = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.alias(asname=str(name)):
                names.add(name)
    return names


def vague(name: str) -> bool:
    """Whether a name is such a word, or has one of :data:`VAGUE_ANYWHERE` among its words; tests are sentences."""
    words = name.lower().strip("_").split("_")
    return name.strip("_") in VAGUE or (words[0] != "test" and not VAGUE_ANYWHERE.isdisjoint(words))


@pytest.mark.parametrize("folder", FOLDERS)
def test_names_say_what_a_value_is(folder: str) -> None:
    guilty = []
    for path in sorted((imports.ROOT / folder).rglob("*.py")):
        name, text = path.relative_to(imports.ROOT).as_posix(), path.read_text(encoding="utf-8")
        if any(word in text.lower() for word in VAGUE):
            guilty += [f"{name}:{word}" for word in sorted(filter(vague, stored(ast.parse(text))))]
    assert [each for each in guilty if each not in PUBLISHED] == []
