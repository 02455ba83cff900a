# SPDX-License-Identifier: Apache-2.0
"""Every cache is listed with its guard in tests/support/caches.txt, and refuses a folder that others may write.

Blind spot: files that users name, such as checkpoints; nothing in them is unpickled or executed.
"""

from __future__ import annotations

import ast
import inspect
import os
from pathlib import Path

import pytest

from offramp.workers.processes import _keep_compiled
from offramp_base.errors import OfframpError
from offramp_sim.rtl import build as rtl

ROOT = Path(__file__).parents[2]
KEEPS = {"user_cache", "user_folder", "KeptFiles", "gettempdir"}
GUARDS = {"KeptFiles", "make_private", "make_cache", "check_owned", "_is_own"}
THEMSELVES = ("base/offramp_base/private_folder.py", "base/offramp_base/kept_files.py")
TEMPORARY = {
    "base/offramp_base/ending/children.py",
    "base/offramp_base/ending/left.py",
}
"""Modules that make temporary folders, which nobody reads back."""


def names_of(path: Path) -> set[str]:
    """Names of the functions and classes that a module calls."""
    calls = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    calls = [call.value if isinstance(call, ast.Subscript) else call for call in calls]
    return {call.id if isinstance(call, ast.Name) else getattr(call, "attr", "") for call in calls}


def inherited(path: Path) -> set[str]:
    classes = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ClassDef)]
    return {base.id for each in classes for base in each.bases if isinstance(base, ast.Name)}


def listed() -> dict[str, str]:
    rows = (ROOT / "tests/support/caches.txt").read_text("utf-8").splitlines()
    return {row.split()[0]: row.split()[1] for row in rows if row and not row.startswith("#")}


def test_every_module_that_keeps_files_is_listed_with_its_guard() -> None:
    keeping: dict[str, set[str]] = {}
    for path in (path for folder in ("base", "switch", "host", "sim", "cli") for path in (ROOT / folder).rglob("*.py")):
        name, source = str(path.relative_to(ROOT)), path.read_text("utf-8")
        if name in THEMSELVES or not any(word in source for word in KEEPS):
            continue
        names = names_of(path) | inherited(path)
        if names & KEEPS and name not in TEMPORARY:
            keeping[name] = names
    assert keeping.keys() == listed().keys(), "tests/support/caches.txt"
    assert {name: guard for name, guard in listed().items() if guard not in keeping[name] & GUARDS} == {}


def test_a_simulator_in_a_folder_of_others_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("OFFRAMP_RTL_CACHE", str(shared))
    monkeypatch.setattr(rtl, "missing", lambda _: "")
    monkeypatch.setattr(rtl, "_digest", lambda *_: "0")  # of versions, too, that need not be there
    monkeypatch.setattr(rtl.Design, "sources", lambda _: ([], []))
    required = [name for name, each in inspect.signature(rtl.Design).parameters.items() if each.default is each.empty]
    with pytest.raises(OfframpError, match=f"other users may write {shared}"):
        rtl.build(rtl.Design(**dict.fromkeys(required, "x")), "icarus")


def test_pytorch_keeps_no_compiled_code_where_others_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "offramp" / "inductor"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    _keep_compiled()
    assert "TORCHINDUCTOR_CACHE_DIR" not in os.environ
    folder.chmod(0o700)
    _keep_compiled()
    assert os.environ.pop("TORCHINDUCTOR_CACHE_DIR") == str(folder)
