# SPDX-License-Identifier: Apache-2.0
"""Some runs of the campaigns (``tests/support/allreduce_soak.py``, ``torch_soak.py``); many of them are slow."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from allreduce_soak import run
from seeded_campaign import campaign

pytestmark = pytest.mark.p4


@pytest.mark.parametrize("seed", [*range(12), 251])  # 251: a rank dies, then the switch forgets what it had sent
def test_a_random_job_is_exact_or_says_who_is_missing(seed: int) -> None:
    run(seed)


@pytest.mark.slow
def test_ten_thousand_random_jobs() -> None:
    assert not campaign(run, range(100, 10_100))["wrong"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is missing")
def test_processes_of_torch_distributed_end_exactly_or_with_a_line(tmp_path: Path) -> None:
    """And a campaign that is called again runs only what is missing."""
    pytest.importorskip("torch")
    program = Path(__file__).parents[2] / "support" / "torch_soak.py"
    out = tmp_path / "runs.jsonl"
    for runs in (4, 8):
        command = [sys.executable, str(program), "--runs", str(runs), "--out", str(out)]
        said = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
        assert said.returncode == 0, said.stderr
        assert f"{runs} of {runs} runs" in said.stdout
        assert "; 4 now" in said.stdout
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["seed"] for row in rows] == list(range(8))
    assert any("killed" in row["outcome"] for row in rows)
