# SPDX-License-Identifier: Apache-2.0
"""The exercises of p4lang/tutorials with our launchers, their files unchanged: solutions built, PTF suites run.

``OFFRAMP_TUTORIALS`` names a checkout; nothing is fetched. PTF suites also need ``ptf`` on PATH, iproute2 and root, and
run in network and process namespaces of their own. Blind spot: ``make run``, which needs Mininet and somebody's eyes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(os.environ.get("OFFRAMP_TUTORIALS", "")).absolute() if os.environ.get("OFFRAMP_TUTORIALS") else None
EXERCISES = sorted(p.parent.name for p in CHECKOUT.glob("exercises/*/Makefile")) if CHECKOUT else []
SUITES = sorted(p.parent.name for p in CHECKOUT.glob("exercises/*/runptf.sh")) if CHECKOUT else []
SUDO = '#!/bin/sh\nexec "$@"\n'

pytestmark = [pytest.mark.p4, pytest.mark.slow, pytest.mark.skipif(CHECKOUT is None, reason="OFFRAMP_TUTORIALS unset")]


@pytest.fixture
def tutorials(tmp_path: Path) -> Path:
    """A copy of the checkout, beside the launchers in ``bin``."""
    assert CHECKOUT is not None
    shutil.copytree(CHECKOUT, tmp_path / "tutorials", ignore=shutil.ignore_patterns(".git"))
    words = ["switch", "shims", str(tmp_path / "bin"), "--python", str(tmp_path / "python")]
    subprocess.run([sys.executable, "-m", "offramp", *words], check=True, capture_output=True)
    sudo = tmp_path / "bin/sudo"  # the tests are root already, and the launchers stay on PATH
    sudo.write_text(SUDO)
    sudo.chmod(0o755)
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(folder / "python")}


def test_the_page_counts_the_exercises() -> None:
    page = (Path(__file__).parents[2] / "docs/bmv2.md").read_text()
    assert f"All {len(EXERCISES)} exercises of [p4lang/tutorials]" in page


@pytest.mark.parametrize("name", EXERCISES)
def test_a_solution_builds(name: str, tutorials: Path) -> None:
    folder = tutorials / "tutorials/exercises" / name
    solutions = list((folder / "solution").glob("*.p4"))
    for solution in solutions:
        shutil.copy(solution, folder)
    done = subprocess.run(
        ["make", "build"], cwd=folder, env=environment(tutorials), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    built = {path.stem for path in (folder / "build").glob("*.json")}
    assert {path.stem for path in folder.glob("*.p4")} == built
    assert len(list((folder / "build").glob("*.p4info.txtpb"))) == len(built)


@pytest.mark.parametrize("name", SUITES)
def test_a_ptf_suite_passes(name: str, tutorials: Path) -> None:
    if shutil.which("ptf") is None or shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("needs ptf, ip and root")
    folder = tutorials / "tutorials/exercises" / name
    command = [
        "unshare",
        "--net",
        "--pid",
        "--fork",
        "--mount-proc",
        "sh",
        "-c",
        "ip link set lo up; make dirs && ./runptf.sh",
    ]
    done = subprocess.run(
        command, cwd=folder, env=environment(tutorials), capture_output=True, text=True, check=False, timeout=300
    )
    output = done.stdout + done.stderr
    assert "\nOK" in output, output[-4000:]
    assert "FAILED" not in output, output[-4000:]
