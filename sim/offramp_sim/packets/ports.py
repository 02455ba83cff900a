# SPDX-License-Identifier: Apache-2.0
"""Links: a first-in-first-out queue in front of a line. A packet's departure is known when it joins the queue."""

from __future__ import annotations

from typing import Final

from offramp_base.native.random import next_state, random_bits
from offramp_base.native.subset import below, inlined, native
from offramp_sim.packets.events import schedule_item
from offramp_sim.packets.layout import (
    ACK,
    ACK_LOST,
    ADAPTIVE,
    ECMP,
    ECN,
    FLOW_ACK,
    FLOW_DATA,
    HALF,
    HPCC,
    KIND_MASK,
    KIND_SHIFT,
    LOW,
    MOST_USE,
    RATE_BITS,
    SIZE_MASK,
    SPRAY,
    USE_BITS,
    USE_SHIFT,
    PartitionState,
    PortRecord,
    SwitchRecord,
)
from offramp_sim.packets.queues import enqueue

RATE_ROUND: Final = (1 << RATE_BITS) - 1
GOLDEN: Final = 0x9E3779B97F4A7C15
MIX: Final = 0xBF58476D1CE4E5B9


@inlined
def label_of(kind: int, to: int, size: int, ecn: int) -> int:
    """A packet's first word."""
    return to | (size << HALF) | (ecn * ECN) | (kind << KIND_SHIFT)


@inlined
def pair(low: int, high: int) -> int:
    """Combine two numbers into the halves of a word."""
    return (low & LOW) | (high << HALF)


@inlined
def size_of(label: int) -> int:
    """Size of a packet in bytes of link time."""
    return (label >> HALF) & SIZE_MASK


@inlined
def kind_of_packet(label: int) -> int:
    """Kind of a packet."""
    return (label >> KIND_SHIFT) & KIND_MASK


@native
def send(ctx: PartitionState, number: int, label: int, subject: int, extra: int) -> None:
    """Put a packet into the queue of a port: it may be dropped, marked or lost on the link, or it arrives."""
    port = ctx.ports[number]
    now = ctx.now
    start = max(now, port.free)
    size = size_of(label)
    finish = start + ((size * port.rate + RATE_ROUND) >> RATE_BITS)
    if finish - now >= port.check:
        if finish - now >= port.limit:
            port.dropped += 1
            _vanish(ctx, label, subject)
            return
        if start - now >= port.mark and _marked(ctx, port, start - now):
            port.marks += 1
            label = label | ECN
        if number == ctx.watched:
            _sample(ctx, start - now)
    if ctx.transport == HPCC and kind_of_packet(label) == FLOW_DATA:
        extra = measured(ctx, number, start - now, finish - start, extra)
    port.peak = max(port.peak, finish - now)
    port.free = finish
    port.sent_bytes += size
    ctx.sent += 1
    if kind_of_packet(label) == ACK:
        ctx.ack_link_bytes += size
    if port.check == 0 and _lost(port):
        port.lost += 1
        _vanish(ctx, label, subject)
        return
    arrives = finish + port.delay
    if ctx.lanes > 0 and number >= ctx.host_count:
        number = ctx.lanes + ctx.part_of[label & LOW] * ctx.host_count + number - ctx.host_count
        port = ctx.ports[number]
    enqueue(ctx, port, arrives, label, subject, extra)
    target = port.target
    if target < 0:
        _note(ctx, number, -1 - target, arrives)
        return
    announce(ctx, number, target, arrives)


@inlined
def announce(ctx: PartitionState, number: int, target: int, time: int) -> None:
    """Tell a node of this partition that a packet is coming."""
    if time < ctx.arrival[number]:
        ctx.arrival[number] = time
        if time < ctx.due[target]:
            ctx.due[target] = time


@native
def measured(ctx: PartitionState, number: int, waiting: int, sending: int, extra: int) -> int:
    """Measure a port's use over about a round trip, and note it in the packet if it is the highest on its way.

    The average is that of PINT's variant of HPCC (SIGCOMM 2020): what waits, and what arrives, both as shares of what
    the link carries in a round trip.
    """
    base = float(ctx.base_ps)
    passed = min(float(ctx.now - ctx.use_time[number]), base)
    use = ctx.use[number] * (1.0 - passed / base) + float(waiting) / base * (passed / base) + float(sending) / base
    ctx.use[number] = use
    ctx.use_time[number] = ctx.now
    coded = min(int(use * float(1 << USE_BITS)), MOST_USE)
    if coded <= extra >> USE_SHIFT:
        return extra
    return (extra & ((1 << USE_SHIFT) - 1)) | (coded << USE_SHIFT)


@native
def _note(ctx: PartitionState, number: int, node: int, time: int) -> None:
    """Note a packet for a node of another partition, which learns of it at the end of the window."""
    ctx.sent_low = min(ctx.sent_low, time)
    if ctx.noted[number] != ctx.window:
        ctx.noted[number] = ctx.window
        way = ((ctx.window & 1) * ctx.parts + ctx.part) * ctx.parts + ctx.part_of[node]
        news = ctx.news + way * ctx.news_size
        count = news[0] + 1
        news[0] = count
        news[count] = number


@native
def _lost(port: PortRecord) -> bool:
    port.random = next_state(port.random)
    return random_bits(port.random, 32) < port.loss


@native
def _marked(ctx: PartitionState, port: PortRecord, waiting: int) -> bool:
    """Whether to mark: always beyond a threshold, or between two with rising probability and then always (RED)."""
    beyond = waiting - port.mark
    if beyond >= ctx.ramp_ps:
        return True
    port.random = next_state(port.random)
    return float(random_bits(port.random, 32)) * float(ctx.ramp_ps) < float(ctx.ramp_share) * float(beyond)


@native
def _sample(ctx: PartitionState, waiting: int) -> None:
    """Record the queue that a packet found at the watched port."""
    which = ctx.now // ctx.sample_ps
    if which >= ctx.sample_count:
        return
    sample = ctx.samples[which]
    sample.least = min(sample.least, waiting)
    sample.most = max(sample.most, waiting)
    sample.packets += 1
    sample.total += waiting


@native
def forward(ctx: PartitionState, node: int, label: int, subject: int, extra: int) -> None:
    """Send a packet from a switch towards its host; a hash of flow or vertex, or chance, chooses among equal paths."""
    if ctx.routing > 0:
        _route(ctx, node - ctx.host_count, label, subject, extra)
        return
    switch = ctx.switches[node - ctx.host_count]
    to = (label & LOW) - switch.low
    if below(to, switch.span):
        send(ctx, switch.down + to // switch.divisor * switch.down_stride, label, subject, extra)
        return
    if ctx.spray == 1:
        switch.random = next_state(switch.random)
        choice = random_bits(switch.random, 32)
    else:
        choice = ((subject & LOW) + 1) * GOLDEN
        if switch.level > 0:  # not what the levels below have chosen by
            choice = (choice ^ (choice >> 29)) * MIX
        choice = choice >> 33
    send(ctx, switch.up + choice % switch.ups * switch.up_stride, label, subject, extra)


@native
def _route(ctx: PartitionState, switch: int, label: int, subject: int, extra: int) -> None:
    """Send a packet by the table of ways; the port to a host has its number."""
    to = label & LOW
    home = ctx.home[to]
    if home == switch:
        send(ctx, to, label, subject, extra)
        return
    cell = switch * ctx.switch_count + home
    if ctx.routing == ADAPTIVE:
        send(ctx, _shortest(ctx, ctx.way_first[cell], ctx.way_count[cell], ctx.switches[switch]), label, subject, extra)
        return
    if ctx.routing == SPRAY:
        state = ctx.switches[switch]
        state.random = next_state(state.random)
        choice = random_bits(state.random, 32)
    elif ctx.routing == ECMP:
        kind = kind_of_packet(label)
        choice = ((subject & LOW) + 1) * GOLDEN  # an exchange's vertex or host
        if kind in (FLOW_DATA, FLOW_ACK):
            choice = ctx.choices[subject & LOW]
        choice = choice ^ ((switch + 1) * GOLDEN)
        choice = ((choice ^ (choice >> 29)) * MIX) >> 33
    else:
        choice = ctx.choices[to]
    send(ctx, ctx.way_ports[ctx.way_first[cell] + choice % ctx.way_count[cell]], label, subject, extra)


@native
def _shortest(ctx: PartitionState, first: int, count: int, state: SwitchRecord) -> int:
    """The way on which a packet waits least, from a way drawn on, so that equal ones take turns."""
    state.random = next_state(state.random)
    turn = random_bits(state.random, 32)
    best = ctx.way_ports[first + turn % count]
    least = max(ctx.now, ctx.ports[best].free)
    for k in range(1, count):
        port = ctx.way_ports[first + (turn + k) % count]
        free = max(ctx.now, ctx.ports[port].free)
        if free < least:
            least = free
            best = port
    return best


@native
def _vanish(ctx: PartitionState, label: int, subject: int) -> None:
    """Lose a packet; a flow's sender notices after a while and sends it again, unless the answer was lost."""
    kind = kind_of_packet(label)
    flow = subject & LOW
    size = subject >> HALF
    if kind == FLOW_ACK and size > 0:
        size = size | ACK_LOST
        subject = pair(flow, size)
    elif kind != FLOW_DATA:
        return
    time = ctx.now + ctx.retry_ps
    other = ctx.part_of[ctx.flows[flow].source]
    if other == ctx.part:
        schedule_item(ctx, time, flow, pair(flow, size))
    else:
        enqueue(ctx, ctx.ports[ctx.notices + ctx.part * ctx.parts + other], time, 0, subject, 0)
        ctx.sent_low = min(ctx.sent_low, time)
