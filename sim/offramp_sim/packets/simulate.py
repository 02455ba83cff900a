# SPDX-License-Identifier: Apache-2.0
"""Run hosts, links and switches packet by packet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from offramp.switchgnn.plan import Plan
from offramp.switchgnn.wire import DATA_FRAME_BYTES, SHORT_FRAME_BYTES
from offramp_base.errors import OfframpError
from offramp_base.wire.ethernet import wire_bytes
from offramp_sim.packets import layout as at
from offramp_sim.packets.exchange import Protocol, load
from offramp_sim.packets.flows import Flows
from offramp_sim.packets.machine import NEVER_PS, Machine
from offramp_sim.packets.topology import Topology


@dataclass(frozen=True, slots=True)
class Framing:
    """Packets of plain flows.

    Attributes:
        payload: most bytes of a flow in a packet.
        header: link bytes beyond them.
        retry_ps: after which a packet that was dropped or lost is sent again.
    """

    payload: int = 1024
    header: int = 82
    retry_ps: int = 200_000_000


@dataclass(frozen=True, eq=False)
class PacketRun:
    """What has happened; times in picoseconds, bytes of link time.

    Attributes:
        end_ps: when the last host learnt that the exchange is over, or the last flow arrived.
        finish_ps: ``(f,)`` when each flow arrived, -1 where it did not.
        up_bytes, down_bytes: from and to hosts, acknowledgements and control included.
        core_bytes: between switches.
        ack_bytes: on all links.
        peak_port_bytes: most that waited at one port of a switch.
        packets: put on any link.
        dropped, lost, marked: by full buffers, on links, by long queues.
        fetches, timeouts, cuts: of recovery and of rate control.
        passes: of the switches' pipelines.
        events: simulated.
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

    @property
    def seconds(self) -> float:
        """End in seconds."""
        return self.end_ps / 1e12


def simulate(
    topology: Topology,
    plan: Plan | None = None,
    flows: Flows | None = None,
    protocol: Protocol | None = None,
    framing: Framing | None = None,
    seed: int = 0,
    until_ps: int = NEVER_PS,
) -> PacketRun:
    """Run an exchange, flows, or both; with an exchange the run ends with it, flows are background.

    Raises:
        OfframpError: plan and topology of different sizes, hosts that do not exist, or time is up.
    """
    protocol, framing = protocol or Protocol(), framing or Framing()
    if plan is not None and any(block.directed for block in plan.blocks):
        raise OfframpError("plan with partial sums or host-based copies: simulate it with offramp_sim.slot")
    if plan is not None and plan.workers != topology.hosts:
        raise OfframpError(f"plan for {plan.workers} workers: the topology has {topology.hosts} hosts")
    if protocol.aggregators is not None and topology.leaves > 1:
        raise OfframpError("the strawman aggregates in a single switch: expected a star")
    machine = Machine()
    prepare_network(machine, topology, framing, seed)
    margin = load(machine, plan, topology, protocol) if plan is not None else 1
    machine.fields.margin = margin + 16
    count = _flows(machine, topology, flows)
    if plan is not None:
        machine.fields.hosts_left = topology.hosts
        machine.begin()
        _schedule(machine, np.arange(topology.hosts), np.full(topology.hosts, protocol.timeout_ps), at.TIMER)
    if not machine.run(until_ps, wait_for_flows=plan is None):
        raise OfframpError(f"not finished at {machine.fields.now} ps of simulated time")
    return _results(machine, topology, count, exchange=plan is not None)


def prepare_network(machine: Machine, topology: Topology, framing: Framing, seed: int) -> None:
    """Ports, routes and idle hosts."""
    context = machine.fields
    context.random = (seed * 0x9E3779B97F4A7C15 + 0x2545F4914F6CDD1D) % (1 << 63) | 1
    context.host_count, context.leaf_count = topology.hosts, topology.leaves
    machine.give(at.Context.ports, topology.ports.copy())
    machine.give(at.Context.routes, topology.route)
    machine.give(at.Context.fans, topology.fan)
    machine.give(at.Context.leaf_of, topology.leaf_of)
    hosts = np.zeros((topology.hosts, at.Host.WORDS), np.int64)
    hosts[:, [at.Host.ring, at.Host.awake]] = -1
    line_mbps = 8_000_000 // topology.ports[: topology.hosts, at.Port.rate]
    hosts[:, at.Host.rate_mbps] = hosts[:, at.Host.line_mbps] = line_mbps
    hosts[:, at.Host.last_cut] = -NEVER_PS // 2
    machine.give(at.Context.hosts, hosts)
    context.header, context.payload = framing.header, framing.payload
    context.retry_ps = framing.retry_ps
    context.data_bytes, context.short_bytes = wire_bytes(DATA_FRAME_BYTES), wire_bytes(SHORT_FRAME_BYTES)


def _flows(machine: Machine, topology: Topology, flows: Flows | None) -> int:
    count = 0 if flows is None else len(flows)
    table = np.zeros((count + 1, at.Flow.WORDS), np.int64)
    table[:, at.Flow.next] = table[:, at.Flow.finish] = -1
    machine.fields.flows_left = count
    if flows is not None and count:
        if max(flows.source.max(), flows.sink.max()) >= topology.hosts:
            raise OfframpError(f"flows: expected hosts from 0 to {topology.hosts - 1}")
        table[:-1, at.Flow.source], table[:-1, at.Flow.sink], table[:-1, at.Flow.start] = (
            flows.source,
            flows.sink,
            flows.start_ps,
        )
        table[:-1, at.Flow.to_send] = table[:-1, at.Flow.to_arrive] = flows.size
        _schedule(machine, np.arange(count), flows.start_ps, at.FLOW_START)
    machine.give(at.Context.flows, table)
    return count


def _schedule(machine: Machine, items: npt.NDArray[np.int64], times: npt.NDArray[np.int64], kind: int) -> None:
    """Add many events at once: a sorted array is a heap."""
    used, first = machine.fields.heap_used, machine.fields.sequence
    entries = np.stack([times, first + np.arange(len(items)), items * at.EVENT_KINDS + kind], axis=1)
    merged = np.concatenate([machine[at.Context.heap][:used], entries])
    merged = merged[np.lexsort((merged[:, 1], merged[:, 0]))]
    machine.fields.sequence = first + len(items)
    machine.set_calendar(merged)


def _results(machine: Machine, topology: Topology, count: int, *, exchange: bool) -> PacketRun:
    context, ports, hosts = machine.fields, machine[at.Context.ports], topology.hosts
    finish = machine[at.Context.flows][:count, at.Flow.finish].copy()
    end = context.end if exchange else int(finish.max(initial=0))
    down = ports[hosts:, at.Port.target] < hosts
    sent = ports[hosts:, at.Port.sent_bytes]
    return PacketRun(
        end,
        finish,
        up_bytes=int(ports[:hosts, at.Port.sent_bytes].sum()),
        down_bytes=int(sent[down].sum()),
        core_bytes=int(sent[~down].sum()),
        ack_bytes=context.ack_link_bytes,
        peak_port_bytes=int(ports[hosts:, at.Port.peak].max(initial=0)),
        packets=int(ports[:, at.Port.sent].sum()),
        dropped=int(ports[:, at.Port.dropped].sum()),
        lost=int(ports[:, at.Port.lost].sum()),
        marked=int(ports[:, at.Port.marks].sum()),
        fetches=context.fetches,
        timeouts=context.timeouts,
        cuts=context.cuts,
        passes=context.passes,
        events=context.events,
    )
