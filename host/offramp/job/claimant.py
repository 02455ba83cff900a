# SPDX-License-Identifier: Apache-2.0
"""The process that uses a switch for a job, as other machines can judge it.

It is written ``PID.START.WHERE HOST``, in a Slurm job with ``slurm:JOB.RESTARTS`` behind it. A process of this machine
is seen. One of another machine is not: it has ended if Slurm says that its job has, and is left alone otherwise.
"""

from __future__ import annotations

import os
import socket
from typing import Final

from offramp.workers.slurm_commands import job_row
from offramp_base.ending.owner import is_process, owner
from offramp_base.errors import OfframpError

_SLURM: Final = "slurm:"
_RUNS: Final = frozenset({"RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING", "STAGE_OUT", "RESIZING", "SIGNALING"})


def claimant() -> str:
    """This process."""
    name = f"{owner()} {socket.gethostname()}"
    number = os.environ.get("SLURM_JOB_ID", "")
    return f"{name} {_SLURM}{number}.{os.environ.get('SLURM_RESTART_COUNT', '0')}" if number.isdecimal() else name


def has_ended(name: str) -> bool:
    """Whether a process has certainly ended; those of other machines count as ended only by Slurm's word."""
    process, *where = name.split()
    if is_process(process):
        return False
    if not where or where[0] == socket.gethostname():
        return True
    number, _, restarts = where[1].removeprefix(_SLURM).partition(".") if len(where) > 1 else ("", "", "")
    if not number.isdecimal():
        return False
    try:
        row = job_row(number)
    except OfframpError as error:
        return "Invalid job id" in str(error)  # the controller has forgotten it
    return row.get("JobState") not in _RUNS or row.get("Restarts") != restarts
