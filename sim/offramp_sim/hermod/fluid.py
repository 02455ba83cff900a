# SPDX-License-Identifier: Apache-2.0
"""The flow level with effects of packets added: headers, and the travel time of one packet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from offramp_p4.tm.line import PS_PER_S
from offramp_sim.hermod.flow.network import Loaded
from offramp_sim.hermod.framing import goodput
from offramp_sim.hermod.wire import PacketSizes, WireProperties


def fluid(loaded: Loaded, wire: WireProperties) -> Loaded:
    """The DAG for the flow level: lines carry payload only, and a coflow ends one packet's travel time later.

    That way is every link's delay, and a packet's time on each link but the last: switches store and forward.
    """
    fabric, sizes = loaded.fabric, PacketSizes.of(loaded, wire)
    rate = fabric.bytes_per_s * goodput(wire.payload)
    latency_s = (sizes.hops * wire.delay_ns * 1000 + (sizes.hops - 1) * sizes.packet_ps) / PS_PER_S
    delay = loaded.delay + np.where(np.diff(loaded.flow_row) > 0, latency_s, 0.0)
    return replace(loaded, fabric=replace(fabric, bytes_per_s=rate), delay=delay)
