# SPDX-License-Identifier: Apache-2.0
"""Any fabric packet by packet: its NICs are the hosts, and switches route by tables of the shortest ways."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from offramp.fabric.failures import joined_states
from offramp_base.errors import OfframpError
from offramp_sim.packets import layout as at
from offramp_sim.packets.topology import Floats, LinkProperties, RoutedWays, Topology, Words

if TYPE_CHECKING:
    from offramp.fabric import Fabric
    from offramp_sim.packets.flows import FlowSchedule
    from offramp_sim.packets.machine import SimulationMemory
    from offramp_sim.packets.simulate import PacketRun

_ROUTINGS: Final = {"destination": at.DESTINATION, "ecmp": at.ECMP, "spray": at.SPRAY, "adaptive": at.ADAPTIVE}
_PS_PER_BYTE: Final = 8 * 10**12


def packet_topology(fabric: Fabric) -> Topology:
    """The ports and routes of a fabric, whose file's failures happen at their times.

    From then on switches route round a link; what it has taken by then still arrives.

    Raises:
        OfframpError: no host has a link, or a link of the file that fails later cuts hosts off.
    """
    (_, now), *later = joined_states(fabric) if fabric.changes_ns else [(0.0, fabric.at(0.0))]
    changes = tuple((round(time_ns * 1000), state) for time_ns, state in later)
    if not changes:
        fabric = now
    nics = fabric.nics
    if not len(nics):
        raise OfframpError(f"{fabric.cluster.name}: no host has a link")
    hosts, switches = len(nics), len(fabric.nodes) - fabric.hosts
    shift = hosts - fabric.hosts
    nic_of_up = np.full(len(fabric.ends), -1)
    nic_of_up[nics.up] = np.arange(hosts)
    node = np.where(nic_of_up >= 0, nic_of_up, fabric.ends[:, 0] + shift)  # sending end of each link
    inward = [np.flatnonzero(fabric.works & (fabric.ends[:, 1] == fabric.hosts + s)) for s in range(switches)]
    links, target = [nics.down], [np.arange(hosts)]
    rows = np.zeros((max(1, switches), at.SwitchRecord.WORDS), np.int64)
    first = hosts
    for s, mine in enumerate(inward):
        field = at.SwitchRecord
        rows[s, field.first_in], rows[s, field.last_in] = first, first + len(mine)
        rows[s, field.loop] = first + len(mine)
        links += [mine, np.array([-1])]
        target.append(np.full(len(mine) + 1, hosts + s))
        first += len(mine) + 1
    link_of = np.concatenate(links).astype(np.int64)
    ends = np.concatenate(target).astype(np.int64)
    source = np.where(link_of >= 0, node[link_of], ends)
    port_of = np.full(len(fabric.ends), -1)
    port_of[link_of[link_of >= 0]] = np.flatnonzero(link_of >= 0)
    rate, delay = _rates(fabric)
    way_first, way_count, ways = now.paths.ways
    held = [np.nan] * fabric.hosts + [np.nan if s.buffer is None else s.buffer for s in fabric.cluster.switches]
    buffer = np.array(held, np.float64)[fabric.ends[link_of, 0]]
    own = link_of < 0
    table = RoutedWays(
        now,
        link_of,
        np.where(own, rate.min(), rate[link_of]),
        np.where(own, delay.max(), delay[link_of]),
        np.where(own | np.isnan(buffer), at.NEVER_PS, np.nan_to_num(buffer)).astype(np.int64),
        np.where(nics.far >= fabric.hosts, nics.far - fabric.hosts, -1),
        way_first,
        way_count,
        port_of[ways],
        changes,
    )
    properties = LinkProperties(_divisor(math.ceil(rate.min())), int(delay.min()))
    return Topology(hosts, max(1, switches), (hosts, max(1, switches)), properties, source, ends, rows, ways=table)


def run_through_changes(machine: SimulationMemory, topology: Topology, until_ps: int, *, wait_for_flows: bool) -> bool:
    """Run to the end, with the routes that switches have at each time; returns whether everything has ended."""
    ways = topology.ways
    for time_ps, fabric in ways.changes if ways is not None else ():
        if time_ps > until_ps:
            break
        if machine.run(time_ps - 1, wait_for_flows=wait_for_flows):
            return True
        _load_ways(machine, topology, fabric)
    return machine.run(until_ps, wait_for_flows=wait_for_flows)


def _load_ways(machine: SimulationMemory, topology: Topology, fabric: Fabric) -> None:
    assert topology.ways is not None
    link = topology.ways.link
    port_of = np.full(len(fabric.ends), -1)
    port_of[link[link >= 0]] = np.flatnonzero(link >= 0)
    first, count, ways = fabric.paths.ways
    fields = at.PartitionState
    for field, held in ((fields.way_first, first), (fields.way_count, count), (fields.way_ports, port_of[ways])):
        machine.give(field, held.astype(np.int64) if len(held) else np.zeros(1, np.int64))


def link_bytes(topology: Topology, run: PacketRun) -> Words:
    """``(links,)`` bytes of link time that a run put on each link of the fabric."""
    assert topology.ways is not None, "a topology of a fabric"
    sent = np.zeros(len(topology.ways.fabric.ends), np.int64)
    carries = topology.ways.link >= 0
    sent[topology.ways.link[carries]] = run.port_bytes[carries]
    return sent


def _divisor(byte_ps: int) -> int:
    """Bits per second of a port, as :class:`LinkProperties` takes them: the nearest divisor of 8 Tbit/s below."""
    while _PS_PER_BYTE % byte_ps:
        byte_ps += 1
    return _PS_PER_BYTE // byte_ps


def _rates(fabric: Fabric) -> tuple[Floats, Words]:
    """``(links,)`` picoseconds of a byte, and of the propagation."""
    return _PS_PER_BYTE / fabric.rate_bps, np.rint(fabric.delay_ns * 1000).astype(np.int64)


def load_routes(machine: SimulationMemory, topology: Topology, flows: FlowSchedule | None) -> None:
    """Load the tables of ways, and what decides among equal ones: the destination's place, or a hash of each flow."""
    ways = topology.ways
    if ways is None:
        return
    fabric = ways.fabric
    for context in machine.contexts:
        context.routing = _ROUTINGS[fabric.cluster.routing]
        context.switch_count = topology.nodes - topology.hosts
    choices = fabric.paths.places
    if fabric.cluster.routing == "ecmp" and flows is not None:
        choices = fabric.paths.hashes(flows.source, flows.sink, 0)
    fields = at.PartitionState
    for field, held in (
        (fields.home, ways.home),
        (fields.way_first, ways.first),
        (fields.way_count, ways.count),
        (fields.way_ports, ways.ports),
        (fields.choices, choices),
    ):
        machine.give(field, held.astype(np.int64) if len(held) else np.zeros(1, np.int64))


def routed_trips(ways: RoutedWays, source: Words, sink: Words, data: int, answer: int) -> Words:
    """Picoseconds from sending a packet until its answer arrives, if they meet no other packets."""
    fabric = ways.fabric
    rate, delay = _rates(fabric)
    total = np.zeros(len(source))
    for near, far, size in ((source, sink, data), (sink, source, answer)):
        routing = fabric.cluster.routing
        choice = fabric.paths.hashes(source, sink, 0) if routing == "ecmp" else fabric.paths.places[far]
        for flow, link, share in fabric.paths.walk(near, far, choice):
            total += np.bincount(flow, share * (delay[link] + size * rate[link]), len(source))
    return np.rint(total).astype(np.int64)
