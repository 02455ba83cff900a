# SPDX-License-Identifier: Apache-2.0
"""The flow level with effects of packets added: headers, and the travel time of one packet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from offramp.hermod.dag import Coflow
from offramp_sim.hermod.flow.network import Loaded
from offramp_sim.hermod.framing import full_packet_bytes, goodput
from offramp_sim.hermod.wire import PacketSizes, WireProperties


def fluid(loaded: Loaded, wire: WireProperties) -> Loaded:
    """The DAG for the flow level: lines carry payload only, and a coflow ends one packet's travel time later.

    That way is every link's delay, and a packet's time on each link but the last: switches store and forward.
    """
    fabric, scale = loaded.fabric, PacketSizes.of(loaded, wire).scale
    bits = full_packet_bytes(wire.payload) * 8 * scale
    known: dict[tuple[int, int], float] = {}
    delay = loaded.delay.copy()
    for task in np.flatnonzero(np.diff(loaded.flow_row) > 0).tolist():
        coflow = loaded.dag.tasks[task]
        assert isinstance(coflow, Coflow)
        name = id(coflow.flows), int(coflow.ctype)
        if name not in known:
            known[name] = fabric.packet_latency_s(coflow.flows, coflow.ctype, bits, wire.delay_ns)
        delay[task] += known[name]
    return replace(loaded, fabric=fabric.with_goodput(goodput(wire.payload)), delay=delay)
