# SPDX-License-Identifier: Apache-2.0
"""A worker's plans as text: the same in a file, edges once where both directions are the same, and no room for it."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from offramp.switchgnn import worker_plans
from offramp.switchgnn.local_block import PlanShare
from offramp_base.errors import OfframpError
from offramp_sim.switchgnn.jobs import random_job


def shares(worker: int = 0) -> list[PlanShare]:
    job = random_job(1, vertices=40, edges=120, workers=4, limit=12, features=(5,))
    return [PlanShare(plan, worker) for plan in job.plans]


def test_a_file_has_the_same_bytes() -> None:
    assert bytes(worker_plans.mapped(shares())) == worker_plans.write(shares())


def test_edges_are_there_once_where_both_directions_are_the_same() -> None:
    (share,) = shares()
    text = worker_plans.write([share])
    apart = PlanShare(replace(share.plan, blocks=[replace(b, directed=True) for b in share.plan.blocks]), 0)
    again = worker_plans.write([apart])
    edges = sum(len(b.sources) + len(b.indptr) + len(b.targets) for b in share.each_block())
    assert len(again) - len(text) == 4 * edges
    assert np.frombuffer(text, "<u4")[-3:].tolist() == [0, 0, 0]


def test_a_full_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["mount", "-t", "tmpfs", "-o", "size=4k", "none", str(tmp_path)]
    if subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("mounting needs root")
    try:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        many = random_job(2, vertices=900, edges=4000, workers=2, limit=100, features=(5,))
        with pytest.raises(OfframpError, match="a worker's plans, among temporary files: No space left on device"):
            worker_plans.mapped([PlanShare(plan, 0) for plan in many.plans])
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)
