# SPDX-License-Identifier: Apache-2.0
"""A class name of the product has one meaning. Blind spot: classes inside classes and functions."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("base", "switch", "host", "sim", "cli")


def test_no_two_classes_have_one_name() -> None:
    places = defaultdict(list)
    for file in (path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py")):
        for node in ast.parse(file.read_bytes()).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(file.relative_to(ROOT)))
    assert not {name: files for name, files in places.items() if len(files) > 1}
