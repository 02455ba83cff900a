# SPDX-License-Identifier: Apache-2.0
"""Who uses a switch: a process of this machine is seen, one of another is judged by Slurm alone."""

from __future__ import annotations

import os
import socket

import pytest

from offramp.job import claimant as module
from offramp.job.claimant import claimant, has_ended
from offramp_base.ending.owner import owner
from offramp_base.errors import OfframpError

ELSEWHERE = "7.1a.00000000 other-host"


def test_a_process_of_this_machine():
    here = socket.gethostname()
    assert not has_ended(claimant())
    assert not has_ended(owner())  # as an earlier version wrote it
    assert has_ended(f"{os.getpid()}.1.{owner().rpartition('.')[2]} {here}")
    assert has_ended(f"7.1a.00000000 {here}")  # of an earlier boot


@pytest.mark.each
@pytest.mark.parametrize(
    ("name", "row", "ended"),
    [
        (ELSEWHERE, {}, False),
        (f"{ELSEWHERE} slurm:5.0", {"JobState": "RUNNING", "Restarts": "0"}, False),
        (f"{ELSEWHERE} slurm:5.0", {"JobState": "RUNNING", "Restarts": "1"}, True),
        (f"{ELSEWHERE} slurm:5.0", {"JobState": "PENDING", "Restarts": "1"}, True),
        (f"{ELSEWHERE} slurm:5.0", {"JobState": "COMPLETED", "Restarts": "0"}, True),
        (f"{ELSEWHERE} slurm:5.0", "slurm_load_jobs error: Invalid job id specified", True),
        (f"{ELSEWHERE} slurm:5.0", "scontrol: no such file", False),
    ],
)
def test_a_process_of_another_machine(monkeypatch, name, row, ended):
    def answer(number: str) -> dict[str, str]:
        assert number == "5"
        if isinstance(row, str):
            raise OfframpError(row)
        return row

    monkeypatch.setattr(module, "job_row", answer)
    assert has_ended(name) == ended


def test_a_process_of_a_slurm_job_says_so(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    monkeypatch.setenv("SLURM_RESTART_COUNT", "3")
    assert claimant().endswith(" slurm:12.3")
