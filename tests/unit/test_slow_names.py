# SPDX-License-Identifier: Apache-2.0
"""What slow tests, benches, suites on hardware and support programs take from the product is there: names of modules,
arguments of functions. ``make test-all`` runs few of them, so a change of a name would go unnoticed.

Blind to methods, and to what names mean.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import imports

TESTS = imports.ROOT / "tests"
SELDOM = re.compile(r"mark\.(slow|bench|guest|cluster|gpu|nic|bmv2)\b")
SETTERS = {"setattr", "delattr", "hasattr", "getattr"}


def seldom_run() -> list[Path]:
    """Files with tests that ``make test-all`` leaves out or skips, and all that supports tests."""
    tests = [path for path in TESTS.rglob("*.py") if SELDOM.search(path.read_text("utf-8"))]
    return sorted({*tests, *(TESTS / "support").rglob("*.py"), *(TESTS / "fuzz").glob("*.py")})


@cache
def module_path(name: str) -> Path | None:
    folder = imports.ROOMS.get(name.partition(".")[0])
    path = folder and folder.joinpath(*name.split("."))
    return path and next((each for each in (path.with_suffix(".py"), path / "__init__.py") if each.is_file()), None)


@cache
def definitions(module: str) -> dict[str, ast.AST] | None:
    """What a module binds outside functions and classes, by name; None if that cannot be read off."""
    path = module_path(module)
    assert path is not None
    bound: dict[str, ast.AST] = {}
    pending: list[ast.AST] = [*ast.parse(path.read_text("utf-8")).body]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound[node.name] = node
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {alias.asname or alias.name.partition(".")[0]: node for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound[node.id] = node
        else:
            pending += ast.iter_child_nodes(node)
    lazy = {"__getattr__", "*"} & bound.keys()
    if path.name == "__init__.py":
        bound |= {each.stem: ast.Pass() for each in path.parent.iterdir()}
    return None if lazy else bound


def faults(path: Path) -> Iterator[str]:
    """Names and arguments that the product does not have."""
    nodes = [*ast.walk(ast.parse(path.read_text("utf-8")))]
    modules: dict[str, str] = {}
    functions: dict[str, ast.AST] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and module_path(node.module):
            for alias in node.names:
                whole, shown = f"{node.module}.{alias.name}", alias.asname or alias.name
                bound = definitions(node.module)
                if module_path(whole):
                    modules[shown] = whole
                elif bound is not None and alias.name not in bound:
                    yield f"{node.lineno}: {whole}"
                elif bound is not None:
                    functions[shown] = bound[alias.name]
        elif isinstance(node, ast.Import):
            modules |= {alias.asname: alias.name for alias in node.names if alias.asname and module_path(alias.name)}
    stored = {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    stored |= {each.arg for each in nodes if isinstance(each, ast.arg)}
    for node in nodes:
        for holder, name in _uses(node):
            bound = definitions(modules[holder]) if holder in modules and holder not in stored else None
            if bound is not None and name not in bound:
                yield f"{node.lineno}: {modules[holder]}.{name}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in stored:
            taken = _arguments(functions.get(node.func.id))
            for word in node.keywords:
                if taken is not None and word.arg is not None and word.arg not in taken:
                    yield f"{node.lineno}: {node.func.id}: no argument {word.arg}"


def _uses(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield node.value.id, node.attr
    if isinstance(node, ast.Call) and len(node.args) > 1:
        first, second = node.args[:2]
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if called in SETTERS and isinstance(first, ast.Name) and isinstance(second, ast.Constant):
            yield first.id, str(second.value)


def _arguments(definition: ast.AST | None) -> set[str] | None:
    if not isinstance(definition, ast.FunctionDef) or definition.args.kwarg or definition.decorator_list:
        return None
    every = definition.args
    return {each.arg for each in (*every.args, *every.kwonlyargs)}


@pytest.mark.full
def test_names_that_slow_tests_use_are_there() -> None:
    paths = seldom_run()
    assert len(paths) > 200
    assert [f"{path.relative_to(TESTS)}:{fault}" for path in paths for fault in faults(path)] == []


def test_what_is_not_there_is_found(tmp_path: Path) -> None:
    path = tmp_path / "test_planted.py"
    path.write_text(
        "from offramp.allreduce import reducer\nfrom offramp.cluster.names import expand, gone\n"
        "reducer._open\nexpand(text='a', other=1)\nmonkeypatch.setattr(reducer, '_none', 1)\nreducer.AllReducer\n"
    )
    seen = [fault.partition(": ")[2] for fault in faults(path)]
    assert seen[:1] == ["offramp.cluster.names.gone"]
    module = "offramp.allreduce.reducer"
    assert {f"{module}._open", f"{module}._none", "expand: no argument other"} <= set(seen)
