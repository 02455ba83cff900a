# SPDX-License-Identifier: Apache-2.0
"""docs/map.md has a row for each of the ten systems, and its paths and commands exist.

Blind to whether a path holds what its column says.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from offramp_cli.app import app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
SYSTEMS = ("SwitchGNN", "Hermod", "LEO", "G3", "DGS", "Sylvie", "TorchGT", "UniTG", "Themis", "DGTP")
PATHS = sorted(set(re.findall(r"`([a-z0-9_]+/[^` ]+)`", PAGE)))
COMMANDS = sorted(set(re.findall(r"`offramp ([^`]+)`", PAGE)))


def test_every_system_has_one_row() -> None:
    table = PAGE.partition("| Concept |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| \[(\w+)\]", table, re.MULTILINE) == list(SYSTEMS)


def test_every_path_exists() -> None:
    assert len(PATHS) > 60
    assert [path for path in PATHS if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.each
def test_every_command_exists(words: str) -> None:
    here = typer.main.get_command(app)
    for word in words.split():
        if word.startswith("-") or not hasattr(here, "get_command"):
            return
        here = here.get_command(None, word)
        assert here is not None, words
