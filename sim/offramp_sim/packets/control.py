# SPDX-License-Identifier: Apache-2.0
"""Congestion control of flows: the algorithm, its parameters, and its initial state.

Two things are not modelled: a sender notices a loss after :attr:`Framing.retry_ps`, whatever the protocol; and there
are no pauses (PFC), so DCQCN needs buffers that hold what arrives before its first notice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError
from offramp_sim.packets import layout as at
from offramp_sim.packets.flows import FlowSchedule
from offramp_sim.packets.machine import SimulationMemory
from offramp_sim.packets.routed import routed_trips
from offramp_sim.packets.topology import LinkProperties, Topology, Words

_MTU_BYTES: Final = 1500
_NEVER: Final = 1 << 61


@dataclass(frozen=True, slots=True)
class Dctcp:
    """Windows cut in proportion to the share of marked bytes (Alizadeh et al., SIGCOMM 2010; RFC 8257).

    Attributes:
        gain: g, the weight of the latest round trip in the share.
        initial: window in packets.
    """

    gain: float = 1 / 16
    initial: int = 10

    def marking(self, links: LinkProperties, round_trip_ps: int) -> LinkProperties:
        """A threshold beyond a seventh of the bandwidth-delay product (section 3.3), and at least 20 packets."""
        product = links.rate_bps / 8e12 * round_trip_ps
        return replace(links, mark_bytes=max(20 * _MTU_BYTES, math.ceil(product / 7)))


@dataclass(frozen=True, slots=True)
class Dcqcn:
    """Rates that receivers' notices of marks cut, and timer and byte counter raise (Zhu et al., SIGCOMM 2015).

    Attributes:
        gain: g, the gain of the congestion estimate.
        notice_ps: least time between two notices to a flow.
        alpha_ps: time without a notice until the estimate falls.
        raise_ps: period of the timer.
        raise_bytes: period of the byte counter.
        additive_bps, hyper_bps: steps of the target rate.
        least_bps: lowest rate.
    """

    gain: float = 1 / 256
    notice_ps: int = 50_000_000
    alpha_ps: int = 55_000_000
    raise_ps: int = 55_000_000
    raise_bytes: int = 10_000_000
    additive_bps: int = 40_000_000
    hyper_bps: int = 200_000_000
    least_bps: int = 10_000_000

    def marking(self, links: LinkProperties, _round_trip_ps: int) -> LinkProperties:
        """The paper's 5 and 200 KB with 1 % at 40 Gbit/s, in proportion to the rate of faster links."""
        times = max(1.0, links.rate_bps / 40e9)
        return replace(links, mark_bytes=int(5_000 * times), mark_all_bytes=int(200_000 * times), mark_probability=0.01)


@dataclass(frozen=True, slots=True)
class Swift:
    """Windows that hold the round trip at a target, like Swift (Kumar et al., SIGCOMM 2020), without endpoints' delays.

    The target is the round trip of a packet that meets no other, in place of the paper's scaling by hops, plus a
    queueing delay; flows with small windows tolerate more delay, so that many of them agree.

    Attributes:
        queue_ps: tolerated queueing delay; None: that of 20 packets on one link.
        increase: packets per round trip.
        cut, largest_cut: beta, and the largest cut, at most once per round trip.
        scaling: extra delay of the smallest windows, as a multiple of ``queue_ps``.
        scaling_windows: windows in packets between which the target is scaled.
        initial: window in packets.
        least: smallest window in packets; below 1, a flow sends less than a packet per round trip.
    """

    queue_ps: int | None = None
    increase: float = 1.0
    cut: float = 0.8
    largest_cut: float = 0.5
    scaling: float = 4.0
    scaling_windows: tuple[float, float] = (0.1, 100.0)
    initial: int = 10
    least: float = 0.01

    def marking(self, links: LinkProperties, _round_trip_ps: int) -> LinkProperties:
        """Links, which mark no packets."""
        return links


@dataclass(frozen=True, slots=True)
class Hpcc:
    """Windows by what switches write into packets (Li et al., SIGCOMM 2019), as one number for the busiest link.

    A switch averages the use of each port over a round trip (PINT's variant, SIGCOMM 2020) of what arrives there.

    Attributes:
        goal: eta, the use at which links are held.
        stages: maxStage, round trips of additive increase before one that is multiplicative.
        flows: flows that a link is made for: each adds the room above the goal, divided by these, per round trip.
    """

    goal: float = 0.95
    stages: int = 5
    flows: int = 8

    def marking(self, links: LinkProperties, _round_trip_ps: int) -> LinkProperties:
        """Links, which mark no packets."""
        return links


Control = Dctcp | Dcqcn | Swift | Hpcc
CONTROLS: Final[dict[str, type[Control]]] = {"dctcp": Dctcp, "dcqcn": Dcqcn, "swift": Swift, "hpcc": Hpcc}


def check(control: Control) -> None:
    """Refuse parameters with which no sender could work.

    Raises:
        OfframpError: names the parameter, and what is expected.
    """
    name = type(control).__name__
    shares = ("gain", "cut", "largest_cut", "goal")
    for field in control.__dataclass_fields__:
        value = getattr(control, field)
        if field in shares and not 0 < value <= 1:
            raise OfframpError(f"{name} {field} {value}: expected above 0 and at most 1")
        if isinstance(value, int | float) and field != "scaling" and value <= 0:
            raise OfframpError(f"{name} {field} {value}: expected above 0")
    if isinstance(control, Swift) and not 0 < control.scaling_windows[0] < control.scaling_windows[1] <= 10_000:
        raise OfframpError(f"Swift scaling_windows {control.scaling_windows}: expected two, rising, up to 10000")


def round_trips(topology: Topology, source: Words, sink: Words, data: int, answer: int) -> Words:
    """Picoseconds from sending a packet until its answer arrives, if they meet no other packets.

    Args:
        topology: topology with its links.
        source: ``(f,)`` hosts that send.
        sink: ``(f,)`` hosts that answer.
        data: link bytes of a packet.
        answer: link bytes of the answer.
    """
    if topology.ways is not None:
        return routed_trips(topology.ways, source, sink, data, answer)
    links = topology.links
    spans = np.unique(topology.switches[:, at.SwitchRecord.span])
    hops = 2 * (1 + (source[:, None] // spans != sink[:, None] // spans).sum(axis=1))
    return np.asarray(hops * (2 * links.delay_ps + (data + answer) * (8 * 10**12 // links.rate_bps)), np.int64)


def _window_of_a_round_trip(
    machine: SimulationMemory, topology: Topology, control: Hpcc, real: npt.NDArray[np.float64], base_ps: int
) -> None:
    """HPCC begins with as much as its link carries in the longest round trip of all flows."""
    doubles = cast("Any", at.SenderCongestion)
    real[:, doubles.window] = real[:, doubles.threshold] = real[:, doubles.line] * base_ps
    line = float(real[:, doubles.line].max())
    for context in machine.contexts:
        context.base_ps, context.goal, context.stages = base_ps, control.goal, control.stages
        context.increase = line * base_ps * (1 - control.goal) / control.flows
    machine.give(at.PartitionState.use, np.zeros(len(topology.source)))
    machine.give(at.PartitionState.use_time, np.zeros(len(topology.source), np.int64))


def load_control(
    machine: SimulationMemory,
    topology: Topology,
    flows: FlowSchedule | None,
    control: Control | None,
    header: int,
    payload: int,
) -> None:
    """Load senders and receivers of flows, and the parameters; without a control, flows have no state."""
    count = 0 if control is None or flows is None else len(flows)
    senders = np.zeros((count + 1, at.SenderCongestion.WORDS), np.int64)
    senders[:, [at.SenderCongestion.child, at.SenderCongestion.sibling]] = at.NOTHING
    senders[:, [at.SenderCongestion.alpha_due, at.SenderCongestion.raise_due]] = _NEVER
    real, doubles = senders.view(np.float64), cast("Any", at.SenderCongestion)
    fastest = topology.links.rate_bps / 8e12
    real[:, [doubles.rate, doubles.target, doubles.line]] = fastest
    real[:, doubles.alpha] = 1.0
    initial = getattr(control, "initial", 1) * payload
    real[:, doubles.window], real[:, doubles.threshold] = initial, math.inf
    if count and flows is not None:
        answer = machine.contexts[0].short_bytes
        times = round_trips(topology, flows.source, flows.sink, header + payload, answer)
        if topology.ways is not None:
            line = 1.0 / topology.byte_ps[topology.host_ports()[flows.source]]
            real[:-1, [doubles.rate, doubles.target, doubles.line]] = line[:, None]
        senders[:-1, at.SenderCongestion.unloaded] = senders[:-1, at.SenderCongestion.round_trip] = times
        if isinstance(control, Hpcc):
            _window_of_a_round_trip(machine, topology, control, real, int(times.max()))
    machine.give(at.PartitionState.senders, senders)
    machine.give(at.PartitionState.receivers, np.zeros((count + 1, at.ReceiverCongestion.WORDS), np.int64))
    for context in machine.contexts:
        context.least_window = float(payload)
        if control is not None:
            context.transport = 1 + list(CONTROLS.values()).index(type(control))
        if isinstance(control, Dctcp):
            context.gain = control.gain
        elif isinstance(control, Dcqcn):
            context.gain, context.notice_ps = control.gain, control.notice_ps
            context.alpha_ps, context.raise_rate_ps = control.alpha_ps, control.raise_ps
            context.raise_bytes = control.raise_bytes
            context.increase, context.hyper_increase = control.additive_bps / 8e12, control.hyper_bps / 8e12
            context.least_rate = min(control.least_bps / 8e12, fastest)
        elif isinstance(control, Swift):
            few, many = (1 / math.sqrt(windows) for windows in control.scaling_windows)
            own = 20 * (header + payload) * (8 * 10**12 // topology.links.rate_bps)
            queue = own if control.queue_ps is None else control.queue_ps
            context.gain, context.largest_cut, context.queue_ps = control.cut, control.largest_cut, queue
            context.increase, context.least_window = control.increase * 1.0, control.least * payload
            context.scaling_range = control.scaling * queue
            context.scaling = context.scaling_range / (few - many)
            context.scaling_offset = context.scaling * many
