# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN without a network: the reference model of its switch and the in-process driver.

>>> from offramp_sim.switchgnn import Lockstep, ReferenceSwitch, six_vertices
>>> job = six_vertices()
>>> switch = ReferenceSwitch(job.plans, job.ports)
>>> driver = Lockstep(job.plans, job.ports, switch.process)
>>> driver.start()
>>> driver.turn > 0
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.switchgnn.jobs import GraphPlans as GraphPlans
    from offramp_sim.switchgnn.jobs import random_job as random_job
    from offramp_sim.switchgnn.jobs import six_vertices as six_vertices
    from offramp_sim.switchgnn.lockstep import Lockstep as Lockstep
    from offramp_sim.switchgnn.measure import MeasuredExchange as MeasuredExchange
    from offramp_sim.switchgnn.measure import check_exchange as check_exchange
    from offramp_sim.switchgnn.measure import make_switch_for as make_switch_for
    from offramp_sim.switchgnn.reference import ReferenceSwitch as ReferenceSwitch
    from offramp_sim.switchgnn.strawman_reference import ReferenceStrawman as ReferenceStrawman
    from offramp_sim.switchgnn.thread_group import ThreadGroup as ThreadGroup
    from offramp_sim.switchgnn.thread_group import run_group as run_group
    from offramp_sim.switchgnn.workloads import standard_workloads as standard_workloads
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "GraphPlans": "offramp_sim.switchgnn.jobs",
            "Lockstep": "offramp_sim.switchgnn.lockstep",
            "MeasuredExchange": "offramp_sim.switchgnn.measure",
            "ReferenceStrawman": "offramp_sim.switchgnn.strawman_reference",
            "ReferenceSwitch": "offramp_sim.switchgnn.reference",
            "ThreadGroup": "offramp_sim.switchgnn.thread_group",
            "check_exchange": "offramp_sim.switchgnn.measure",
            "make_switch_for": "offramp_sim.switchgnn.measure",
            "random_job": "offramp_sim.switchgnn.jobs",
            "run_group": "offramp_sim.switchgnn.thread_group",
            "six_vertices": "offramp_sim.switchgnn.jobs",
            "standard_workloads": "offramp_sim.switchgnn.workloads",
        },
    )
