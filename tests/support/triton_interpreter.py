# SPDX-License-Identifier: Apache-2.0
"""Programs under Triton's interpreter, each in a process: a kernel's definition decides whether it is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def interpreted(program: str, *arguments: str) -> str:
    """Output of a program of this folder.

    Raises:
        AssertionError: it failed; with all that it printed.
    """
    done = subprocess.run(
        [sys.executable, Path(__file__).parent / program, *arguments],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
