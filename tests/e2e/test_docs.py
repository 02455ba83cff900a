# SPDX-License-Identifier: Apache-2.0
"""The commands in the documentation work: every ``$`` line of a ``console`` block and every ``python`` block is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language: str) -> list[tuple[str, str]]:
    fence = re.compile(rf"^```{language}\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return [(page.name, body) for page in PAGES for body in fence.findall(page.read_text(encoding="utf-8"))]


COMMANDS = [(page, line[2:]) for page, body in blocks("console") for line in body.splitlines() if line.startswith("$ ")]


def test_there_is_something_to_run() -> None:
    assert len(COMMANDS) >= 4
    assert blocks("python")


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=[f"{p}: {c[:50]}" for p, c in COMMANDS])
def test_commands_run(page: str, command: str, tmp_path: Path, warm_folder: Path) -> None:
    (tmp_path / "p4").symlink_to(ROOT / "p4")
    path = os.pathsep.join([str(warm_folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command,
        shell=True,
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("page", "code"), blocks("python"), ids=lambda v: v if v.endswith(".md") else "")
def test_python_runs(page: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "p4").symlink_to(ROOT / "p4")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
