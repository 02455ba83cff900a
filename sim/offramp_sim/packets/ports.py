# SPDX-License-Identifier: Apache-2.0
"""Links: a first-in-first-out queue in front of a line. A packet's departure is known when it joins the queue."""

from __future__ import annotations

from offramp_p4.native.subset import Words, native
from offramp_sim.packets.events import draw, packet, release, schedule
from offramp_sim.packets.layout import (
    ACK,
    ACK_LINK_BYTES,
    ARRIVAL,
    DELAY,
    DROPPED,
    ECN,
    FAN,
    FLOW,
    FLOW_DATA,
    FLOW_START,
    FLOW_WORDS,
    FREE,
    HOSTS,
    KIND,
    LIMIT,
    LOSS,
    LOST,
    MARK,
    MARKS,
    NODE,
    NOW,
    PEAK,
    PORT,
    PORT_WORDS,
    RATE,
    RETRY_PS,
    ROUTE,
    SENT,
    SENT_BYTES,
    SIZE,
    TARGET,
    TO,
    TO_SEND,
    A,
    B,
)


@native
def send(ctx: Words, number: int, port_number: int) -> None:
    """Put a packet into the queue of a port: it is dropped, marked, lost on the way, or arrives."""
    p = packet(ctx, number)
    port = Words(ctx[PORT]) + port_number * PORT_WORDS
    now = ctx[NOW]
    start = max(now, port[FREE])
    size = p[SIZE]
    waiting = (start - now) // port[RATE]
    if waiting + size > port[LIMIT]:
        port[DROPPED] += 1
        _vanish(ctx, number)
        return
    if waiting > port[MARK]:
        port[MARKS] += 1
        p[ECN] = 1
    port[PEAK] = max(port[PEAK], waiting + size)
    finish = start + size * port[RATE]
    port[FREE] = finish
    port[SENT] += 1
    port[SENT_BYTES] += size
    if p[KIND] == ACK:
        ctx[ACK_LINK_BYTES] += size
    if port[LOSS] > 0 and draw(ctx) < port[LOSS]:
        port[LOST] += 1
        _vanish(ctx, number)
        return
    p[NODE] = port[TARGET]
    schedule(ctx, finish + port[DELAY], ARRIVAL, number)


@native
def forward(ctx: Words, number: int, node: int) -> None:
    """Send a packet from a switch towards its host; equal paths are chosen by a hash of flow or vertex."""
    p = packet(ctx, number)
    hosts = ctx[HOSTS]
    at = (node - hosts) * hosts + p[TO]
    port = Words(ctx[ROUTE])[at]
    fan = Words(ctx[FAN])[at]
    if fan > 1:
        port += (((p[A] + 1) * 0x9E3779B97F4A7C15) >> 33) % fan
    send(ctx, number, port)


@native
def _vanish(ctx: Words, number: int) -> None:
    """A packet is lost; a flow's sender finds out after a while and sends it again."""
    p = packet(ctx, number)
    if p[KIND] == FLOW_DATA:
        flow = Words(ctx[FLOW]) + p[A] * FLOW_WORDS
        flow[TO_SEND] += p[B]
        schedule(ctx, ctx[NOW] + ctx[RETRY_PS], FLOW_START, p[A])
    release(ctx, number)
