# SPDX-License-Identifier: Apache-2.0
"""The commit of the running code."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def commit() -> str:
    """The commit that a wheel was built from or that a checkout is at; empty if unknown."""
    import subprocess

    folder = Path(__file__).parent
    with suppress(OSError, subprocess.CalledProcessError):
        if (folder / "commit.txt").exists():
            return (folder / "commit.txt").read_text().strip()
        if (folder.parents[1] / ".git").exists():
            command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return ""
