# SPDX-License-Identifier: Apache-2.0
"""The wheel without extras, installed where there is no checkout: every command works, or one line names what it lacks.

What pip installs comes from its index, so the test skips where none answers. Slow: whole environments, of this Python
or of the one that ``OFFRAMP_WHEEL_PYTHON`` names.
"""

from __future__ import annotations

import os
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from installed_wheel import build_wheel, install
from offramp.nic import missing_tools as nic_lacks
from offramp_cli.tree import OFFRAMP, CommandGroup

ROOT = Path(__file__).parents[2]
LIST = ROOT / "tests/support/core_commands.txt"
LAB = f"wheel-{os.getpid()}"
CASES = [
    line.replace("LAB", LAB).split(maxsplit=1) for line in LIST.read_text().splitlines() if not line.startswith("#")
]


def leaves(group: CommandGroup | str, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(group, str):
        yield words
        return
    if group.itself:
        yield words
    for name, each in group.members.items():
        yield from leaves(each, (*words, name))


def test_the_list_has_every_command() -> None:
    listed = [tuple(line.split()) for _, line in CASES]
    assert [leaf for leaf in leaves(OFFRAMP) if not any(words[: len(leaf)] == leaf for words in listed)] == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("core"))


@pytest.fixture(scope="module")
def offramp(wheel: Path) -> Path:
    """The command without extras."""
    return install(wheel, wheel.parent) / "offramp"


def _run(offramp: Path, line: str, folder: Path) -> tuple[int, list[str]]:
    """The exit code and the lines on standard error; ``--web`` serves until it is ended, which is a 0."""
    apart = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "OFFRAMP_TOKEN_FILE"}}
    try:
        done = subprocess.run(
            [offramp, *line.split()],
            cwd=folder, env=apart, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
            timeout=20 if "--web" in line else 300,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        return (0, []) if "--web" in line else (124, [f"does not end within {error.timeout:.0f} s"])
    return done.returncode, [row for row in done.stderr.splitlines() if not row.startswith(("EAL:", "warning:"))]


def _names(line: str, lacking: str) -> bool:
    """Whether a line names a tool, or says how to install a distribution that an extra asks for."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].get(lacking)
    if asked is None:
        return lacking in line
    advice = canonicalize_name(line.partition("pip install")[2])
    return any(canonicalize_name(Requirement(row).name) in advice for row in asked)


def _furnish(folder: Path) -> None:
    """Files that the list's commands name."""
    for path in [*(ROOT / "p4/examples").iterdir(), *(ROOT / "examples/job").iterdir()]:
        (folder / path.name.replace("reflector.p4", "program.p4").replace("reflector.stf", "test.stf")).write_bytes(
            path.read_bytes()
        )
    (folder / "matrix.csv").write_text("0,10\n9,0\n")
    (folder / "jobs.yaml").write_text("jobs: [{name: a, gpus: 4, iterations: 3, compute: 1ms, all_reduce: 1MB}]\n")
    (folder / "coflows.txt").write_text("3 2\n1 0 1 0 1 2:100\n2 0 2 0 1 1 2:20\n")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_command(offramp: Path, tmp_path: Path) -> None:
    _furnish(tmp_path)
    faults = []
    for expected, line in CASES:
        if line == "nic build" and nic_lacks():
            continue
        code, said = _run(offramp, line, tmp_path)
        good = code == 0 if expected == "ok" else code == 2 and len(said) == 1 and _names(said[0], expected)
        if not good:
            faults.append((expected, line, code, said[-5:]))
    assert faults == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("extra", ["gnn", "gnn,pyg", "web", "lsp", "fpga"])
def test_commands_with_an_extra(wheel: Path, tmp_path: Path, extra: str) -> None:
    """Commands that the core refuses for want of it work with it, or one line names another package or tool."""
    installed = install(wheel, tmp_path, extra) / "offramp"
    _furnish(tmp_path)
    faults = []
    for expected, line in CASES:
        if expected not in ("ok", *extra.split(",")) or line == "nic build":
            continue
        code, said = _run(installed, line, tmp_path)
        named = code == 2 and len(said) == 1 and not _names(said[0], expected)
        if code != 0 and not (expected != "ok" and named):
            faults.append((expected, line, code, said[-5:]))
    assert faults == []


@pytest.mark.slow
def test_the_version_says_its_commit(offramp: Path) -> None:
    apart = {"HOME": os.environ["HOME"]}
    done = subprocess.run([offramp, "--version"], env=apart, capture_output=True, text=True, check=True)
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if commit.returncode:
        pytest.skip("not a checkout")
    assert done.stdout == f"offramp 0.1.0 ({commit.stdout.strip()})\n"
