# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of a design flow; what goes wrong there becomes one line."""

from __future__ import annotations

import os
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

    The time limit is one of processor time: on a busy machine a tool takes longer. One that stands still is ended, too.

    Raises:
        OfframpError: it is not there, took too long, or failed; with its first error.
    """
    words = [str(word) for word in command]
    if not shutil.which(words[0]):
        raise OfframpError(f"{words[0]}: not found on PATH")
    path = folder / log
    with (
        path.open("wb") as written,
        subprocess.Popen(words, cwd=folder, stdout=written, stderr=subprocess.STDOUT) as tool,
    ):
        try:
            ended = _ends(tool, timeout_s)
        finally:
            tool.kill()  # unless it has ended
    if not ended:
        raise OfframpError(f"{words[0]}: not done after {timeout_s:.0f} s: see {path}")
    text = path.read_text("utf-8", "replace")
    if tool.returncode:
        wrong = [line.strip() for line in text.splitlines() if "ERROR" in line or "rror:" in line]
        raise OfframpError(f"{words[0]} failed: {wrong[0] if wrong else f'see {path}'}")
    return text


def _ends(tool: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Wait for a tool as long as it uses its processor time; whether it ended."""
    used_s, left_s = 0.0, timeout_s
    while True:
        try:
            tool.wait(left_s)
        except subprocess.TimeoutExpired:
            before_s, used_s = used_s, _processor_s(tool.pid)
            left_s = timeout_s - used_s
            if left_s <= 0 or used_s - before_s < timeout_s / 1000:
                return False
        else:
            return True


def _processor_s(pid: int) -> float:
    """Processor time of a process and of its children that have ended, in seconds (proc(5), fields 14 to 17)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    except OSError:
        return float("inf")
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def wasm_tool(package: str, entry: str) -> list[str]:
    """The command of a YoWASP package, run by this Python.

    Raises:
        OfframpError: it is not installed.
    """
    if find_spec(package) is None:
        raise OfframpError(f"{entry} {needs(package)}")
    return [sys.executable, "-c", f"import sys, {package} as tool; sys.exit(tool.{entry}(sys.argv[1:]))"]
