# SPDX-License-Identifier: Apache-2.0
"""Benches that pages and help name with ``-k`` or ``K=`` exist; that they pass is for their own tests."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "cli/offramp_cli/fpga/test.py"]


def benches(folder: str) -> list[str]:
    """Names of the folder's quick tests with their files', among which pytest's ``-k`` looks for a word."""
    command = [sys.executable, "-m", "pytest", folder, "--collect-only", "-q", "-m", "not slow"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [line.lower() for line in done.stdout.splitlines() if "::" in line]


def unknown(words: set[str], names: list[str]) -> set[str]:
    """Words that are in no name."""
    return {word for word in words if not any(word.lower() in name for name in names)}


def test_benches_that_pages_name_exist() -> None:
    words = {word for each in PLACES for word in re.findall(r"fpga test -k (\w+)", each.read_text())}
    page = (ROOT / "docs/how-to/cocotb.md").read_text()
    (folder,) = re.findall(r"^cd (tests/fpga/\w+)$", page, re.MULTILINE)
    in_the_folder = set(re.findall(r"\bK=(\w+)", page))
    assert words
    assert in_the_folder
    names = benches("tests/fpga")
    assert not unknown(words, names)
    here = [name for name in names if name.startswith(f"{folder}/")]
    assert not unknown(in_the_folder, here)
    assert unknown({"no_such_bench"}, names)
