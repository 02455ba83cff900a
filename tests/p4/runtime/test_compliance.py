# SPDX-License-Identifier: Apache-2.0
"""The table of COMPLIANCE.md names tests that exist, and gives a reason for what is not offered."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
PAGE = Path(__file__).with_name("COMPLIANCE.md")


def rows():
    """Section, requirement and what shows it, of each line of the table."""
    table = PAGE.read_text().partition("| Section | Requirement | Shown by |\n|---|---|---|\n")[2]
    lines = [line for line in table.splitlines() if line]
    assert all(re.fullmatch(r"\| [\d.]+ \| .+ \| .+ \|", line) for line in lines)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def functions(path):
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.full
def test_every_row_is_shown_by_tests_that_exist_or_has_a_reason():
    missing = []
    for _, requirement, shown in rows():
        if shown.startswith("not offered: "):
            continue
        names = re.findall(r"`([^`]+)`", shown)
        assert names, requirement
        for name in names:
            file, _, function = name.partition("::")
            path = TESTS / file
            if not path.is_file() or function not in functions(path):
                missing.append(name)
    assert missing == []


def test_sections_are_in_order_and_every_chapter_has_a_row():
    sections = [tuple(map(int, section.split("."))) for section, *_ in rows()]
    assert sections == sorted(sections)
    # Chapters 1, 2, 4, 7, 19 and 22 define terms, concepts and versions.
    assert {section[0] for section in sections} >= {3, 5, 6, 8, 9, *range(10, 19)}
