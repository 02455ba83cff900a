# SPDX-License-Identifier: Apache-2.0
"""Many jobs on one fabric over time: arrivals, placement, priorities, failures.

>>> from offramp.fabric import fabric_of, make_cluster
>>> from offramp_sim.cluster import ClusterJob, simulate_cluster
>>> fabric = fabric_of(make_cluster("star:4", rate_bps=10**10))
>>> job = ClusterJob(name="a", gpus=4, iterations=10, compute_s=0.1, all_reduce=10**8)
>>> round(simulate_cluster(fabric, [job]).outcomes[0].finish_s, 3)
2.2
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.cluster.job import ClusterJob as ClusterJob
    from offramp_sim.cluster.job import read_jobs as read_jobs
    from offramp_sim.cluster.orders import ORDERS as ORDERS
    from offramp_sim.cluster.placements import PLACEMENTS as PLACEMENTS
    from offramp_sim.cluster.simulate import ClusterOptions as ClusterOptions
    from offramp_sim.cluster.simulate import ClusterRun as ClusterRun
    from offramp_sim.cluster.simulate import simulate_cluster as simulate_cluster
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "ClusterJob": "offramp_sim.cluster.job",
            "ClusterOptions": "offramp_sim.cluster.simulate",
            "ClusterRun": "offramp_sim.cluster.simulate",
            "ORDERS": "offramp_sim.cluster.orders",
            "PLACEMENTS": "offramp_sim.cluster.placements",
            "read_jobs": "offramp_sim.cluster.job",
            "simulate_cluster": "offramp_sim.cluster.simulate",
        },
    )
