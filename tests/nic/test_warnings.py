# SPDX-License-Identifier: Apache-2.0
"""Warnings are errors in a checkout alone: those of a compiler newer than ours must not stop an installation."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SMARTNIC = Path(__file__).parents[2] / "smartnic"
PROJECTS = sorted(path.parent.relative_to(SMARTNIC) for path in SMARTNIC.rglob("CMakeLists.txt"))


@pytest.mark.parametrize("project", PROJECTS, ids=str)
def test_the_rule_is_in_every_project(project: Path) -> None:
    text = (SMARTNIC / project / "CMakeLists.txt").read_text()
    assert "-Werror" not in text
    above = "../" * len((project / "smartnic").parts)
    assert f"if(EXISTS ${{CMAKE_CURRENT_SOURCE_DIR}}/{above}pyproject.toml)\n  set(CMAKE_COMPILE_WARNING_AS" in text


@pytest.mark.parametrize("checkout", [True, False])
def test_commands_of_the_compiler(tmp_path: Path, checkout: bool) -> None:
    """Warnings of the store, which needs no other library."""
    if lacking := [tool for tool in ("cmake", "ninja", "g++") if shutil.which(tool) is None]:
        pytest.skip(f"needs {', '.join(lacking)}")
    source = tmp_path / "smartnic" / "store"
    shutil.copytree(SMARTNIC / "store", source)
    if checkout:
        (tmp_path / "pyproject.toml").touch()
    command = ["cmake", "-G", "Ninja", "-S", source, "-B", tmp_path / "build", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    subprocess.run(command, check=True, capture_output=True)
    assert ("-Werror" in (tmp_path / "build/compile_commands.json").read_text()) == checkout
