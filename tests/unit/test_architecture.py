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
    cli = ROOT / "host/offramp/cli"
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


@pytest.mark.parametrize("module", ["offramp.cli.app"])
def test_the_command_line_starts_without_heavy_imports(module: str) -> None:
    code = f"import sys, {module}; print(' '.join(sorted({{m.split('.')[0] for m in sys.modules}})))"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert HEAVY.isdisjoint(out.split()), sorted(HEAVY.intersection(out.split()))
