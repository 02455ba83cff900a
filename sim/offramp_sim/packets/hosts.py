# SPDX-License-Identifier: Apache-2.0
"""Hosts: the choice of the packet that each sends next, and the rate (specification section 6)."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import native
from offramp_sim.packets.congestion import hear_of_loss, note_sent, open_window
from offramp_sim.packets.layout import (
    ACK_LOST,
    DATA,
    FLOW_DATA,
    NEVER_PS,
    NOTHING,
    HostRecord,
    PartitionState,
)
from offramp_sim.packets.pacing import hold, release
from offramp_sim.packets.ports import label_of, pair, send

RAISE_MBPS: Final = 5_000
LEAST_MBPS: Final = 100


@native
def host_of(ctx: PartitionState, number: int) -> HostRecord:
    """The words of a host."""
    return ctx.hosts[number]


@native
def rouse(ctx: PartitionState, number: int, time: int) -> None:
    """Make sure that a host looks for something to send at ``time`` or before."""
    host = host_of(ctx, number)
    if time < host.awake:
        host.awake = time
        if time < ctx.due[number]:
            ctx.due[number] = time


@native
def wake(ctx: PartitionState, number: int) -> None:
    """Send one packet if the line is free: uploads and flows take turns, and so do flows."""
    host = host_of(ctx, number)
    now = ctx.now
    port = ctx.ports[host.port]
    if ctx.transport != 0:
        while host.held != NOTHING and ctx.senders[host.held].next_send <= now:
            _join(ctx, host, release(ctx, host))
    if port.free <= now:
        uploads = host.next_upload < host.last_upload
        if host.ring >= 0 and (not uploads or host.turn == 1 or host.next_send > now):
            host.turn = 0
            _send_flow(ctx, host)
        elif uploads and host.next_send <= now:
            host.turn = 1
            _send_upload(ctx, number)
    host.awake = NEVER_PS
    if host.ring >= 0:
        host.awake = port.free
    elif host.next_upload < host.last_upload:
        host.awake = max(port.free, host.next_send)
    if ctx.transport != 0 and host.held != NOTHING:
        host.awake = min(host.awake, max(port.free, ctx.senders[host.held].next_send))


@native
def _send_flow(ctx: PartitionState, host: HostRecord) -> None:
    """Send the next packet, of the flow that is next in turn."""
    which = ctx.flows[host.ring]  # the one before it in the ring
    chosen = which.next
    flow = ctx.flows[chosen]
    size = min(flow.to_send, ctx.payload)
    flow.to_send -= size
    stays = flow.to_send > 0
    if ctx.transport != 0:
        note_sent(ctx, chosen, size)
        sender = ctx.senders[chosen]
        stays = stays and sender.next_send <= ctx.now and open_window(ctx, sender)
    if stays:
        host.ring = chosen
    elif which.next == host.ring:
        flow.next = -1
        host.ring = -1
    else:
        which.next = flow.next
        flow.next = -1
    send(ctx, host.port, label_of(FLOW_DATA, flow.sink, size + ctx.header, 0), pair(chosen, size), ctx.now)
    if ctx.transport != 0 and not stays:
        admit(ctx, chosen)


@native
def start_flow(ctx: PartitionState, number: int, size: int) -> None:
    """Start a flow that has something to send (again)."""
    flow = ctx.flows[number]
    if ctx.transport != 0:
        if size > 0:
            hear_of_loss(ctx, number, size)
        if size & ACK_LOST == 0:
            flow.to_send += size
        admit(ctx, number)
        return
    flow.to_send += size
    if flow.next >= 0 or flow.to_send == 0:
        return
    _join(ctx, host_of(ctx, flow.source), number)
    rouse(ctx, flow.source, ctx.now)


@native
def admit(ctx: PartitionState, number: int) -> None:
    """Let a flow take turns if it has something to send, its window is open and its pacing time has come."""
    flow = ctx.flows[number]
    sender = ctx.senders[number]
    if flow.next >= 0 or flow.to_send == 0 or sender.held == 1 or not open_window(ctx, sender):
        return
    host = host_of(ctx, flow.source)
    if sender.next_send > ctx.now:
        hold(ctx, host, number)
    else:
        _join(ctx, host, number)
    rouse(ctx, flow.source, max(ctx.now, sender.next_send))


@native
def _join(ctx: PartitionState, host: HostRecord, number: int) -> None:
    """Let a flow take turns with the other flows of the host, as the last of them."""
    flow = ctx.flows[number]
    if host.ring < 0:
        flow.next = number
    else:
        before = ctx.flows[host.ring]
        flow.next = before.next
        before.next = number
    host.ring = number


@native
def _send_upload(ctx: PartitionState, number: int) -> None:
    host = host_of(ctx, number)
    now = ctx.now
    vertex = ctx.uploads[host.next_upload]
    chunk = host.next_chunk
    host.next_chunk = chunk + 1
    if chunk + 1 == ctx.chunks:
        host.next_chunk = 0
        host.next_upload += 1
    recover_rate(ctx, host, now)
    size = ctx.data_bytes
    host.next_send = now + size * 8_000_000 // host.rate_mbps
    host.progress = now
    send(ctx, host.port, label_of(DATA, number, size, 0), pair(vertex, chunk), 0)


@native
def recover_rate(ctx: PartitionState, host: HostRecord, now: int) -> None:
    """Raise the rate step by step while no marks come, up to the line's."""
    while host.rate_mbps < host.line_mbps and now - host.last_raise >= ctx.raise_ps:
        host.last_raise += ctx.raise_ps
        host.rate_mbps = min(host.rate_mbps + RAISE_MBPS, host.line_mbps)


@native
def cut_rate(ctx: PartitionState, number: int) -> None:
    """Halve the rate after a mark, at most once in a guard time."""
    host = host_of(ctx, number)
    now = ctx.now
    recover_rate(ctx, host, now)
    if now - host.last_cut < ctx.guard_ps:
        return
    ctx.cuts += 1
    host.last_cut = now
    host.last_raise = now
    host.rate_mbps = max(host.rate_mbps // 2, LEAST_MBPS)
