# SPDX-License-Identifier: Apache-2.0
"""The wheel of this tree, and environments that have it, as somebody without a checkout would make them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def build_wheel(folder: Path) -> Path:
    """The wheel, in a folder."""
    code = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, folder], cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def install(wheel: Path, folder: Path, extra: str = "") -> Path:
    """The folder of the programs of an environment; the test skips where pip's index does not answer.

    Its Python is this one, or that of ``OFFRAMP_WHEEL_PYTHON``.
    """
    python = os.environ.get("OFFRAMP_WHEEL_PYTHON", sys.executable)
    subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    pip = [str(folder / "venv/bin/python"), "-m", "pip", "install", "--quiet", wanted]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"pip cannot install: {done.stderr.strip().splitlines()[-1]}")
    return folder / "venv/bin"
