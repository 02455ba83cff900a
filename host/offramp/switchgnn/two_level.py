# SPDX-License-Identifier: Apache-2.0
"""Entries of leaves and spines that run the same program (specification section 9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from offramp.graph.csr import IntArray
from offramp.switchgnn import acknowledge, barrier, fanout, guard, origin, pull
from offramp.switchgnn.fanout import Contributions, contributions
from offramp.switchgnn.leaf_spine import ROOT, LeafSpine
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.rows import ActionRows
from offramp.switchgnn.wire import NO_ID
from offramp_base.errors import OfframpError

PLACE = "SwitchGnnIngress.place.levels"
LEAF = "SwitchGnnIngress.place.leaf"
SPINE = "SwitchGnnIngress.place.spine"
HOMES = "SwitchGnnIngress.join.homes"
HOME = "SwitchGnnIngress.join.home"
JOINED = "SwitchGnnIngress.join.joined"
LEAF_OF_ROOT = "SwitchGnnIngress.barrier.leaf"
RACK = "SwitchGnnIngress.barrier.rack"
HOSTS_OF_LEAF = "SwitchGnnIngress.barrier.hosts_of_leaf"
RELAY = "SwitchGnnIngress.barrier.relay"

Groups = dict[int, list[tuple[int, int]]]
Ways = Callable[[IntArray, IntArray], IntArray]
"""Maps vertices and their owners to the ports that lead to the vertices."""


@dataclass(frozen=True, eq=False)
class SwitchEntries:
    """The entries of one switch among several.

    Attributes:
        place: action of the table of places and its parameters.
        rows: its table entries.
        groups: ``(port, instance)`` replicas of each multicast group.
    """

    place: tuple[str, dict[str, int]]
    rows: list[ActionRows]
    groups: Groups


def leaf_entries(plans: Sequence[Plan], network: LeafSpine, leaf: int, *, acks: bool = False) -> SwitchEntries:
    """The entries of a leaf for plans with disjoint Block_ids."""
    require_workers(plans, network)
    terms = contributions(plans)
    rack = np.asarray(network.racks)
    host_port = np.array([network.host_port(worker) for worker in range(network.workers)])

    def ways(vertices: IntArray, owners: IntArray) -> IntArray:
        return np.where(rack[owners] == leaf, host_port[owners], network.uplink(leaf, 0) + network.spine_of(vertices))

    here, home = rack[terms.src_owner] == leaf, rack[terms.dst_owner] == leaf
    port = ways(terms.dst_id, terms.dst_owner)
    up = terms.select(here & ~home)
    partial_need = np.unique(_keys(up.block_id, up.dst_id), return_inverse=True, return_counts=True)
    up = replace(up, need=partial_need[2][partial_need[1]])
    local = here & home
    joined = terms.select(~here & home)
    came = _keys(joined.block_id, joined.src_id)
    first = np.unique(_keys(joined.block_id, joined.dst_id), return_index=True)[1]
    joined = joined.select(first)
    homes = ActionRows(
        HOMES,
        HOME,
        {"block_id": joined.block_id, "dst_id": joined.dst_id},
        {
            "base": joined.base,
            "chunks": joined.chunks,
            "need": joined.need,
            "port": ways(joined.dst_id, joined.dst_owner),
        },
    )
    rows = [
        *fanout.sum_rows(terms.select(local), port[local]),
        fanout.fanout_entries(fanout.CONTRIBUTE, up, port[here & ~home]),
        homes,
        _slots(plans, network, leaf, np.concatenate([_keys(up.block_id, up.dst_id), came])),
        _owners(plans, ways),
        origin.worker_rows([network.host_port(worker) for worker in network.members(leaf)]),
        origin.uplink_rows([network.uplink(leaf, spine) for spine in range(network.spines)]),
        *_leaf_hosts(network, leaf),
    ]
    members = network.members(leaf)
    replicas = barrier.group_replicas([network.host_port(worker) for worker in members])
    if leaf == ROOT:
        replicas = barrier.group_replicas([*(port for port, _ in replicas), network.uplink(leaf, 0)])
    groups: Groups = {barrier.GROUP: replicas}
    if acks:
        others = rack[terms.src_owner] != leaf
        towards = np.where(others, network.uplink(leaf, 0) + network.spine_of(terms.dst_id), host_port[terms.src_owner])
        wanted = home | ~others
        _add_acks(rows, groups, terms.select(wanted), towards[wanted], len(members))
    return SwitchEntries((LEAF, {"index": leaf}), rows, groups)


def spine_entries(plans: Sequence[Plan], network: LeafSpine, *, acks: bool = False) -> SwitchEntries:
    """The entries of every spine, which keeps no state: routes to vertices, to the root and to all other leaves."""
    require_workers(plans, network)
    rack = np.asarray(network.racks)
    leaves = np.array([leaf for leaf in range(network.leaves) if leaf != ROOT])
    ids = np.array([NO_ID, *(network.leaf_id(leaf) for leaf in range(network.leaves))])
    leaf_ports = [network.downlink(leaf) for leaf in range(network.leaves)]
    relay = {
        "from": np.array([network.downlink(ROOT), *leaf_ports]),
        "port": np.full(len(ids), network.downlink(ROOT)),
        "leaves": np.where(ids == NO_ID, barrier.GROUP, 0),
    }
    rows = [
        _owners(plans, lambda _, owners: 1 + rack[owners]),
        ActionRows(barrier.TABLE, RELAY, {"host_id": ids}, relay),
        origin.downlink_rows(leaf_ports),
    ]
    groups: Groups = {barrier.GROUP: barrier.group_replicas([network.downlink(leaf) for leaf in leaves.tolist()])}
    if acks:
        terms = contributions(plans)
        across = rack[terms.src_owner] != rack[terms.dst_owner]
        terms = terms.select(across)
        _add_acks(rows, groups, terms, 1 + rack[terms.src_owner], 0)
    return SwitchEntries((SPINE, {}), rows, groups)


def require_workers(plans: Sequence[Plan], network: LeafSpine) -> None:
    """Refuse plans for another number of workers.

    Raises:
        OfframpError: naming both numbers.
    """
    for plan in plans:
        if plan.workers != network.workers:
            raise OfframpError(f"racks: for {network.workers} workers, the plan is for {plan.workers}")


def _keys(block_id: IntArray, vertex: IntArray) -> IntArray:
    return block_id << 32 | vertex


def _slots(plans: Sequence[Plan], network: LeafSpine, leaf: int, across: IntArray) -> ActionRows:
    """Slots of a rack's own vertices and of those ``across`` racks to whose sums it contributes, or the reverse.

    FETCH and ACK of these come by an uplink, and so does RESEND.
    """
    ports = [
        network.host_port(worker) if rack == leaf else origin.FROM_LEAVES for worker, rack in enumerate(network.racks)
    ]
    rows = guard.slot_rows(plans, ports)
    own = rows.params["port"] != origin.FROM_LEAVES
    return rows.select(own | np.isin(_keys(rows.keys["block_id"], rows.keys["src_id"]), across))


def _owners(plans: Sequence[Plan], ways: Ways) -> ActionRows:
    workers = max((plan.workers for plan in plans), default=0)
    rows = pull.owner_rows(plans, range(workers))
    return ActionRows(rows.table, rows.action, rows.keys, {"port": ways(rows.keys["vertex"], rows.params["port"])})


def _leaf_hosts(network: LeafSpine, leaf: int) -> list[ActionRows]:
    members, is_root = network.members(leaf), leaf == ROOT
    n = len(members)
    rack = {
        "host_index": np.arange(n),
        "port": np.array([network.host_port(worker) for worker in members]),
        "rack_members": np.full(n, n),
        "leaf": np.full(n, network.leaf_id(leaf)),
        "root_port": np.full(n, 0 if is_root else network.uplink(leaf, leaf % network.spines)),
        "is_root": np.full(n, int(is_root)),
    }
    own = ActionRows(barrier.TABLE, RACK, {"host_id": np.array(members)}, rack)
    if not is_root:
        group = {"rack_group": np.array([barrier.GROUP])}
        return [own, ActionRows(barrier.TABLE, HOSTS_OF_LEAF, {"host_id": np.array([NO_ID])}, group)]
    leaves = np.arange(network.leaves)
    counted = {
        "host_index": n + leaves,
        "port": network.uplink(leaf, 0) + leaves % network.spines,
        "job_members": np.full(len(leaves), len(leaves)),
        "job_group": np.full(len(leaves), barrier.GROUP),
    }
    return [own, ActionRows(barrier.TABLE, LEAF_OF_ROOT, {"host_id": network.workers + leaves}, counted)]


def _add_acks(rows: list[ActionRows], groups: Groups, terms: Contributions, towards: IntArray, hosts: int) -> None:
    """Groups of the ports behind which ACK of each sum is awaited; rare sets get all ``hosts`` in place of some."""
    if len(towards) and towards.max() > acknowledge.MASK_BITS:
        raise OfframpError(f"acks: expected at most {acknowledge.MASK_BITS} ports on a switch among several")
    keys, at = np.unique(_keys(terms.block_id, terms.dst_id), return_inverse=True)
    masks = np.zeros(len(keys), np.int64)
    np.bitwise_or.at(masks, at, np.int64(1) << (towards - 1))
    sets, counts = np.unique(masks, return_counts=True)
    rare = sets[np.argsort(-counts, kind="stable")[acknowledge.MAX_GROUPS :]]
    all_hosts = (1 << hosts) - 1
    masks = np.where(np.isin(masks, rare) & (masks & all_hosts != 0), masks | all_hosts, masks)
    sets, at = np.unique(masks, return_inverse=True)
    for number, mask in enumerate(sets.tolist(), barrier.GROUP + 1):
        groups[number] = barrier.group_replicas([1 + bit for bit in range(mask.bit_length()) if mask >> bit & 1])
    entry = {"block_id": keys >> 32, "src_id": keys & NO_ID}
    rows.append(ActionRows(acknowledge.TABLE, acknowledge.OWNERS, entry, {"group": barrier.GROUP + 1 + at}))
