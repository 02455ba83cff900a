# SPDX-License-Identifier: Apache-2.0
"""The packet replication engine, as in :mod:`offramp_p4.tna.replication`.

A tree is a list of choices, each of one node or of an ECMP group, from which a hash picks a node. The members of a
node are choices as well, each of one port or of a link aggregation group.
"""

from __future__ import annotations

from offramp_base.native.records import At, Record, offset
from offramp_base.native.subset import Memory, Words, native
from offramp_p4.native.runtime.buffers import append
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.hashtable import find
from offramp_p4.native.runtime.tna.program import EXCLUSION_1, EXCLUSION_2, HASH_1, HASH_2, RID

EXCLUSION_SHIFT = 32
"""The key of a pruned port is its number with the exclusion id above these bits."""


class EgressCopyRecord(Record):
    """One copy that the traffic manager hands to egress."""

    port: int
    rid: int
    first: int
    queue: int
    cos: int


class LagRecord(Record):
    """Ports, one of which gets a copy."""

    count: int
    ports: Words


class MulticastNodeRecord(Record):
    """A level-1 node."""

    rid: int
    exclusion: int  # -1: none
    count: int
    members: At[LagRecord]


class EcmpRecord(Record):
    """Nodes, one of which makes copies."""

    count: int
    nodes: At[MulticastNodeRecord]


class MulticastTreeRecord(Record):
    """A multicast group."""

    count: int
    choices: At[EcmpRecord]


class MirrorSessionRecord(Record):
    """A mirror session: pairs of port and replication id."""

    count: int
    pairs: Words
    most_bytes: int  # 0: not cut
    cos: int


@native
def add_copy(ctx: SwitchMemory, port: int, rid: int, first: int, queue: int, cos: int) -> None:
    """Note a copy of the current packet."""
    copy = EgressCopyRecord(append(ctx, offset(SwitchMemory.copies), 8 * EgressCopyRecord.WORDS))
    copy.port = port
    copy.rid = rid
    copy.first = first
    copy.queue = queue
    copy.cos = cos


@native
def add_copies(ctx: SwitchMemory, m: Memory, group: int, queue: int, cos: int) -> None:
    """Note the copies for a multicast group, which may be none."""
    key = _scratch(ctx)
    key[0] = group
    number = find(ctx.groups.slots, ctx.groups.mask, key, 1)
    if number == 0:
        return
    tree = MulticastTreeRecord(int(ctx.groups.rows) + 8 * MulticastTreeRecord.WORDS * (number - 1))
    before = ctx.copies.used
    for i in range(tree.count):
        choice = tree.choices[i]
        node = choice.nodes[m[HASH_1] % choice.count]
        if node.exclusion != m[EXCLUSION_1]:
            _add_node(ctx, m, node, before, queue, cos)
    ctx.replicas += (ctx.copies.used - before) // (8 * EgressCopyRecord.WORDS)


@native
def _add_node(ctx: SwitchMemory, m: Memory, node: MulticastNodeRecord, before: int, queue: int, cos: int) -> None:
    for i in range(node.count):
        member = node.members[i]
        port = member.ports[m[HASH_2] % member.count]
        if node.rid != m[RID] or _pruned(ctx, m, port) == 0:
            add_copy(ctx, port, node.rid, int(ctx.copies.used == before), queue, cos)


@native
def _pruned(ctx: SwitchMemory, m: Memory, port: int) -> int:
    key = _scratch(ctx)
    key[0] = m[EXCLUSION_2] << EXCLUSION_SHIFT | port
    return find(ctx.pruned.slots, ctx.pruned.mask, key, 1)


@native
def find_session(ctx: SwitchMemory, number: int) -> int:
    """The address of a mirror session; 0 if there is none."""
    key = _scratch(ctx)
    key[0] = number
    row = find(ctx.sessions.slots, ctx.sessions.mask, key, 1)
    return 0 if row == 0 else int(ctx.sessions.rows) + 8 * MirrorSessionRecord.WORDS * (row - 1)


@native
def _scratch(ctx: SwitchMemory) -> Words:
    """Room for a key: a packet memory behind the only one that is in use."""
    return Words(ctx.top + ctx.stride)
