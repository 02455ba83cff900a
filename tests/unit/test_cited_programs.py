# SPDX-License-Identifier: Apache-2.0
"""What pages cite is there and runs: support programs for a few seconds, targets of make, tests and fuzzers by path.

Blind spot: the real sizes of soaks and campaigns, which TESTING.md names, and whether their figures still hold.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "tests" / "support"
PAGES = sorted(
    path
    for folder in ("docs", "examples", "fpga", "host", "sim", "smartnic", "switch", "tests")
    for path in (ROOT / folder).rglob("*.md")
    if not {"node_modules", ".venv"} & set(path.parts)
) + [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile")]
PATHS = re.compile(r"(?<![\w/])tests/[\w/.-]+\b")
MODULES = re.compile(r"python -m ((?:support\.)?[a-z_]+)")
TARGETS = re.compile(r"(?:`|^|\$ )make ([a-z]+(?:-[a-z]+)*)\b", re.MULTILINE)
ELSEWHERE = {"pip", "venv", "pytest", "mkdocs", "http", "torch", "build"}
"""Modules that are not ours to run."""


def listed() -> dict[str, tuple[str, str]]:
    """Programs, with ``run`` or ``slow`` and arguments, or ``by`` and a file."""
    rows = [line.split(maxsplit=2) for line in (SUPPORT / "programs.txt").read_text("utf-8").splitlines()]
    return {row[0]: (row[1], row[2] if len(row) > 2 else "") for row in rows if row and row[0] != "#"}


NEEDED = {"store_model": "redis-server"}
"""Commands that a program needs."""
SMALL = {name: what for name, (how, what) in listed().items() if how != "by"}
SLOW = {name for name, (how, _) in listed().items() if how == "slow"}


def test_every_program_of_the_support_folder_is_listed() -> None:
    main = re.compile(r'^if __name__ == "__main__":', re.MULTILINE)
    modules = {path.stem for path in SUPPORT.glob("*.py") if main.search(path.read_text("utf-8"))}
    packages = {path.parent.name for path in SUPPORT.glob("*/__main__.py")}
    assert modules | packages == listed().keys(), "tests/support/programs.txt"


def test_files_that_run_programs_name_them() -> None:
    for name, (how, file) in listed().items():
        assert how in ("run", "slow", "by"), name
        if how == "by":
            assert re.search(rf"\b{name}\b", (ROOT / file).read_text("utf-8")), f"{file} does not name {name}"


def test_what_pages_cite_is_there() -> None:
    for page in PAGES:
        _check(page)


def _check(page: Path) -> None:
    text = page.read_text("utf-8")
    for path in PATHS.findall(text):
        if "NAME" in path:
            continue
        assert (ROOT / path.rstrip(".")).exists() or list(ROOT.glob(f"{path}*")), f"no {path}"
        program = Path(path)
        if program.parent == Path("tests/support") and program.suffix == ".py":
            source = (ROOT / program).read_text("utf-8")
            assert program.stem in listed() or "__main__" not in source, f"{path}: not in programs.txt"
    for module in MODULES.findall(text):
        name = module.removeprefix("support.")
        if name.split(".")[0] not in ELSEWHERE and not name.startswith("offramp"):
            assert name in listed(), f"python -m {module}: not in tests/support/programs.txt"
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(TARGETS.findall(text)) <= targets | {"sure"}


@pytest.mark.full
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in SMALL])
def test_a_program_runs(name: str) -> None:
    if name in NEEDED and shutil.which(NEEDED[name]) is None:
        pytest.skip(f"{NEEDED[name]} is not on PATH")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    folders = [ROOT / each for each in ("base", "switch", "host", "sim", "cli", "tests/support", "tests")]
    environment |= {
        "PYTHONPATH": ":".join(map(str, folders)),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    path = SUPPORT / f"{name}.py"
    words = [sys.executable, *([str(path)] if path.exists() else ["-m", name]), *SMALL[name].split()]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"{done.stdout[-1000:]}\n{done.stderr[-2000:]}"
    assert "Traceback" not in done.stderr
