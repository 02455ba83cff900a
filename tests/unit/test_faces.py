# SPDX-License-Identifier: Apache-2.0
"""The faces of packages: what each exports lazily, the same for a type checker, and the example of its docstring.

A package has a face where its ``__init__.py`` calls :func:`offramp_base.lazy.face`.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import imports
from offramp_base.lazy import face

MOST_NAMES, MOST_LINES = 12, 8
SOURCES = imports.read()
FACES = {
    name: path
    for name, path in SOURCES.files.items()
    if SOURCES.is_package(name) and "= face(" in path.read_text(encoding="utf-8")
}
"""The ``__init__.py`` of each package that has a face."""


def lazy_names(path: Path) -> dict[str, str]:
    """The table in the source: public name to module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "face":
            table: dict[str, str] = ast.literal_eval(node.args[1])
            return table
    raise AssertionError(f"{path}: no table")


def checked_names(path: Path) -> dict[str, str]:
    """What a type checker reads: the names imported under ``TYPE_CHECKING`` with ``as``."""
    return {
        alias.asname: node.module if alias.asname == alias.name else f"{node.module}:{alias.name}"
        for branch in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(branch, ast.If) and ast.unparse(branch.test) == "TYPE_CHECKING"
        for node in branch.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        if alias.asname
    }


@pytest.mark.parametrize("package", FACES)
def test_a_face_is_small_and_the_same_for_type_checkers(package: str) -> None:
    table = lazy_names(FACES[package])
    assert table == checked_names(FACES[package])
    assert len(table) <= MOST_NAMES
    assert [name for name in table if f"{package}.{name}" in SOURCES.files] == []  # a submodule would replace it


@pytest.mark.parametrize("package", FACES)
def test_every_name_is_there(package: str) -> None:
    imported = importlib.import_module(package)
    for name, target in lazy_names(FACES[package]).items():
        module, _, attribute = target.partition(":")
        assert getattr(imported, name) is getattr(importlib.import_module(module), attribute or name)
    assert imported.__all__ == sorted(lazy_names(FACES[package]))


@pytest.mark.parametrize("package", FACES)
def test_the_docstring_shows_its_use(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some five lines, run as they stand, that use only the face of the package and of those below it."""
    imported = importlib.import_module(package)
    (example,) = [e for e in doctest.DocTestFinder(recurse=False).find(imported) if e.name == package]
    assert 1 <= sum(len(each.source.splitlines()) for each in example.examples) <= MOST_LINES
    own = ast.walk(ast.parse("".join(each.source for each in example.examples)))
    modules = {node.module for node in own if isinstance(node, ast.ImportFrom) and node.module}
    assert package in modules
    assert modules <= FACES.keys()
    monkeypatch.chdir(imports.ROOT)  # examples name files of a checkout
    assert doctest.DocTestRunner().run(example).failed == 0


@pytest.mark.parametrize("package", FACES)
def test_a_face_imports_nothing_before_it_is_asked(package: str) -> None:
    top = package.split(".", maxsplit=1)[0]
    code = f"import sys, {package}; print(*(m for m in sys.modules if m.startswith({top + '.'!r})))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    targets = {target.partition(":")[0] for target in lazy_names(FACES[package]).values()}
    assert not targets & set(loaded) - {package}


def test_a_name_is_loaded_once_and_an_unknown_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("outside_face")
    monkeypatch.setitem(sys.modules, "outside_face", package)
    package.__getattr__, package.__dir__, package.__all__ = face("outside_face", {"sqrt": "math"})  # type: ignore[method-assign, assignment]
    assert "sqrt" not in vars(package)
    assert package.sqrt(9.0) == 3.0
    assert "sqrt" in vars(package)
    assert {"sqrt", "__all__"} <= set(dir(package))
    with pytest.raises(AttributeError, match="'outside_face' has no attribute 'cbrt'"):
        _ = package.cbrt
