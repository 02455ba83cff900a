# SPDX-License-Identifier: Apache-2.0
"""The test of the tester: sinks that are planted, of each kind, are found within a thousand hostile texts."""

from __future__ import annotations

import io
import os
import random
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, suppress
from pathlib import Path

import pytest
from rich.console import Console

import hostile_texts
import hostile_writers
from fuzzing import mutate
from fuzzing.target import FOLDER, load
from hostile_sinks import (
    HostileAction,
    Watch,
    check_command,
    check_line,
    check_metrics,
    check_page,
    check_script,
    check_shown,
)
from offramp_base import documents
from offramp_base.arguments import host_name
from offramp_base.errors import OfframpError
from offramp_base.settings import source

CASES = 1000


def _printed(text: str) -> str:
    output = io.StringIO()
    Console(file=output, markup=False).print(text)
    return output.getvalue()


@pytest.fixture(scope="module")
def watch() -> Watch:
    return Watch()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "in").mkdir()
    with chdir(tmp_path / "in"):
        yield tmp_path / "in"


SINKS: dict[str, Callable[[str], object]] = {
    "ssh without --": lambda text: subprocess.run(["ssh", text, "ip link"], check=False),
    "ssh with an unquoted command": lambda text: check_command(["ssh", "--", "h", f"ip link show {text}"]),
    "a program of the file": lambda text: subprocess.run([text], check=False),
    "srun's option": lambda text: subprocess.run(["srun", text], check=False),
    "a shell": os.system,
    "a file of the file's name": lambda text: Path(text).write_text("x"),
    "a folder": lambda text: Path(text).mkdir(),
    "a link's name": lambda text: Path(text).symlink_to("x"),
    "a removal": lambda text: Path(f"x/../{text}").unlink(),
    "code": lambda text: exec(f"x = {text!r}"),
    "a page's text": lambda text: check_page(f"<html><body>{text}</body></html>"),
    "a page's attribute": lambda text: check_page(f'<body><a title="{text}">x</a>'),
    "a page's script": lambda text: check_page(f"<script>const x = '{text}';</script>"),
    "a script without an end": lambda text: check_page(f"<script>const x = '{text}'"),
    "a link": lambda text: check_page(f'<a href="{text.replace(chr(34), "")}">x</a>'),
    "metrics": lambda text: check_metrics(f'offramp_x{{a="{text}"}} 1\n'),
    "a batch of tc": lambda text: check_line(f"qdisc show dev {text}"),
    "a shell script": lambda text: check_script(f"#!/bin/sh\n# on {text}\nexec x ${{A:-{text}}}\n"),
    "a look-up": lambda text: socket.getaddrinfo(text, 1),
    "a terminal": lambda text: check_shown(_printed(text)),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", SINKS)
def test_planted_sinks_are_found(name: str, watch: Watch) -> None:
    texts = (hostile_texts.text(random.Random(case), "x") for case in range(CASES))
    for text in ("x", *texts):  # tags of a page that has passed are not looked at again
        with suppress(OSError, ValueError, SyntaxError, AssertionError):
            try:
                with watch.watching():
                    SINKS[name](text)
            except HostileAction:
                if text != "x":  # some do what no file may bring about
                    return
    pytest.fail("nothing was found")


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.usefixtures("folder")
def test_documents_without_hostile_texts_reach_every_sink(monkeypatch: pytest.MonkeyPatch) -> None:
    target = load(FOLDER / "target_hostile_texts.py")
    parts: dict[str, Callable[[random.Random], None]] = sys.modules[target.run.__module__].HERE
    monkeypatch.setattr(mutate, "WORDS", mutate.WORDS)
    for module in (documents, source):
        monkeypatch.setattr(module, "BoundedLoader", documents.BoundedLoader)
    target.prepare()
    monkeypatch.setattr(hostile_texts, "in_tree", lambda _, tree: tree)
    monkeypatch.setattr(hostile_texts, "in_text", lambda _, whole: whole)
    monkeypatch.setattr(hostile_texts, "text", lambda _, around="x": around or "x")
    for part in parts.values():  # a document that is refused shows nothing of what a hostile one would do
        part(random.Random(1))


def test_commands_by_the_types_are_not_findings(watch: Watch) -> None:
    begun = watch.started
    for case in range(CASES):
        with suppress(ValueError):
            where = host_name(hostile_texts.text(random.Random(case), "x"))
            with watch.watching(), suppress(OSError):
                subprocess.run(["ssh", "-o", "BatchMode=yes", "--", where, "ip link"], check=False)
    with watch.watching(), suppress(OSError):
        subprocess.run(["ssh", "-o", "BatchMode=yes", "--", "h", "ip link"], check=False)
    assert watch.started > begun


def test_a_name_in_msccl_has_no_control_characters() -> None:
    assert hostile_writers.parse(hostile_writers._PROGRAM).name == "pair"
    with pytest.raises(OfframpError, match="algo: name: expected a text without control characters"):
        hostile_writers.parse(hostile_writers._PROGRAM.replace("pair", "&#155;31m"))
