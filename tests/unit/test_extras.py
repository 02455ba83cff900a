# SPDX-License-Identifier: Apache-2.0
"""The extras that messages and pages tell users to install exist, are quoted for every shell, and bring the package.

What it does not see: names that are put together at run time, other than those of ``offramp_base.extras``.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from offramp_base.extras import EXTRAS, missing_extra

ROOT = Path(__file__).parents[2]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
TEXTS = [
    *(path for folder in ("base", "switch", "host", "sim", "cli") for path in sorted((ROOT / folder).rglob("*.py"))),
    *sorted((ROOT / "docs").rglob("*.md")),
]
DISTRIBUTIONS = {
    "sklearn": "scikit-learn",
    "lsprotocol": "pygls",
    "systemrdl": "systemrdl-compiler",
    "cocotbext": "cocotbext-axi",
    "cocotb_tools": "cocotb",
}
"""Names on the index of packages that are imported by another name, or come along with another package."""


def test_extras_that_are_named_exist() -> None:
    named = {
        (extra, str(path.relative_to(ROOT)))
        for path in TEXTS
        for extras in re.findall(r"offramp\[([a-z,]+)\]", path.read_text("utf-8"))
        for extra in extras.split(",")
    }
    assert len(named) > 10
    assert [(extra, where) for extra, where in sorted(named) if extra not in DECLARED] == []


def test_commands_are_quoted() -> None:
    """A shell such as zsh takes a bare bracket for a pattern."""
    bare = [path for path in TEXTS if re.search(r"pip install (?:offramp|\.)\[", path.read_text("utf-8"))]
    assert bare == []


@pytest.mark.parametrize("package", EXTRAS)
def test_an_extra_brings_its_package(package: str) -> None:
    brought = {canonicalize_name(Requirement(row).name) for row in DECLARED[EXTRAS[package]]}
    assert canonicalize_name(DISTRIBUTIONS.get(package, package)) in brought
    error = missing_extra(ModuleNotFoundError(f"No module named '{package}'", name=f"{package}.part"))
    assert f"pip install 'offramp[{EXTRAS[package]}]'" in str(error)
