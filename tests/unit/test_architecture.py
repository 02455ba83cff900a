# SPDX-License-Identifier: Apache-2.0
"""The rules of docs/ARCHITECTURE.md that can be read off the sources."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import imports

ROOT = imports.ROOT
HEAVY = {"torch", "sklearn", "matplotlib", "grpc", "scapy", "mtkahypar", "pymetis", "scipy", "google"}
BELOW = {
    "offramp_base": set(),
    "offramp_p4": {"offramp_base"},
    "offramp_p4_tools": {"offramp_base", "offramp_p4"},
    "offramp": {"offramp_base"},
    "offramp_sim": {"offramp_base", "offramp_p4", "offramp"},
    "offramp_cli": {"offramp_base", "offramp_p4", "offramp_p4_tools", "offramp", "offramp_sim"},
}
"""The packages on which each package stands."""
CIRCLES: dict[str, list[list[str]]] = {}
"""There is none, and none is to come."""
SOURCES = imports.read()


def modules(folder: str) -> list[Path]:
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths
    return paths


@pytest.mark.parametrize("package", BELOW)
def test_packages_import_only_what_they_stand_on(package: str) -> None:
    guilty = [
        f"{each.by} imports {each.of}"
        for each in SOURCES.imports
        if each.by.split(".")[0] == package and each.of.split(".")[0] not in {package, *BELOW[package]}
    ]
    assert guilty == []


@pytest.mark.parametrize("package", BELOW)
def test_packages_name_nothing_above_them(package: str) -> None:
    """Not in a string either: such a name is an import, or a process to start, that no import shows."""
    allowed = {package, *BELOW[package]}
    guilty = [
        f"{name}:{node.lineno} names {dotted}"
        for name, path in SOURCES.files.items()
        if name.split(".")[0] == package
        for node in strings(path)
        for dotted in re.findall(r"\bofframp\w*(?:\.\w+)+", node.value)
        if dotted in SOURCES.files and dotted.split(".")[0] not in allowed
    ]
    assert guilty == []


def strings(path: Path) -> list[ast.Constant]:
    """Strings that are not documentation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [node for node in texts if id(node) not in prose]


def test_no_package_imports_in_a_circle() -> None:
    """At the top or inside; :meth:`imports.Sources.circles` says what counts."""
    packages = ["", *(name for name in SOURCES.files if SOURCES.is_package(name))]
    by_package = {package: circles for package in packages if (circles := SOURCES.circles(package))}
    assert by_package == CIRCLES


LONG = 60


@pytest.mark.full
def test_long_functions_say_why_they_are_in_one_piece() -> None:
    """By a comment at the head, or in the docstring, that begins so: ``One function: …``, ``In one piece: …``."""
    guilty = []
    for path in SOURCES.files.values():
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno - node.lineno >= LONG:
                head = " ".join(text.splitlines()[node.lineno - 1 : node.body[1].lineno + 5])
                if "One function: " not in head and "In one piece: " not in head:
                    guilty.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert guilty == []


CLASSES = r"class (Share|Carry|Site|Picks|Judge|Beside|Post|Station)\b"
WORDS = r"\b(open_way|stand_ins|crew|affordable|patience_s)\b"
"""Names of our own, where the field has one: shard, exchange, exchange id, sampled neighbours, evaluator, timeout …"""


@pytest.mark.full
def test_names_are_the_fields() -> None:
    guilty = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in SOURCES.files.values()
        for match in re.finditer(f"{CLASSES}|{WORDS}", path.read_text(encoding="utf-8"))
    }
    assert guilty == set()


@pytest.mark.full
def test_no_docstring_leaves_its_noun_out() -> None:
    """Documentation of an attribute is a docstring too: "Of the port." has no subject, "Rate of the port." has one."""
    guilty = [
        f"{file.relative_to(ROOT)}:{node.lineno} {node.value.value.splitlines()[0]}"
        for folder in ("base", "switch", "host", "sim", "cli", "fpga/pynq", "ci")
        for file in modules(folder)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if node.value.value.startswith("Of ")
    ]
    assert guilty == []


def test_scapy_stays_out_of_the_core() -> None:
    guilty = [
        name
        for name, path in SOURCES.files.items()
        if re.search(r"^\s*(from|import) scapy", path.read_text(), re.MULTILINE)
    ]
    assert guilty == []


@pytest.mark.full
def test_nothing_from_a_network_is_unpickled() -> None:
    """Collectives of objects are pickle, and gloo authenticates nobody.

    A checkpoint of torch.distributed is described in a pickle: its reader makes those descriptions and nothing else,
    which ``tests/unit/train/test_checkpoint_urls.py`` attacks. The pipes of :mod:`multiprocessing` are left: they join
    a process to children that it forked, and nobody else. What users keep in folders that are theirs alone
    (``tests/unit/test_caches.py``) is pickled as well: machine code lies there, too.
    """
    guilty = [
        f"{file.relative_to(ROOT)}:{node.lineno} uses {name}"
        for folder in ("base", "switch", "host", "sim", "cli", "fpga/pynq")
        for file in modules(folder)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for name in names_in(node)
        if name.split(".")[0] in PICKLERS or "object_list" in name or name.endswith(("gather_object", "_object_coll"))
    ]
    assert [line for line in guilty if line.partition(":")[0] not in {RESTRICTED, *OWN_CACHES}] == []
    pickled = re.findall(r"pickle\.\w+", (ROOT / RESTRICTED).read_text(encoding="utf-8"))
    assert sorted(pickled) == ["pickle.Unpickler", "pickle.UnpicklingError", "pickle.dumps"]


RESTRICTED = "host/offramp/train/distributed_checkpoint.py"
OWN_CACHES = (
    "switch/offramp_p4/kept_programs.py",
    "switch/offramp_p4/native/architecture.py",
    "host/offramp/workers/slurm_array.py",
)
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
