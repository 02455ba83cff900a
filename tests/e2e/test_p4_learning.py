# SPDX-License-Identifier: Apache-2.0
"""The examples and solutions of nsg-ethz/p4-learning, unchanged: every program loads, every file of commands is taken.

``OFFRAMP_P4_LEARNING`` names a checkout; nothing is fetched. Blind spot: ``p4run``, which needs Mininet and p4-utils.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from offramp_base import OfframpError
from offramp_p4.frontend import load
from offramp_p4_tools.dropin.thrift.client import ThriftClient
from thrift_switch import answers, serving

CHECKOUT = Path(os.environ["OFFRAMP_P4_LEARNING"]).absolute() if os.environ.get("OFFRAMP_P4_LEARNING") else None
PAGE = Path(__file__).parents[2] / "docs/bmv2.md"
PATCHED = "multi_queueing.p4"
"""Needs a bmv2 and a v1model.p4 that its authors have changed."""

pytestmark = [
    pytest.mark.p4, pytest.mark.slow, pytest.mark.skipif(CHECKOUT is None, reason="OFFRAMP_P4_LEARNING unset")
]  # fmt: skip


def complete(path: Path) -> bool:
    """Whether a file is of an example or a solution, rather than of an exercise that somebody is to solve."""
    assert CHECKOUT is not None
    parts = path.relative_to(CHECKOUT).parts
    return "examples" in parts[:1] or "solution" in parts


def programs() -> list[Path]:
    """The entry programs of examples and solutions."""
    sources = [] if CHECKOUT is None else sorted(CHECKOUT.rglob("*.p4"))
    return [p for p in sources if complete(p) and re.search(r"\bmain\s*;", p.read_text(errors="replace"))]


def commands() -> list[tuple[Path, list[Path]]]:
    """Programs, and the files of commands of the switches that run them."""
    pairs: dict[Path, list[Path]] = {}
    for app in [] if CHECKOUT is None else sorted(CHECKOUT.rglob("p4app*.json")):
        description = json.loads(app.read_text())
        if not complete(app) or "switches" not in description.get("topology", {}):
            continue
        for switch in description["topology"]["switches"].values():
            source = app.parent / switch.get("p4_src", description.get("p4_src", ""))
            given = app.parent / switch.get("cli_input", "")
            if source.is_file() and given.is_file() and given not in pairs.setdefault(source, []):
                pairs[source].append(given)
    return [(source, files) for source, files in pairs.items() if files and source.name != PATCHED]


def test_every_program_loads_and_the_page_counts_them() -> None:
    refused: dict[str, str] = {}
    for path in programs():
        try:
            load(path)
        except OfframpError as error:
            refused[path.name] = str(error)
    assert set(refused) == {PATCHED}, refused
    files = sum(len(files) for _, files in commands())
    text = f"{len(programs()) - 1} of its {len(programs())} complete programs load, and all {files} files of commands"
    assert text in " ".join(PAGE.read_text().split())


@pytest.mark.parametrize(
    ("source", "files"), commands(), ids=lambda value: value.name if isinstance(value, Path) else ""
)
def test_commands_are_taken(source: Path, files: list[Path]) -> None:
    for file in files:
        lines = [line for line in file.read_text().splitlines() if line.strip() and line[:2] != "//"]
        with serving(source) as server, ThriftClient("127.0.0.1", server.port) as client:
            said = answers(client, *lines)
        wrong = [text for text in said if re.search(r"Error|Invalid|Unknown", text)]
        assert not wrong, f"{file}: {wrong}"
