# SPDX-License-Identifier: Apache-2.0
"""A deterministic event-driven network: switches, hosts and links in integer picoseconds.

>>> from offramp_sim.net import PacketNetwork
>>> network = PacketNetwork()
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
    from offramp_sim.net.host import NetworkHost as NetworkHost
    from offramp_sim.net.link import NetworkLink as NetworkLink
    from offramp_sim.net.link import NetworkLinkStats as NetworkLinkStats
    from offramp_sim.net.network import PacketNetwork as PacketNetwork
    from offramp_sim.net.series import DepthSeries as DepthSeries
    from offramp_sim.net.sources import bursts as bursts
    from offramp_sim.net.sources import constant_rate as constant_rate
    from offramp_sim.net.sources import poisson as poisson
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "DepthSeries": "offramp_sim.net.series",
            "NetworkHost": "offramp_sim.net.host",
            "NetworkLink": "offramp_sim.net.link",
            "NetworkLinkStats": "offramp_sim.net.link",
            "PacketNetwork": "offramp_sim.net.network",
            "bursts": "offramp_sim.net.sources",
            "constant_rate": "offramp_sim.net.sources",
            "poisson": "offramp_sim.net.sources",
        },
    )
