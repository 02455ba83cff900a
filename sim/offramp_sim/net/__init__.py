# SPDX-License-Identifier: Apache-2.0
"""A deterministic event-driven network: switches, hosts and links in integer picoseconds."""

from __future__ import annotations

from offramp_sim.net.host import Host
from offramp_sim.net.link import Link, LinkStats
from offramp_sim.net.network import Network
from offramp_sim.net.series import DepthSeries
from offramp_sim.net.sources import bursts, constant_rate, poisson

__all__ = ["DepthSeries", "Host", "Link", "LinkStats", "Network", "bursts", "constant_rate", "poisson"]
