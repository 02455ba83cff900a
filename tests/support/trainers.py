# SPDX-License-Identifier: Apache-2.0
"""An interpreter with other people's trainers, which need more than this environment has.

The variable ``OFFRAMP_TRAINERS_PYTHON`` names it: ``python -m venv --system-site-packages DIR && DIR/bin/pip install
accelerate transformers lightning 'ray[train]' torchx deepspeed``.
"""

from __future__ import annotations

import os
import subprocess

import pytest

VARIABLE = "OFFRAMP_TRAINERS_PYTHON"


@pytest.fixture
def trainers_python() -> str:
    """The interpreter's path."""
    python = os.environ.get(VARIABLE)
    if not python:
        pytest.skip(f"{VARIABLE} does not name an interpreter with other people's trainers")
    return python


def needs_module(python: str, module: str) -> None:
    """Skip where an interpreter cannot import a module."""
    done = subprocess.run([python, "-c", f"import {module}"], check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{python} cannot import {module}: {done.stderr.strip().splitlines()[-1]}")
