# SPDX-License-Identifier: Apache-2.0
"""Run hosts, links and switches packet by packet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.switchgnn.plan import Plan
from offramp.switchgnn.wire import SHORT_FRAME_BYTES
from offramp_base.errors import OfframpError
from offramp_base.wire.ethernet import wire_bytes
from offramp_sim.packets import layout as at
from offramp_sim.packets.control import Control, check, load_control, round_trips
from offramp_sim.packets.exchange import ExchangeProtocol, load
from offramp_sim.packets.flows import FlowSchedule
from offramp_sim.packets.layout import NEVER_PS, PACKET_BYTES
from offramp_sim.packets.machine import SimulationMemory, lines
from offramp_sim.packets.partitions import divided, partition, ranges
from offramp_sim.packets.routed import load_routes, run_through_changes
from offramp_sim.packets.topology import Topology
from offramp_sim.packets.watch import QueueWatch, load_watch, watched

MOST_CORES: Final = 64
_LONGEST_WINDOW_PS: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class Framing:
    """Packets of plain flows.

    Attributes:
        payload: most bytes of a flow in a packet.
        header: link bytes beyond them.
        retry_ps: time after which a packet that was dropped or lost is sent again.
    """

    payload: int = 1024
    header: int = 82
    retry_ps: int = 200_000_000


@dataclass(frozen=True, eq=False)
class PacketRun:
    """Result of a run; times in picoseconds, bytes of link time.

    Attributes:
        end_ps: when the last host learnt that the exchange is over, or the last flow arrived.
        finish_ps: ``(f,)`` when each flow arrived, -1 where it did not.
        up_bytes, down_bytes: bytes from and to hosts, acknowledgements and control included.
        core_bytes: bytes between switches.
        ack_bytes: bytes of acknowledgements on all links.
        peak_port_bytes: longest queue at one port of a switch.
        packets: put on any link.
        dropped, lost, marked: frames affected by full buffers, on links, by long queues.
        fetches, timeouts, cuts: events of recovery and of rate control.
        passes: passes of the switches' pipelines.
        events: simulated.
        resent_bytes: bytes of flows under congestion control, lost and sent again.
        delay_ps: ``(f, 2)`` mean and longest one-way time of a flow's packets; no rows without congestion control.
        port_bytes: ``(p,)`` bytes that each port of the topology sent.
        queue_bytes: ``(intervals, 3)`` least, mean and most bytes that packets found queued at the watched port.
        state_bytes: memory of queues and calendars.
        wall_s: time that the simulation took, without set-up.
    """

    end_ps: int
    finish_ps: npt.NDArray[np.int64]
    up_bytes: int
    down_bytes: int
    core_bytes: int
    ack_bytes: int
    peak_port_bytes: int
    packets: int
    dropped: int
    lost: int
    marked: int
    fetches: int
    timeouts: int
    cuts: int
    passes: int
    events: int
    resent_bytes: int
    delay_ps: npt.NDArray[np.float64]
    port_bytes: npt.NDArray[np.int64]
    queue_bytes: npt.NDArray[np.float64]
    state_bytes: int
    wall_s: float

    @property
    def seconds(self) -> float:
        """Seconds until the run has ended."""
        return self.end_ps / 1e12


def simulate(
    topology: Topology,
    plan: Plan | None = None,
    flows: FlowSchedule | None = None,
    protocol: ExchangeProtocol | None = None,
    framing: Framing | None = None,
    seed: int = 0,
    until_ps: int = NEVER_PS - 1,
    *,
    spray: bool = False,
    cores: int = 1,
    control: Control | None = None,
    watch: QueueWatch | None = None,
) -> PacketRun:
    """Run an exchange, flows, or both; with an exchange, flows are background and the run ends with the exchange.

    Args:
        topology: hosts, switches and links.
        plan: plan of the exchange.
        flows: flows beside it, or alone.
        protocol: protocol of the exchange.
        framing: framing of the flows.
        seed: seed of losses and of sprayed packets' ways.
        until_ps: the latest time that is simulated.
        spray: whether each packet takes one of the equal paths at random; otherwise a flow keeps that of its hash.
        cores: number that simulate in parallel; results do not depend on it.
        control: congestion control of the flows; None: they send at line rate, whatever happens. Links without a
            threshold for marks get the control's own.
        watch: a queue whose length is recorded.

    Raises:
        OfframpError: plan and topology of different sizes, hosts that do not exist, or time is up.
    """
    protocol, framing = protocol or ExchangeProtocol(), framing or Framing()
    if plan is not None:
        _check(plan, topology)
    if not 1 <= cores <= MOST_CORES:
        raise OfframpError(f"cores {cores}: expected 1 to {MOST_CORES}")
    if control is not None:
        topology = controlled(topology, control, framing)
    parts = min(cores, topology.nodes)
    whole = topology.ways is None and len(topology.levels) == 2 and topology.leaves == 1
    star = whole and plan is None and 1 < parts <= topology.hosts
    machine = SimulationMemory(parts)
    prepare_network(machine, divided(topology, parts) if star else topology, framing, seed, spray=spray)
    margin = load(machine, plan, topology, protocol) if plan is not None else 1
    for context in machine.contexts:
        context.margin = margin + 16
    count = _flows(machine, topology, flows)
    load_routes(machine, topology, flows)
    load_control(machine, topology, flows, control, framing.header, framing.payload)
    load_watch(machine, topology, watch)
    if plan is not None:
        _begin_exchange(machine, topology, protocol)
    if not run_through_changes(machine, topology, until_ps, wait_for_flows=plan is None):
        now = max(context.now for context in machine.contexts)
        raise OfframpError(f"not finished at {now} ps of simulated time")
    return _results(machine, topology, count, exchange=plan is not None)


def _check(plan: Plan, topology: Topology) -> None:
    if any(block.directed for block in plan.blocks):
        raise OfframpError("plan with partial sums or host-based copies: simulate it with offramp_sim.slot")
    if plan.workers != topology.hosts:
        raise OfframpError(f"plan for {plan.workers} workers: the topology has {topology.hosts} hosts")
    if topology.ways is not None and topology.ways.home.min() < 0:
        raise OfframpError("an exchange in switches: a link joins two hosts: expected a switch at each host")


def _begin_exchange(machine: SimulationMemory, topology: Topology, protocol: ExchangeProtocol) -> None:
    parts_of = machine[at.PartitionState.part_of][: topology.hosts]
    for part, context in enumerate(machine.contexts):
        context.hosts_left = int(np.count_nonzero(parts_of == part))
    machine.begin()
    machine[at.PartitionState.hosts][:, at.HostRecord.timer] = protocol.timeout_ps
    due = machine[at.PartitionState.due][: topology.hosts]
    np.minimum(due, protocol.timeout_ps, out=due)


def controlled(topology: Topology, control: Control, framing: Framing) -> Topology:
    """The topology with the control's thresholds, unless it has its own."""
    check(control)
    if topology.links.mark_bytes is not None:
        return topology
    ends = np.array([[0], [topology.hosts - 1]])
    answer = wire_bytes(SHORT_FRAME_BYTES)
    longest = int(round_trips(topology, ends[0], ends[1], framing.header + framing.payload, answer)[0])
    return replace(topology, links=control.marking(topology.links, longest))


def prepare_network(
    machine: SimulationMemory, topology: Topology, framing: Framing, seed: int, *, spray: bool = False
) -> None:
    """Ports, routes and idle hosts."""
    parts, links = len(machine.contexts), topology.links
    parts_of = partition(topology, parts)
    _ports(machine, topology, parts_of, seed)
    switches = topology.switches.copy()
    switches[:, at.SwitchRecord.random] = _states(seed + 1, len(switches))
    machine.give(at.PartitionState.switches, switches)
    machine.give(at.PartitionState.due, np.full(topology.nodes, NEVER_PS))
    machine.give(at.PartitionState.leaf_of, topology.leaf_of())
    machine.give(at.PartitionState.part_of, parts_of.astype(np.uint8))
    hosts = np.zeros((topology.hosts, at.HostRecord.WORDS), np.int64)
    hosts[:, [at.HostRecord.ring, at.HostRecord.pending]] = -1
    hosts[:, at.HostRecord.held] = at.NOTHING
    hosts[:, [at.HostRecord.awake, at.HostRecord.timer]] = NEVER_PS
    hosts[:, at.HostRecord.port] = topology.host_ports()
    lines = np.rint(8e6 / topology.byte_ps[topology.host_ports()]).astype(np.int64)
    hosts[:, at.HostRecord.rate_mbps] = hosts[:, at.HostRecord.line_mbps] = lines
    hosts[:, [at.HostRecord.last_cut, at.HostRecord.last_notice]] = -NEVER_PS // 2
    machine.give(at.PartitionState.hosts, hosts)
    byte_ps = 8 * 10**12 // links.rate_bps
    least = min(wire_bytes(SHORT_FRAME_BYTES), framing.header + 1)
    for part, (each, context) in enumerate(zip(machine.partitions, machine.contexts, strict=True)):
        shortest = int((topology.delay_ps + np.floor(least * topology.byte_ps)).min())
        context.window_ps = min(shortest, framing.retry_ps, _LONGEST_WINDOW_PS)
        context.host_count, context.leaf_count = topology.hosts, topology.leaves
        context.header, context.payload = framing.header, framing.payload
        context.retry_ps, context.spray = framing.retry_ps, spray
        context.short_bytes = wire_bytes(SHORT_FRAME_BYTES)
        context.notices, context.watched = len(topology.source), at.NOTHING
        context.lanes = topology.lanes
        if links.mark_all_bytes is not None:
            context.ramp_ps = (links.mark_all_bytes - (links.mark_bytes or 0)) * byte_ps
            context.ramp_share = round(links.mark_probability * 2**32)
        mine = each.give(at.PartitionState.ranges, ranges(topology, parts_of, part))
        context.range_count = len(mine)


def _ports(machine: SimulationMemory, topology: Topology, parts_of: npt.NDArray[np.int64], seed: int) -> None:
    """Empty queues of the links, and of notices of drops between partitions."""
    parts, links, count = len(machine.contexts), topology.links, len(topology.source)
    ports = np.zeros((count + parts * parts, at.PortRecord.WORDS), np.int64)
    rate = topology.byte_ps
    ports[:count, at.PortRecord.rate] = np.maximum(1, np.rint(rate * 2**at.RATE_BITS))
    of_switch = topology.source >= topology.hosts  # what waits in a host's card is neither limited nor marked
    ports[:, [at.PortRecord.limit, at.PortRecord.mark]] = NEVER_PS
    for field, held in ((at.PortRecord.limit, links.buffer_bytes), (at.PortRecord.mark, links.mark_bytes)):
        if held is not None:
            ports[:count, field] = np.where(of_switch, (held + 1) * rate, NEVER_PS)
    if topology.ways is not None:
        limited = of_switch & (topology.ways.buffer < NEVER_PS)
        ports[:count, at.PortRecord.limit][limited] = (topology.ways.buffer[limited] + 1) * rate[limited]
    ports[:count, at.PortRecord.delay] = topology.delay_ps
    ports[:count, at.PortRecord.loss] = round(links.loss * 2**32)
    ports[:count, at.PortRecord.random] = _states(seed, count)
    lossy = ports[:, at.PortRecord.loss] > 0
    ports[:, at.PortRecord.check] = np.where(
        lossy, 0, np.minimum(ports[:, at.PortRecord.limit], ports[:, at.PortRecord.mark])
    )
    crossing = parts_of[topology.source] != parts_of[topology.target]
    ports[:count, at.PortRecord.target] = np.where(crossing, -1 - topology.target, topology.target)
    ports[:, at.PortRecord.owner] = np.concatenate([parts_of[topology.source], np.repeat(np.arange(parts), parts)])
    reads = np.empty(len(ports), np.int64)
    for part, each in enumerate(machine.partitions):
        mine = np.flatnonzero(ports[:, at.PortRecord.owner] == part)
        reads[mine] = each.take_fresh(len(mine)) + PACKET_BYTES
    ports[:, at.PortRecord.write] = reads
    machine.give(at.PartitionState.ports, ports)
    machine.give(at.PartitionState.reads, reads)
    machine.give(at.PartitionState.arrival, np.full(len(ports), NEVER_PS))
    _news(machine, parts_of[topology.source] * parts + parts_of[topology.target], crossing)


def _news(machine: SimulationMemory, ways: npt.NDArray[np.int64], crossing: npt.NDArray[np.bool_]) -> None:
    """Room for lists of ports that partitions send each other; each list begins its own cache line."""
    parts = len(machine.contexts)
    most = int(np.bincount(ways[crossing], minlength=1).max())
    size = -(-(most + 2) // 8) * 8
    for context in machine.contexts:
        context.news_size = size
    machine.give(at.PartitionState.news, lines(2 * parts * parts, size))
    machine.give(at.PartitionState.noted, np.full(len(machine[at.PartitionState.ports]), -1))


def _states(seed: int, count: int) -> npt.NDArray[np.int64]:
    """Random states, which must not be 0."""
    return np.random.default_rng(seed).integers(1, 1 << 62, count)


def _flows(machine: SimulationMemory, topology: Topology, flows: FlowSchedule | None) -> int:
    count = 0 if flows is None else len(flows)
    table = np.zeros((count + 1, at.FlowRecord.WORDS), np.int64)
    sinks = np.zeros((count + 1, at.FlowSink.WORDS), np.int64)
    table[:, at.FlowRecord.next] = sinks[:, at.FlowSink.finish] = -1
    if flows is not None and count:
        if max(flows.source.max(), flows.sink.max()) >= topology.hosts:
            raise OfframpError(f"flows: expected hosts from 0 to {topology.hosts - 1}")
        table[:-1, at.FlowRecord.source], table[:-1, at.FlowRecord.sink] = flows.source, flows.sink
        table[:-1, at.FlowRecord.to_send] = sinks[:-1, at.FlowSink.to_arrive] = flows.size
        starts = np.stack([flows.start_ps, np.arange(count), np.arange(count)], axis=1)
        starts = starts[np.argsort(flows.start_ps, kind="stable")]  # a sorted array is a heap
        parts_of = machine[at.PartitionState.part_of]
        for part, each in enumerate(machine.partitions):
            each.fields.flows_left = int(np.count_nonzero(parts_of[flows.sink] == part))
            each.set_calendar(starts[parts_of[flows.source[starts[:, 1]]] == part])
    machine.give(at.PartitionState.flows, table)
    machine.give(at.PartitionState.sinks, sinks)
    return count


def _results(machine: SimulationMemory, topology: Topology, count: int, *, exchange: bool) -> PacketRun:
    links, hosts = len(topology.source), topology.hosts
    ports = machine[at.PartitionState.ports][:links]
    finish = machine[at.PartitionState.sinks][:count, at.FlowSink.finish].copy()
    end = max(context.end for context in machine.contexts) if exchange else int(finish.max(initial=0))
    up, down = topology.source < hosts, topology.target < hosts
    sent = ports[:, at.PortRecord.sent_bytes]
    return PacketRun(
        end,
        finish,
        up_bytes=int(sent[up].sum()),
        down_bytes=int(sent[down].sum()),
        core_bytes=int(sent[~up & ~down].sum()),
        ack_bytes=machine.total("ack_link_bytes"),
        peak_port_bytes=int((ports[~up, at.PortRecord.peak] // topology.byte_ps[~up]).max(initial=0)),
        port_bytes=sent.copy(),
        packets=machine.total("sent"),
        dropped=int(ports[:, at.PortRecord.dropped].sum()),
        lost=int(ports[:, at.PortRecord.lost].sum()),
        marked=int(ports[:, at.PortRecord.marks].sum()),
        fetches=machine.total("fetches"),
        timeouts=machine.total("timeouts"),
        cuts=machine.total("cuts"),
        passes=machine.total("passes"),
        events=machine.total("events"),
        resent_bytes=int(machine[at.PartitionState.senders][:-1, at.SenderCongestion.resent].sum()),
        delay_ps=_delays(machine),
        queue_bytes=watched(machine, topology),
        state_bytes=sum(each.bytes for each in machine.partitions),
        wall_s=machine.wall_s,
    )


def _delays(machine: SimulationMemory) -> npt.NDArray[np.float64]:
    receivers = machine[at.PartitionState.receivers][:-1]
    mean = receivers[:, at.ReceiverCongestion.delay] / np.maximum(receivers[:, at.ReceiverCongestion.packets], 1)
    return np.stack([mean, receivers[:, at.ReceiverCongestion.longest].astype(np.float64)], axis=1)
