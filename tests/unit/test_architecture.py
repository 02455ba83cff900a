# SPDX-License-Identifier: Apache-2.0
"""The rules of docs/ARCHITECTURE.md that can be read off the imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {"torch", "sklearn", "matplotlib", "grpc", "scapy", "mtkahypar", "pymetis", "scipy", "google"}


def imports(file: Path, *, top_level: bool = False) -> Iterator[str]:
    """Dotted names that a module imports; with ``top_level`` only those that run when it is imported."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    nodes = tree.body if top_level else list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def modules(folder: str) -> list[Path]:
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found
    return found


def test_the_host_library_never_imports_the_simulator_save_for_the_command_line() -> None:
    cli = ROOT / "cli/offramp_cli"
    guilty = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in modules("host/offramp")
        if not file.is_relative_to(cli)
        for name in imports(file)
        if name.split(".")[0] == "offramp_sim"
    ]
    assert guilty == []


def test_scapy_stays_out_of_the_core() -> None:
    guilty = [
        str(file.relative_to(ROOT))
        for folder in ("host/offramp", "sim/offramp_sim")
        for file in modules(folder)
        if any(name.split(".")[0] == "scapy" for name in imports(file))
    ]
    assert guilty == []


def test_nothing_from_a_network_is_unpickled() -> None:
    """Collectives of objects are pickle, and gloo authenticates nobody.

    The pipes of :mod:`multiprocessing` are left: they join a process to children that it forked, and nobody else.
    """
    guilty = [
        f"{file.relative_to(ROOT)}:{node.lineno} uses {name}"
        for folder in ("host/offramp", "sim/offramp_sim", "fpga/pynq")
        for file in modules(folder)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for name in names_in(node)
        if name.split(".")[0] in PICKLERS or "object_list" in name or name.endswith(("gather_object", "_object_coll"))
    ]
    assert guilty == []


PICKLERS = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve"}


def names_in(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [a.name for a in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "", *(a.name for a in node.names)]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, ast.keyword) and node.arg == "allow_pickle" and not is_false(node.value):
        return ["pickle"]
    return []


def is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


@pytest.mark.parametrize("module", ["offramp_cli.app"])
def test_the_command_line_starts_without_heavy_imports(module: str) -> None:
    code = f"import sys, {module}; print(' '.join(sorted({{m.split('.')[0] for m in sys.modules}})))"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert HEAVY.isdisjoint(out.split()), sorted(HEAVY.intersection(out.split()))
