# SPDX-License-Identifier: Apache-2.0
"""Hosts, links and switches packet by packet, in integer picoseconds and machine code, for 128 workers and more.

Any fabric runs (``packet_topology``), with flows and with exchanges in its switches.
Packets carry a few words in place of bytes. :mod:`offramp_sim.net` runs P4 programs on real frames instead.
``offramp_sim.packets.flows`` draws traffic, ``control`` has the congestion controls.

>>> from offramp_sim.packets import LinkProperties, make_flows, run_packets, star
>>> topology = star(2, LinkProperties(rate_bps=10**10))
>>> run = run_packets(topology, flows=make_flows([(0, 1, 4096, 0)]))
>>> int(run.finish_ps[0])
8424000
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.packets.exchange import ExchangeProtocol as ExchangeProtocol
    from offramp_sim.packets.flows import flows as make_flows
    from offramp_sim.packets.routed import link_bytes as link_bytes
    from offramp_sim.packets.routed import packet_topology as packet_topology
    from offramp_sim.packets.simulate import Framing as Framing
    from offramp_sim.packets.simulate import PacketRun as PacketRun
    from offramp_sim.packets.simulate import simulate as run_packets
    from offramp_sim.packets.topology import LinkProperties as LinkProperties
    from offramp_sim.packets.topology import Topology as Topology
    from offramp_sim.packets.topology import fat_tree as fat_tree
    from offramp_sim.packets.topology import leaf_spine as leaf_spine
    from offramp_sim.packets.topology import star as star
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "ExchangeProtocol": "offramp_sim.packets.exchange",
            "Framing": "offramp_sim.packets.simulate",
            "LinkProperties": "offramp_sim.packets.topology",
            "PacketRun": "offramp_sim.packets.simulate",
            "Topology": "offramp_sim.packets.topology",
            "fat_tree": "offramp_sim.packets.topology",
            "link_bytes": "offramp_sim.packets.routed",
            "leaf_spine": "offramp_sim.packets.topology",
            "make_flows": "offramp_sim.packets.flows:flows",
            "packet_topology": "offramp_sim.packets.routed",
            "run_packets": "offramp_sim.packets.simulate:simulate",
            "star": "offramp_sim.packets.topology",
        },
    )
