# SPDX-License-Identifier: Apache-2.0
"""Hosts: whose packet goes next, at which rate (specification section 6)."""

from __future__ import annotations

from typing import Final

from offramp_p4.native.subset import Words, native
from offramp_sim.packets.events import new_packet, packet, schedule
from offramp_sim.packets.layout import (
    AWAKE,
    CHUNKS,
    CUTS,
    DATA,
    DATA_BYTES,
    ECN,
    FLOW,
    FLOW_DATA,
    FLOW_WORDS,
    FREE,
    GUARD_PS,
    HEADER,
    HOST,
    HOST_WORDS,
    KIND,
    LAST_CUT,
    LAST_RAISE,
    LAST_UPLOAD,
    LINE_MBPS,
    NEXT,
    NEXT_CHUNK,
    NEXT_SEND,
    NEXT_UPLOAD,
    NOW,
    PAYLOAD,
    PORT,
    PORT_WORDS,
    PROGRESS,
    RAISE_PS,
    RATE_MBPS,
    RING,
    SINK,
    SIZE,
    SOURCE,
    TO,
    TO_SEND,
    TURN,
    UPLOAD,
    WAKE,
    A,
    B,
    C,
)
from offramp_sim.packets.ports import send

RAISE_MBPS: Final = 5_000
LEAST_MBPS: Final = 100


@native
def host_of(ctx: Words, number: int) -> Words:
    """The words of a host."""
    return Words(ctx[HOST]) + number * HOST_WORDS


@native
def make(ctx: Words, kind: int, to: int, size: int, a: int, b: int, c: int, ecn: int) -> int:
    """A new packet."""
    number = new_packet(ctx)
    p = packet(ctx, number)
    p[KIND] = kind
    p[TO] = to
    p[SIZE] = size
    p[A] = a
    p[B] = b
    p[C] = c
    p[ECN] = ecn
    return number


@native
def rouse(ctx: Words, number: int, time: int) -> None:
    """See to it that a host looks for something to send at ``time`` or before."""
    host = host_of(ctx, number)
    if host[AWAKE] < 0 or host[AWAKE] > time:
        host[AWAKE] = time
        schedule(ctx, time, WAKE, number)


@native
def wake(ctx: Words, number: int) -> None:
    """Send one packet, if the line is free: uploads and flows take turns, flows among themselves too."""
    host = host_of(ctx, number)
    now = ctx[NOW]
    if host[AWAKE] != now:
        return  # an earlier wake-up has taken its place
    host[AWAKE] = -1
    port = Words(ctx[PORT]) + number * PORT_WORDS
    if port[FREE] > now:
        if host[RING] >= 0 or host[NEXT_UPLOAD] < host[LAST_UPLOAD]:
            rouse(ctx, number, port[FREE])
        return
    uploads = host[NEXT_UPLOAD] < host[LAST_UPLOAD]
    if host[RING] >= 0 and (not uploads or host[TURN] == 1 or host[NEXT_SEND] > now):
        host[TURN] = 0
        _send_flow(ctx, number)
    elif uploads and host[NEXT_SEND] <= now:
        host[TURN] = 1
        _send_upload(ctx, number)
    if host[RING] >= 0:
        rouse(ctx, number, port[FREE])
    elif host[NEXT_UPLOAD] < host[LAST_UPLOAD]:
        rouse(ctx, number, max(port[FREE], host[NEXT_SEND]))


@native
def _send_flow(ctx: Words, number: int) -> None:
    """The next packet of the flow whose turn it is."""
    host = host_of(ctx, number)
    which = Words(ctx[FLOW]) + host[RING] * FLOW_WORDS  # the one before it in the ring
    chosen = which[NEXT]
    flow = Words(ctx[FLOW]) + chosen * FLOW_WORDS
    size = min(flow[TO_SEND], ctx[PAYLOAD])
    flow[TO_SEND] -= size
    if flow[TO_SEND] > 0:
        host[RING] = chosen
    elif which[NEXT] == host[RING]:
        flow[NEXT] = -1
        host[RING] = -1
    else:
        which[NEXT] = flow[NEXT]
        flow[NEXT] = -1
    send(ctx, make(ctx, FLOW_DATA, flow[SINK], size + ctx[HEADER], chosen, size, 0, 0), number)


@native
def start_flow(ctx: Words, number: int) -> None:
    """A flow has something to send (again)."""
    flow = Words(ctx[FLOW]) + number * FLOW_WORDS
    if flow[NEXT] >= 0 or flow[TO_SEND] == 0:
        return
    host = host_of(ctx, flow[SOURCE])
    if host[RING] < 0:
        flow[NEXT] = number
    else:
        before = Words(ctx[FLOW]) + host[RING] * FLOW_WORDS
        flow[NEXT] = before[NEXT]
        before[NEXT] = number
    host[RING] = number
    rouse(ctx, flow[SOURCE], ctx[NOW])


@native
def _send_upload(ctx: Words, number: int) -> None:
    host = host_of(ctx, number)
    now = ctx[NOW]
    vertex = Words(ctx[UPLOAD])[host[NEXT_UPLOAD]]
    chunk = host[NEXT_CHUNK]
    host[NEXT_CHUNK] = chunk + 1
    if chunk + 1 == ctx[CHUNKS]:
        host[NEXT_CHUNK] = 0
        host[NEXT_UPLOAD] += 1
    recover_rate(ctx, host, now)
    size = ctx[DATA_BYTES]
    host[NEXT_SEND] = now + size * 8_000_000 // host[RATE_MBPS]
    host[PROGRESS] = now
    send(ctx, make(ctx, DATA, number, size, vertex, chunk, 0, 0), number)


@native
def recover_rate(ctx: Words, host: Words, now: int) -> None:
    """Quiet raises the rate, step by step, up to the line's."""
    while host[RATE_MBPS] < host[LINE_MBPS] and now - host[LAST_RAISE] >= ctx[RAISE_PS]:
        host[LAST_RAISE] += ctx[RAISE_PS]
        host[RATE_MBPS] = min(host[RATE_MBPS] + RAISE_MBPS, host[LINE_MBPS])


@native
def cut_rate(ctx: Words, number: int) -> None:
    """A mark has come back: half the rate, at most once in a guard time."""
    host = host_of(ctx, number)
    now = ctx[NOW]
    recover_rate(ctx, host, now)
    if now - host[LAST_CUT] < ctx[GUARD_PS]:
        return
    ctx[CUTS] += 1
    host[LAST_CUT] = now
    host[LAST_RAISE] = now
    host[RATE_MBPS] = max(host[RATE_MBPS] // 2, LEAST_MBPS)
