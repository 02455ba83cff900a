# SPDX-License-Identifier: Apache-2.0
"""Every source file names its licence in its first lines; REUSE.toml covers documents, data and golden files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# REUSE-IgnoreStart
LINE = "SPDX-License-Identifier: Apache-2.0"
# REUSE-IgnoreEnd
SOURCES = {".py", ".sh", ".tcl", ".cmake", ".cpp", ".hpp", ".h", ".sv", ".v", ".svh", ".rdl", ".p4", ".css"}
NAMES = {"Makefile", "CMakeLists.txt"}
# Programs whose faults tests name by line, with the messages beside them.
GOLDEN = ("tests/p4/errors/", "tests/p4/lint/", "tests/p4/stf/", "tests/p4/trace/")


def sources() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a checkout")
    names = [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]
    return [n for n in names if (Path(n).suffix in SOURCES or Path(n).name in NAMES) and not n.startswith(GOLDEN)]


def test_every_source_file_names_its_licence() -> None:
    names = sources()
    assert len(names) > 1500
    assert [name for name in names if LINE not in "\n".join((ROOT / name).read_text("utf-8").split("\n")[:5])] == []
