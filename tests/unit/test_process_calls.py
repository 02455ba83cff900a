# SPDX-License-Identifier: Apache-2.0
"""Every call that starts a program is in ``tests/support/process_calls.txt``, with where its arguments come from.

It finds calls by their names and never runs them: blind to a program that a library starts, and to whether an
entry's reason is right, which people judge; ``tests/fuzz/target_hostile_texts.py`` watches what is really started.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("base", "switch", "host", "sim", "cli")
LIST = ROOT / "tests" / "support" / "process_calls.txt"
SOURCES = {"constant", "own", "person", "typed"}
STARTS = {"Popen", "create_subprocess_exec", "check_output", "check_call", "getoutput", "getstatusoutput"}
RUNS = {"subprocess.run", "subprocess.call", "pty.spawn"}
SHELLS = {"system", "popen", "create_subprocess_shell"}
MODULES = {"subprocess", "os", "asyncio", "pty"}


def calls(text: str | bytes) -> Iterator[tuple[str, ast.Call, str]]:
    """Function, call and name of each call that starts a program."""
    names: dict[str, str] = {}
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {(each.asname or each.name): each.name for each in node.names if each.name in MODULES}
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            names |= {(each.asname or each.name): f"{node.module}.{each.name}" for each in node.names}

    def walk(node: ast.AST, scope: tuple[str, ...]) -> Iterator[tuple[str, ast.Call, str]]:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            if isinstance(child, ast.Call):
                first, dot, rest = ast.unparse(child.func).partition(".")
                name = f"{names[first]}{dot}{rest}" if first in names else ""
                last = name.rpartition(".")[2]
                if (
                    last in STARTS | SHELLS
                    or name in ("subprocess.run", "subprocess.call", "pty.spawn")
                    or name.startswith(("os.exec", "os.spawn", "os.posix_spawn"))
                ):
                    yield ".".join(scope), child, name
            yield from walk(child, (*scope, child.name) if named else scope)

    return walk(tree, ())


def listed() -> dict[str, str]:
    rows = [line.split() for line in LIST.read_text("utf-8").splitlines() if line and line[0] != "#"]
    assert all(len(row) == 2 for row in rows)
    return dict(rows)


def test_every_call_that_starts_a_program_is_listed() -> None:
    there: set[str] = set()
    for file in (path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py")):
        text = file.read_bytes()
        if any(word in text for word in (b"subprocess", b"os.exec", b"os.spawn", b"os.posix_spawn", b"pty", b"popen")):
            for scope, call, name in calls(text):
                place = f"{file.relative_to(ROOT)}:{scope}"
                assert name.rpartition(".")[2] not in SHELLS, f"{place}: a shell would read the arguments"
                assert not any(each.arg == "shell" for each in call.keywords), f"{place}: no shell"
                there.add(place)
    assert there == listed().keys(), "tests/support/process_calls.txt"
    assert set(listed().values()) == SOURCES


def test_what_is_said_to_be_constant_has_nothing_from_outside() -> None:
    """A constant command is a literal whose names are the interpreter, numbers or constants of the module."""
    for place, source in listed().items():
        if source == "constant":
            path, _, scope = place.rpartition(":")
            for at, call, _ in calls((ROOT / path).read_bytes()):
                if at == scope and call.args and isinstance(call.args[0], ast.List):
                    text = ast.unparse(call.args[0])
                    assert not any(isinstance(each, ast.JoinedStr) for each in ast.walk(call.args[0])), text


def test_planted_calls_are_detected() -> None:
    planted = """
import subprocess as sp, os
from subprocess import Popen as Start
from os import execvp
def a(file): sp.run(["ssh", file])
class B:
    def c(self, file): Start(file)
def d(file): execvp(file, [file])
def e(file): os.system(file)
async def f(file):
    import asyncio
    await asyncio.create_subprocess_exec(file)
"""
    assert [scope for scope, _, _ in calls(planted)] == ["a", "B.c", "d", "e", "f"]
