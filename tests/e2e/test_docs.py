# SPDX-License-Identifier: Apache-2.0
"""The commands in the documentation work: every ``$`` line of a ``console`` block and every ``python`` block is run.

The README's program runs beside a switch, as ranks. ``tests/e2e/test_recipes.py`` runs the recipes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from offramp import p4_text
from offramp.allreduce import with_session
from offramp_p4 import EmbeddedSwitch

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
MOST_WORDS = 700


def blocks(language: str) -> list[tuple[str, str]]:
    return [(page.name, body) for page in PAGES for body in _fenced(page, language)]


def _fenced(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


COMMANDS = [(page, line[2:]) for page, body in blocks("console") for line in body.splitlines() if line.startswith("$ ")]


def test_there_is_something_to_run() -> None:
    assert len(COMMANDS) >= 4
    assert blocks("python")


def in_tier(page: str, command: str) -> Any:
    """The command as a case; those that last longest run by ``make test-slow``, as their items have tests elsewhere."""
    lasting = re.search(r"offramp (reproduce \w+/|leo run)", command)
    marks = [pytest.mark.slow] if lasting and page != README.name else []
    return pytest.param(page, command, id=f"{page}: {command[:50]}", marks=marks)


@pytest.mark.parametrize(("page", "command"), [in_tier(page, command) for page, command in COMMANDS])
def test_commands_run(page: str, command: str, tmp_path: Path, warm_folder: Path) -> None:
    (tmp_path / "p4").symlink_to(ROOT / "p4")
    (tmp_path / "out").mkdir()
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
    assert {each.name for each in tmp_path.iterdir()} == {"p4", "out"}, "files outside of out: the checkout gets dirty"


PROGRAMS = [(page, code) for page, code in blocks("python") if page != README.name]


@pytest.mark.parametrize(("page", "code"), PROGRAMS, ids=lambda v: v if v.endswith(".md") else "")
def test_python_runs(page: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "p4").symlink_to(ROOT / "p4")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").split()) <= MOST_WORDS


def test_the_readme_s_program_prints_what_it_shows(tmp_path: Path) -> None:
    """Two ranks beside a switch, as the recipe for sums starts it."""
    pytest.importorskip("torch")
    (program,), (expected,) = _fenced(README, "python"), _fenced(README, "text")
    (tmp_path / "program.py").write_text(program)
    network = tmp_path / "network.yaml"
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "program.py"]
    with EmbeddedSwitch(None, [1, 2]) as switch:
        text = p4_text("allreduce/v1model.p4", {"SEGMENTS": 32})
        with_session(switch.address, lambda session: session.push(b"", text.encode()), timeout_s=30)
        link = f"{switch.port_specs[0].removesuffix('1')}{{port}}"
        network.write_text(f"offloads: [allreduce]\nlink: {link!r}\ncontrol: {switch.address!r}\nports: [1, 2]\n")
        done = subprocess.run(
            launch, cwd=tmp_path, env={**os.environ, "OFFRAMP_NETWORK": str(network)},
            capture_output=True, text=True, timeout=220, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected


OUTPUTS = re.compile(
    r"(?:^|\s)(?:--(?:json|report|out|plot|save|calibrate|checkpoint|tensorboard|rows|output|coverage|pcap|trace|log-file)"
    r"|-o|>{1,2})[ =]([^\s;&|]+)"
)
INSIDE = ("$ mkdir -p out && cd out && ", "cd out && ")
OUTSIDE = ("out/", "/", "-", "~", "$", "&")
"""Where a command may write: the folder that git ignores, elsewhere on the machine, or standard output."""


def test_walking_through_the_pages_leaves_the_checkout_clean() -> None:
    """Whatever a page tells a reader to write lies under ``out``."""
    fault = []
    for page in PAGES:
        for language in ("console", "sh", "bash"):
            for body in _fenced(page, language):
                for line in re.sub(r"<<'END'\n.*?^END$", "", body, flags=re.MULTILINE | re.DOTALL).splitlines():
                    outputs = OUTPUTS.findall(line.partition("  #")[0])
                    fault += [
                        (page.name, each)
                        for each in outputs
                        if not (line.startswith(INSIDE) or each.startswith(OUTSIDE))
                    ]
    assert fault == []


def test_what_tests_do_not_run_is_no_matter_of_the_reader() -> None:
    """A comment of the page says it, below the block or above; the block is for copying."""
    shown = [
        (page.name, line)
        for page in PAGES
        for line in re.sub(r"<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL).splitlines()
        if re.search("not run by tests", line, re.IGNORECASE)
    ]
    assert shown == []
