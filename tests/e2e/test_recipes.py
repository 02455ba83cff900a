# SPDX-License-Identifier: Apache-2.0
"""The recipes of docs/recipes, run as a reader would: a page's shell blocks in order, in one shell that ends on errors.

Every line of a page's ``text`` blocks must appear in the output. The shell's folder has the checkout's ``p4`` and
``examples`` and nothing else, so that a page that writes outside ``out`` is noticed. What they do not see: interfaces
and other machines, which the pages only describe.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from namespaces import require
from offramp_base.tools import default_folder
from offramp_cli.switch.shell import REQUIREMENT

ROOT = Path(__file__).parents[2]
PAGES = {path.stem: path for path in sorted((ROOT / "docs/recipes").glob("*.md"))}
CHECKOUT = ("p4", "examples")
PYTEST_KEEPS = {".pytest_cache", ".benchmarks"}
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def run(page: str, folder: Path, *before: str, path: Path | None = None) -> str:
    """The output of a page's commands, whose text it has been compared with; ``before`` is put before the shell."""
    for name in CHECKOUT:
        (folder / name).symlink_to(ROOT / name)
    script = folder / "page.sh"
    script.write_text("set -e\n" + "\n".join(blocks(PAGES[page], "sh")))
    places = [*([str(path)] if path else []), str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(places)}
    done = subprocess.run(
        [*before, "bash", script.name],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=550, check=False,
    )  # fmt: skip
    logs = "".join(f"--- {log}\n{log.read_text()}" for log in sorted(folder.glob("out/*/switch.log")))
    assert done.returncode == 0, done.stdout + done.stderr + logs
    output = ESCAPE.sub("", done.stdout)  # the shell's, for the terminal
    expected = [line for block in blocks(PAGES[page], "text") for line in block.splitlines()]
    assert [line for line in expected if line not in output.splitlines()] == [], output + done.stderr
    assert {each.name for each in folder.iterdir()} - PYTEST_KEEPS == {*CHECKOUT, "page.sh", "out"}
    return output


def test_every_recipe_has_a_test() -> None:
    assert set(PAGES) == {"sums", "gnn", "p4", "bmv2"}
    assert all(blocks(page, "sh") and blocks(page, "text") for page in PAGES.values())


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_sums_of_a_ddp_program(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    run("sums", tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_pyg_model(tmp_path: Path) -> None:
    pytest.importorskip("torch_geometric")
    run("gnn", tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_p4_program(tmp_path: Path) -> None:
    """Slow, and skips without a package registry: the first time, p4runtime-shell is installed."""
    pytest.importorskip("scapy")
    if not (default_folder("p4runtime-shell") / "offramp-requirement").exists():
        asked = tmp_path.with_name(f"{tmp_path.name}-asked")
        words = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(asked), REQUIREMENT]
        if subprocess.run(words, capture_output=True, check=False, timeout=200).returncode:
            pytest.skip("p4runtime-shell is not installed, and no package registry answers")
    assert "Steer.leave_by" in run("p4", tmp_path)


@pytest.mark.slow
@pytest.mark.netns
@pytest.mark.timeout(600)
@pytest.mark.parametrize("which", [pytest.param("bmv2", marks=pytest.mark.bmv2), "shim"])
def test_bmv2(which: str, tmp_path: Path) -> None:
    """In a network of its own: the real one where it is on PATH, and our switch under its name."""
    pytest.importorskip("torch")
    require()
    launchers = None
    if which == "shim":
        launchers = tmp_path.with_name(f"{tmp_path.name}-bin")
        command = [sys.executable, "-m", "offramp", "switch", "shims", str(launchers)]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    elif not shutil.which("simple_switch_grpc"):
        pytest.skip("simple_switch_grpc (bmv2) is not on PATH")
    run("bmv2", tmp_path, "unshare", "--net", path=launchers)
