# SPDX-License-Identifier: Apache-2.0
"""Hosts, links and switches packet by packet, in integer picoseconds and machine code, for 128 workers and more.

Packets carry a few words in place of bytes. :mod:`offramp_sim.net` runs P4 programs on real frames instead.
"""

from __future__ import annotations

from offramp_sim.packets.control import Dcqcn, Dctcp, Swift
from offramp_sim.packets.exchange import Protocol
from offramp_sim.packets.flows import Flows, all_to_all, background, balanced, flows
from offramp_sim.packets.simulate import Framing, PacketRun, simulate
from offramp_sim.packets.topology import Links, Topology, fat_tree, leaf_spine, star
from offramp_sim.packets.watch import Watch

__all__ = [
    "Dcqcn",
    "Dctcp",
    "Flows",
    "Framing",
    "Links",
    "PacketRun",
    "Protocol",
    "Swift",
    "Topology",
    "Watch",
    "all_to_all",
    "background",
    "balanced",
    "fat_tree",
    "flows",
    "leaf_spine",
    "simulate",
    "star",
]
