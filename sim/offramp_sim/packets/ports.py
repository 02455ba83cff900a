# SPDX-License-Identifier: Apache-2.0
"""Links: a first-in-first-out queue in front of a line. A packet's departure is known when it joins the queue."""

from __future__ import annotations

from offramp_base.native.subset import native
from offramp_sim.packets.events import draw, packet, release, schedule
from offramp_sim.packets.layout import (
    ACK,
    ARRIVAL,
    FLOW_DATA,
    FLOW_START,
    Context,
)


@native
def send(ctx: Context, number: int, port_number: int) -> None:
    """Put a packet into the queue of a port: it is dropped, marked, lost on the way, or arrives."""
    p = packet(ctx, number)
    port = ctx.ports[port_number]
    now = ctx.now
    start = max(now, port.free)
    size = p.size
    waiting = (start - now) // port.rate
    if waiting + size > port.limit:
        port.dropped += 1
        _vanish(ctx, number)
        return
    if waiting > port.mark:
        port.marks += 1
        p.ecn = 1
    port.peak = max(port.peak, waiting + size)
    finish = start + size * port.rate
    port.free = finish
    port.sent += 1
    port.sent_bytes += size
    if p.kind == ACK:
        ctx.ack_link_bytes += size
    if port.loss > 0 and draw(ctx) < port.loss:
        port.lost += 1
        _vanish(ctx, number)
        return
    p.node = port.target
    schedule(ctx, finish + port.delay, ARRIVAL, number)


@native
def forward(ctx: Context, number: int, node: int) -> None:
    """Send a packet from a switch towards its host; equal paths are chosen by a hash of flow or vertex."""
    p = packet(ctx, number)
    hosts = ctx.host_count
    at = (node - hosts) * hosts + p.to
    port = ctx.routes[at]
    fan = ctx.fans[at]
    if fan > 1:
        port += (((p.a + 1) * 0x9E3779B97F4A7C15) >> 33) % fan
    send(ctx, number, port)


@native
def _vanish(ctx: Context, number: int) -> None:
    """A packet is lost; a flow's sender finds out after a while and sends it again."""
    p = packet(ctx, number)
    if p.kind == FLOW_DATA:
        flow = ctx.flows[p.a]
        flow.to_send += p.b
        schedule(ctx, ctx.now + ctx.retry_ps, FLOW_START, p.a)
    release(ctx, number)
