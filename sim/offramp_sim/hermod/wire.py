# SPDX-License-Identifier: Apache-2.0
"""Representation of a job's bytes by packets: sizes, rates and windows."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from offramp.hermod.factors import CType
from offramp_base.errors import OfframpError
from offramp_p4.tm.line import PS_PER_S
from offramp_sim.hermod.flow.network import Loaded
from offramp_sim.hermod.framing import PAYLOAD_BYTES, full_packet_bytes
from offramp_sim.hermod.transport import ACKNOWLEDGED_AT_ONCE


@dataclass(frozen=True, slots=True)
class WireProperties:
    """Properties of packets and links.

    Attributes:
        packets: approximate number that stands for all bytes of a run.
        payload: bytes of a full packet.
        delay_ns: delay of a link.
        engine: engine of the P4 switch.
        buffer_bytes: buffer of a switch, for all its queues; None: unlimited.

    Raises:
        OfframpError: no packets, or packets without payload.
    """

    packets: int = 100_000
    payload: int = PAYLOAD_BYTES
    delay_ns: float = 1000.0
    engine: str = "auto"
    buffer_bytes: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("packets", self.packets), ("payload", self.payload)):
            if value < 1:
                raise OfframpError(f"{name} {value}: expected at least 1")


@dataclass(frozen=True, slots=True)
class PacketSizes:
    """A job's bytes as packets.

    Attributes:
        payload: bytes of a full packet.
        scale: bytes of the job to each byte of a packet; rates shrink alike, so that times stay.
        packet_ps: time of a full packet on the slowest link.
        window: most packets of a flow in flight: what the links hold, and what is acknowledged at once.
        timeout_ps: longer than any acknowledgement takes for a flow that shares its path with one flow of every NIC.
    """

    payload: int
    scale: float
    packet_ps: int
    window: int
    timeout_ps: int

    @classmethod
    def of(cls, loaded: Loaded, wire: WireProperties) -> PacketSizes:
        """Sizes for a job: real packets, or larger ones if there would be more than ``wire.packets`` of them."""
        fabric = loaded.fabric
        total = sum(
            float(np.sum(coflow.flows.size[fabric.packet_flows(coflow.flows, coflow.ctype).flow]))
            for _, coflow in loaded.dag.coflows()
            if coflow.ctype is not CType.TP
        )
        scale = max(1.0, total * fabric.share / wire.payload / wire.packets)
        span = fabric.span(wire.delay_ns)
        bits = full_packet_bytes(wire.payload) * 8 * PS_PER_S
        packet_ps, fastest_ps = (ceil(bits / round(rate / scale)) for rate in (span.slowest_bps, span.fastest_bps))
        trip_ps = 2 * (round(span.delay_ns * 1000) + span.hops * packet_ps)
        window = trip_ps // fastest_ps + 2 * ACKNOWLEDGED_AT_ONCE
        timeout_ps = 2 * (trip_ps + window * fabric.count * packet_ps)
        return cls(wire.payload, scale, packet_ps, window, timeout_ps)
