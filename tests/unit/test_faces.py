# SPDX-License-Identifier: Apache-2.0
"""The faces of packages: what each exports lazily, the same for a type checker, and the example of its docstring.

A package has a face where its ``__init__.py`` calls :func:`offramp_base.lazy.face`.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
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
PUBLIC_MODULES = {
    "offramp.gnn.links": "pairs of vertices, which the face of offramp.gnn names",
    "offramp.gnn.loggers": "logs of runs, which the face of offramp.gnn names",
    "offramp.leo.dma": "descriptors of copies, for benches of the engine",
    "offramp.leo.functions.ebs": "a function of devices, as kvs",
    "offramp.leo.functions.reduce": "a function of devices, as kvs",
    "offramp.leo.functions.kvs": "a function of devices: its tables and messages, one module for each",
    "offramp.leo.memory": "memory of a process, which functions' tables lie in",
    "offramp.sylvie.model": "the quantiser's model, which benches compare with",
    "offramp_sim.rtl.models.memory": "memory behind an engine's port, for benches",
    "offramp_sim.rtl.models.streams": "streams whose idle channels have no values, for benches",
}
"""Modules that programs may import although they are no packages, and what for."""
BENEATH = {
    "offramp.p4src": "a program with another size, for a switch of the test",
    "offramp_base.ending.owner": "whether a process of a laboratory has ended",
    "offramp_base.tools": "where other projects' programs are installed for a test",
    "offramp_p4.runtime": "P4Info for other projects' controllers",
    "offramp_p4_tools.dropin.thrift.client": "what a switch answers to other projects' command files",
}
"""Modules that tests of whole programs import to prepare or to judge one, and what for."""


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


def programs() -> dict[str, str]:
    """What a user reads and runs: the examples, the notebooks' cells, the blocks of the documentation, e2e tests."""
    texts = {}
    for folder in ("examples", "tests/e2e"):
        for path in sorted((imports.ROOT / folder).rglob("*.py")):
            texts[str(path.relative_to(imports.ROOT))] = path.read_text(encoding="utf-8")
    for path in sorted((imports.ROOT / "examples").rglob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts[path.name] = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    root = imports.ROOT
    readmes = [path for room in sorted(set(imports.ROOMS.values())) for path in sorted(room.rglob("README.md"))]
    for page in [root / "README.md", root / "examples/README.md", *sorted((root / "docs").rglob("*.md")), *readmes]:
        texts[str(page.relative_to(imports.ROOT))] = "\n".join(
            re.findall(r"^```.*?^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        )
    return texts


PROGRAMS = programs()
IMPORT = re.compile(
    r"(?:^\s*(?:>>> )?|['\"])from (offramp\w*(?:\.\w+)*) import (?:\(([^)]*)\)|([\w, ]*))", re.MULTILINE
)


def imported(text: str) -> Iterator[tuple[str, str]]:
    """Modules and names of ``from MODULE import NAME`` in Python, a notebook or a here-document."""
    for module, several, one in IMPORT.findall(text):
        for name in (several or one).split(","):
            if name.strip():
                yield module, name.split()[0]


def exported(package: str) -> set[str]:
    """Names that a package exports: those of its face, or those of the ``__all__`` in its source."""
    path = SOURCES.files[package]
    if package in FACES:
        return {*lazy_names(path), "__version__"}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def test_programs_import_from_faces() -> None:
    """The command line's own modules and other projects' packages beside, everything comes from a public package."""
    faults = [
        f"{program}: from {module} import {name}"
        for program, text in PROGRAMS.items()
        for module, name in imported(text)
        if module in SOURCES.files
        and module.split(".")[0] != "offramp_cli"
        and f"{module}.{name}" not in {*FACES, *PUBLIC_MODULES}
        and module not in {*PUBLIC_MODULES, *(BENEATH if program.startswith("tests/") else ())}
        and (not SOURCES.is_package(module) or name not in exported(module))
    ]
    assert faults == []


def test_every_exception_is_in_use() -> None:
    used = {
        name
        for text in PROGRAMS.values()
        for module, attribute in imported(text)
        for name in (module, f"{module}.{attribute}")
    }
    assert {*PUBLIC_MODULES, *BENEATH} <= used


def test_the_command_line_imports_from_faces_what_they_have() -> None:
    """Under the same name: what a face calls otherwise, and what none exports, comes from its module."""
    public = {(target, name): package for package, path in FACES.items() for name, target in lazy_names(path).items()}
    faults = [
        f"{name}: from {public[module, attribute]} import {attribute}"
        for name, path in SOURCES.files.items()
        if name.split(".")[0] == "offramp_cli"
        for module, attribute in imported(path.read_text(encoding="utf-8"))
        if (module, attribute) in public and module not in FACES
    ]
    assert faults == []


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
