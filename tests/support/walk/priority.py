# SPDX-License-Identifier: Apache-2.0
"""A priority of Hermod: from a job's name to the queues of its DSCPs on a P4 switch that runs ``p4/hermod``.

The session is open and knows the pipeline. The switch is a process of its own, so its own calls are not counted.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from offramp.hermod.deploy.p4 import P4Target, switch_plan
from offramp.hermod.plan_file import load_plan
from offramp.p4src import p4_source
from offramp_base.p4rt.session import Session
from offramp_p4 import EmbeddedSwitch
from walk import walk

if TYPE_CHECKING:
    from walk import Walk

JOB, QUEUES = "mixtral-8x7b", 6
PORTS, HOSTS = (1, 2, 3), {0x0200_0000_0001: 1}


def walks() -> dict[str, Walk]:
    """Load, plan and apply as one walk."""
    program = p4_source("hermod/v1model.p4")
    with (
        tempfile.TemporaryDirectory() as folder,
        EmbeddedSwitch(program, len(PORTS), workdir=Path(folder), engine="python") as switch,
        Session(switch.address) as session,
    ):
        target = P4Target(session, switch_plan(load_plan(JOB, QUEUES), PORTS, HOSTS))
        assert target.apply()
        assert target.undo()
        priority = walk(lambda: P4Target(session, switch_plan(load_plan(JOB, QUEUES), PORTS, HOSTS)).apply())
        assert target.differences() == []
    return {"priority": priority}
