# SPDX-License-Identifier: Apache-2.0
"""A deterministic event-driven network: switches, hosts and links in integer picoseconds.

>>> from offramp_sim.net import Network
>>> network = Network()
>>> left, right = network.add_host("left"), network.add_host("right")
>>> links = network.connect("left", 0, "right", 0, rate_bps=10**9, delay_ns=500)
>>> left.send(bytes(60))
>>> network.run(), right.received
(2, 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.net.host import Host as Host
    from offramp_sim.net.link import Link as Link
    from offramp_sim.net.link import LinkStats as LinkStats
    from offramp_sim.net.network import Network as Network
    from offramp_sim.net.series import DepthSeries as DepthSeries
    from offramp_sim.net.sources import bursts as bursts
    from offramp_sim.net.sources import constant_rate as constant_rate
    from offramp_sim.net.sources import poisson as poisson
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "DepthSeries": "offramp_sim.net.series",
            "Host": "offramp_sim.net.host",
            "Link": "offramp_sim.net.link",
            "LinkStats": "offramp_sim.net.link",
            "Network": "offramp_sim.net.network",
            "bursts": "offramp_sim.net.sources",
            "constant_rate": "offramp_sim.net.sources",
            "poisson": "offramp_sim.net.sources",
        },
    )
