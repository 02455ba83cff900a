# SPDX-License-Identifier: Apache-2.0
"""Machine code that is kept between processes: found again without translation, made anew when a source changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

pytest.importorskip("llvmlite")

_LAYOUT = "STEP = {step}\n"
_KERNEL = """
from offramp_base.native.subset import native
from {package}.layout import STEP


@native
def ahead(number: int) -> int:
    return number + STEP
"""
_ASK = """
from {package}.kernel import ahead
from offramp_base.native.library import compiled, machine_code
print(machine_code((ahead,)).cached, compiled(ahead)(1))
"""


@pytest.mark.parametrize("package", ["offramp_mine", "mine"])
def test_kept_code_follows_its_sources(package: str, tmp_path: Path) -> None:
    """The constant is not in the file of the function; packages of others are translated each time, and right too."""
    folder = tmp_path / package
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "kernel.py").write_text(_KERNEL.format(package=package))
    compiled = []
    for step in (2, 2, 30):
        if not compiled or step == 30:
            (folder / "layout.py").write_text(_LAYOUT.format(step=step))
        environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
        environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *sys.path])
        command = [sys.executable, "-B", "-c", _ASK.format(package=package)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        compiled.append(done.stdout.split())
    assert compiled == [["False", "3"], ["True", "3"], ["False", "31"]]
