# SPDX-License-Identifier: Apache-2.0
"""megatron-core as published, installed for the test: its schedules by its own public interface on the backend.

Blind to GPUs, and to versions other than the one named here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

PACKAGE = "megatron-core==0.16.1"
ROOT = Path(__file__).parents[3]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_its_schedules_run_on_the_backend_in_hermods_order(tmp_path: Path) -> None:
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(tmp_path), PACKAGE]
    done = subprocess.run(install, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        pytest.skip(f"{PACKAGE} cannot be installed: {done.stderr.strip().splitlines()[-1]}")
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "-m", "slow", "-k", "megatron"]
    run = subprocess.run(
        [*tests, "tests/unit/torch/test_recipes.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
        timeout=1000,
    )
    assert run.returncode == 0, run.stdout[-6000:]
    assert "2 passed" in run.stdout, run.stdout[-6000:]  # layers and pipelines; neither skipped
