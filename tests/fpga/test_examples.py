# SPDX-License-Identifier: Apache-2.0
"""Benches that pages and help name with ``-k`` exist; that they pass is for their own tests."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "cli/offramp_cli/fpga/test.py"]


def test_there_are_such_benches() -> None:
    words = {word for each in PLACES for word in re.findall(r"fpga test -k (\w+)", each.read_text())}
    assert words
    for word in words:
        command = [sys.executable, "-m", "pytest", "tests/fpga", "--collect-only", "-q", "-k", word]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"-k {word}\n{done.stdout}"
