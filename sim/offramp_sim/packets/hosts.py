# SPDX-License-Identifier: Apache-2.0
"""Hosts: whose packet goes next, at which rate (specification section 6)."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import native
from offramp_sim.packets.layout import (
    DATA,
    FLOW_DATA,
    NEVER_PS,
    Context,
    Host,
)
from offramp_sim.packets.ports import label_of, pair, send

RAISE_MBPS: Final = 5_000
LEAST_MBPS: Final = 100


@native
def host_of(ctx: Context, number: int) -> Host:
    """The words of a host."""
    return ctx.hosts[number]


@native
def rouse(ctx: Context, number: int, time: int) -> None:
    """See to it that a host looks for something to send at ``time`` or before."""
    host = host_of(ctx, number)
    if time < host.awake:
        host.awake = time
        if time < ctx.due[number]:
            ctx.due[number] = time


@native
def wake(ctx: Context, number: int) -> None:
    """Send one packet, if the line is free: uploads and flows take turns, flows among themselves too."""
    host = host_of(ctx, number)
    now = ctx.now
    host.awake = NEVER_PS
    port = ctx.ports[host.port]
    if port.free > now:
        if host.ring >= 0 or host.next_upload < host.last_upload:
            host.awake = port.free
        return
    uploads = host.next_upload < host.last_upload
    if host.ring >= 0 and (not uploads or host.turn == 1 or host.next_send > now):
        host.turn = 0
        _send_flow(ctx, host)
    elif uploads and host.next_send <= now:
        host.turn = 1
        _send_upload(ctx, number)
    if host.ring >= 0:
        host.awake = port.free
    elif host.next_upload < host.last_upload:
        host.awake = max(port.free, host.next_send)


@native
def _send_flow(ctx: Context, host: Host) -> None:
    """The next packet of the flow whose turn it is."""
    which = ctx.flows[host.ring]  # the one before it in the ring
    chosen = which.next
    flow = ctx.flows[chosen]
    size = min(flow.to_send, ctx.payload)
    flow.to_send -= size
    if flow.to_send > 0:
        host.ring = chosen
    elif which.next == host.ring:
        flow.next = -1
        host.ring = -1
    else:
        which.next = flow.next
        flow.next = -1
    send(ctx, host.port, label_of(FLOW_DATA, flow.sink, size + ctx.header, 0), pair(chosen, size), 0)


@native
def start_flow(ctx: Context, number: int, size: int) -> None:
    """A flow has something to send (again)."""
    flow = ctx.flows[number]
    flow.to_send += size
    if flow.next >= 0 or flow.to_send == 0:
        return
    host = host_of(ctx, flow.source)
    if host.ring < 0:
        flow.next = number
    else:
        before = ctx.flows[host.ring]
        flow.next = before.next
        before.next = number
    host.ring = number
    rouse(ctx, flow.source, ctx.now)


@native
def _send_upload(ctx: Context, number: int) -> None:
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
def recover_rate(ctx: Context, host: Host, now: int) -> None:
    """Quiet raises the rate, step by step, up to the line's."""
    while host.rate_mbps < host.line_mbps and now - host.last_raise >= ctx.raise_ps:
        host.last_raise += ctx.raise_ps
        host.rate_mbps = min(host.rate_mbps + RAISE_MBPS, host.line_mbps)


@native
def cut_rate(ctx: Context, number: int) -> None:
    """A mark has come back: half the rate, at most once in a guard time."""
    host = host_of(ctx, number)
    now = ctx.now
    recover_rate(ctx, host, now)
    if now - host.last_cut < ctx.guard_ps:
        return
    ctx.cuts += 1
    host.last_cut = now
    host.last_raise = now
    host.rate_mbps = max(host.rate_mbps // 2, LEAST_MBPS)
