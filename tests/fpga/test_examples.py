# SPDX-License-Identifier: Apache-2.0
"""Benches that pages and help name with ``-k`` or ``K=`` exist; that they pass is for their own tests."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "cli/offramp_cli/fpga/test.py"]


def fault(folder: str, word: str) -> str:
    """What pytest says where no quick test has the word in its name."""
    command = [sys.executable, "-m", "pytest", folder, "--collect-only", "-q", "-m", "not slow", "-k", word]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return f"-k {word}\n{done.stdout}" if done.returncode else ""


def test_there_are_such_benches() -> None:
    words = {word for each in PLACES for word in re.findall(r"fpga test -k (\w+)", each.read_text())}
    assert words
    assert not "".join(fault("tests/fpga", word) for word in words)


def test_there_are_such_benches_in_the_folder_of_the_how_to() -> None:
    page = (ROOT / "docs/how-to/cocotb.md").read_text()
    (folder,) = re.findall(r"^cd (tests/fpga/\w+)$", page, re.MULTILINE)
    words = re.findall(r"\bK=(\w+)", page)
    assert words
    assert not "".join(fault(folder, word) for word in words)
    assert fault(folder, "no_such_bench")
