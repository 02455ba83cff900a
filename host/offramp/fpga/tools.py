# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of a design flow; what goes wrong there becomes one line."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from offramp_base.errors import OfframpError
from offramp_base.extras import needs


def run_tool(command: Sequence[str | Path], folder: Path, log: str, timeout_s: float = 3600) -> str:
    """Run a tool in a folder; its output, standard error included, which the file ``log`` holds as it comes.

    Raises:
        OfframpError: it is not there, took too long, or failed; with its first error.
    """
    words = [str(word) for word in command]
    if not shutil.which(words[0]):
        raise OfframpError(f"{words[0]}: not found on PATH")
    path = folder / log
    try:
        with path.open("wb") as written:
            done = subprocess.run(
                words, cwd=folder, stdout=written, stderr=subprocess.STDOUT, timeout=timeout_s, check=False
            )
    except subprocess.TimeoutExpired:
        raise OfframpError(f"{words[0]}: not done after {timeout_s:.0f} s: see {path}") from None
    text = path.read_text("utf-8", "replace")
    if done.returncode:
        wrong = [line.strip() for line in text.splitlines() if "ERROR" in line or "rror:" in line]
        raise OfframpError(f"{words[0]} failed: {wrong[0] if wrong else f'see {path}'}")
    return text


def wasm_tool(package: str, entry: str) -> list[str]:
    """The command of a YoWASP package, run by this Python.

    Raises:
        OfframpError: it is not installed.
    """
    if find_spec(package) is None:
        raise OfframpError(f"{entry} {needs(package)}")
    return [sys.executable, "-c", f"import sys, {package} as tool; sys.exit(tool.{entry}(sys.argv[1:]))"]
