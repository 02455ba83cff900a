# SPDX-License-Identifier: Apache-2.0
"""Commands in blocks that no test runs (they need root, hardware or hours) exist, with the options that they show.

Blind to values of options and to arguments; ``tests/e2e/test_docs.py`` runs what can be run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from offramp_cli.app import app

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^ *```(?:console|sh|bash|)\n(.*?)^ *```|((?:^ {4,}(?! *[-*`]).*\n)+)", re.MULTILINE | re.DOTALL)


def commands(text: str) -> Iterator[str]:
    """Commands of ``offramp`` in the blocks of a page, without what stands before them and comments."""
    for fenced, indented in BLOCK.findall(text):
        for line in re.sub(r"\\\n\s*", " ", fenced or indented).splitlines():
            for part in re.split(r"&&|[|;&]", re.sub(r"(^|\s)#.*", "", line)):
                if match := re.search(r"(?:^|\s)offramp ((?!import )[a-z].*)$", part):
                    yield match[1].strip()


def fault(command: str) -> str:
    """The part of a command that does not exist; empty if all of it does."""
    words, here = shlex.split(command), typer.main.get_command(app)
    while words and hasattr(here, "list_commands"):
        below = here.get_command(None, words[0])
        if below is None:
            break
        here, words = below, words[1:]
    group = hasattr(here, "list_commands") and getattr(here, "declaration", None) is None
    if group and not (words and words[0].startswith("--")):
        return f"no such command: {command}"
    known: set[str] = {"--help", *(name for each in here.params for name in (*each.opts, *each.secondary_opts))}
    options: list[str] = [word.partition("=")[0] for word in words if word.startswith("--")]
    others = [] if here.context_settings.get("ignore_unknown_options") else sorted({*options} - known)
    return f"no such option: {', '.join(others)}: {command}" if others else ""


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_commands_and_their_options_exist(page: Path) -> None:
    assert [said for each in commands(page.read_text(encoding="utf-8")) if (said := fault(each))] == []


def test_faults_are_found() -> None:
    text = "```sh\nX=1 offramp plan karate --workrs 2   # --what\nofframp lap up x.yaml && offramp --version\n```\n"
    commands_read = list(commands(text))
    assert commands_read == ["plan karate --workrs 2", "lap up x.yaml"]
    assert fault(commands_read[0]) == "no such option: --workrs: plan karate --workrs 2"
    assert fault(commands_read[1]).startswith("no such command: lap")
    assert list(commands("- item\n\n      offramp fpga test \\\n        --folder reduce\n")) == [
        "fpga test  --folder reduce"
    ]


def test_there_are_commands() -> None:
    assert sum(1 for page in PAGES for _ in commands(page.read_text(encoding="utf-8"))) > 150
