# SPDX-License-Identifier: Apache-2.0
"""Measurements of the smartNIC's agent against ends of links that answer at once.

>>> import os
>>> from offramp_sim.nic import ScalingCase, cpu_time_ns
>>> str(ScalingCase(queues=4, cores=2)), cpu_time_ns(os.getpid()) > 0
('4 queues of 2 cores', True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.nic.bench import NicRate as NicRate
    from offramp_sim.nic.bench import check_sums as check_sums
    from offramp_sim.nic.bench import measure as measure_frames
    from offramp_sim.nic.cpu_time import cpu_ns as cpu_time_ns
    from offramp_sim.nic.dfs import Throughput as Throughput
    from offramp_sim.nic.dfs import measure as measure_dfs
    from offramp_sim.nic.links import ends as link_ends
    from offramp_sim.nic.scaling import ScalingCase as ScalingCase
    from offramp_sim.nic.scaling import measure_queues as measure_queues
    from offramp_sim.nic.testpmd import Pace as Pace
    from offramp_sim.nic.testpmd import pace as pace
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "NicRate": "offramp_sim.nic.bench",
            "Pace": "offramp_sim.nic.testpmd",
            "ScalingCase": "offramp_sim.nic.scaling",
            "Throughput": "offramp_sim.nic.dfs",
            "check_sums": "offramp_sim.nic.bench",
            "cpu_time_ns": "offramp_sim.nic.cpu_time:cpu_ns",
            "link_ends": "offramp_sim.nic.links:ends",
            "measure_dfs": "offramp_sim.nic.dfs:measure",
            "measure_frames": "offramp_sim.nic.bench:measure",
            "measure_queues": "offramp_sim.nic.scaling",
            "pace": "offramp_sim.nic.testpmd",
        },
    )
