# SPDX-License-Identifier: Apache-2.0
"""Flows that wait for the time of their next packet: a pairing heap for each host (Fredman et al. 1986)."""

from __future__ import annotations

from offramp_base.native.subset import native
from offramp_sim.packets.layout import NOTHING, HostRecord, PartitionState


@native
def hold(ctx: PartitionState, host: HostRecord, number: int) -> None:
    """Let a flow wait until its ``next_send``."""
    sender = ctx.senders[number]
    sender.child = NOTHING
    sender.sibling = NOTHING
    sender.held = 1
    host.held = _meld(ctx, host.held, number)


@native
def release(ctx: PartitionState, host: HostRecord) -> int:
    """Remove the flow whose time comes first; ties go to the lower number."""
    first = host.held
    sender = ctx.senders[first]
    sender.held = 0
    rest = sender.child
    pairs = NOTHING  # melded two by two, in reverse
    while rest != NOTHING:
        one = rest
        other = ctx.senders[one].sibling
        rest = NOTHING
        ctx.senders[one].sibling = NOTHING
        if other != NOTHING:
            rest = ctx.senders[other].sibling
            ctx.senders[other].sibling = NOTHING
        pair = _meld(ctx, one, other)
        ctx.senders[pair].sibling = pairs
        pairs = pair
    root = NOTHING
    while pairs != NOTHING:
        after = ctx.senders[pairs].sibling
        ctx.senders[pairs].sibling = NOTHING
        root = _meld(ctx, root, pairs)
        pairs = after
    host.held = root
    return first


@native
def _meld(ctx: PartitionState, one: int, other: int) -> int:
    if one == NOTHING:
        return other
    if other == NOTHING:
        return one
    first = one
    second = other
    mine = ctx.senders[one].next_send
    theirs = ctx.senders[other].next_send
    if theirs < mine or (theirs == mine and other < one):
        first = other
        second = one
    ctx.senders[second].sibling = ctx.senders[first].child
    ctx.senders[first].child = second
    return first
