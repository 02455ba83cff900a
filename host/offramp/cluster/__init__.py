# SPDX-License-Identifier: Apache-2.0
"""Hosts, what sits in them, switches and links: one description (``cluster.yaml``) that every system reads.

>>> from offramp.cluster import read_cluster
>>> cluster = read_cluster("examples/job/cluster.yaml")
>>> len(cluster.hosts), len(cluster.switches)
(4, 3)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.cluster.model import Agent as Agent
    from offramp.cluster.model import Cable as Cable
    from offramp.cluster.model import CableEnd as CableEnd
    from offramp.cluster.model import Card as Card
    from offramp.cluster.model import Cluster as Cluster
    from offramp.cluster.model import ClusterDimension as ClusterDimension
    from offramp.cluster.model import ClusterHost as ClusterHost
    from offramp.cluster.model import ClusterSwitch as ClusterSwitch
    from offramp.cluster.read import is_cluster as is_cluster
    from offramp.cluster.read import parse_cluster as parse_cluster
    from offramp.cluster.read import read_cluster as read_cluster
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Agent": "offramp.cluster.model",
            "Cable": "offramp.cluster.model",
            "CableEnd": "offramp.cluster.model",
            "Card": "offramp.cluster.model",
            "Cluster": "offramp.cluster.model",
            "ClusterDimension": "offramp.cluster.model",
            "ClusterHost": "offramp.cluster.model",
            "ClusterSwitch": "offramp.cluster.model",
            "is_cluster": "offramp.cluster.read",
            "parse_cluster": "offramp.cluster.read",
            "read_cluster": "offramp.cluster.read",
        },
    )
