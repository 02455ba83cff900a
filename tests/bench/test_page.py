# SPDX-License-Identifier: Apache-2.0
"""Commands that stand in blocks of docs/results, each run as it stands there, with what it prints.

Those that serve until they are ended need two terminals. ``OFFRAMP_DATA`` is the folder of graphs that some name.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "results").glob("*.md"))
DATA = Path(os.environ.get("OFFRAMP_DATA", Path(__file__).parents[3] / "shared" / "data"))
pytestmark = pytest.mark.bench
SERVING = ("offramp leo serve", "offramp leo connect")


def commands(text: str) -> list[str]:
    """Lines that begin with ``offramp``, with what follows a backslash, and without comments."""
    joined = re.sub(r"\\\n\s*", "", text)
    lines = re.findall(r"^(?:    )?(offramp [^\n]*)$", joined, re.MULTILINE)
    lines_shown = [line.split("  #")[0].rstrip() for line in lines]
    return [line for line in lines_shown if not line.startswith(SERVING)]


@pytest.mark.parametrize("command", [each for page in PAGES for each in commands(page.read_text(encoding="utf-8"))])
def test_command(command: str, tmp_path: Path) -> None:
    for name in re.findall(r"\w+\.npz", command):
        if not (DATA / name).exists():
            pytest.skip(f"{name} is missing: docs/PERFORMANCE.md says where it is from; set OFFRAMP_DATA to its folder")
        (tmp_path / name).symlink_to(DATA / name)
    for folder in ("p4", "fpga"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    sys.stdout.write(f"\n$ {command}\n{done.stdout}\n")
    assert done.returncode == 0, done.stderr
