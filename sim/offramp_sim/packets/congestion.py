# SPDX-License-Identifier: Apache-2.0
"""Congestion control of flows in machine code: reactions of a sender to acknowledgements, marks, delays and losses.

DCTCP as of Alizadeh et al. (SIGCOMM 2010) and RFC 8257, DCQCN as of Zhu et al. (SIGCOMM 2015), and delays held at a
target as in Swift (Kumar et al., SIGCOMM 2020). :mod:`offramp_sim.packets.control` has the parameters.
"""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import native
from offramp_sim.packets.layout import (
    ACK_LOST,
    DCQCN,
    DCTCP,
    ECN_SHIFT,
    FLOW_ACK,
    HALF,
    HPCC,
    LOW,
    SWIFT,
    USE_BITS,
    USE_SHIFT,
    PartitionState,
    SenderCongestion,
)
from offramp_sim.packets.ports import label_of, send

FAST_RECOVERY: Final = 5
"""Number of raises, by time or by bytes, in which a rate only recovers half of a cut (DCQCN's F)."""
ROOT_STEPS: Final = 12


@native
def open_window(ctx: PartitionState, sender: SenderCongestion) -> bool:
    """Whether another packet may be in flight; one is always allowed."""
    if ctx.transport == DCQCN or sender.in_flight == 0:
        return True
    return float(sender.in_flight + ctx.payload) <= sender.window


@native
def note_sent(ctx: PartitionState, number: int, size: int) -> None:
    """Note that a packet is sent, and when the next one may be."""
    sender = ctx.senders[number]
    now = ctx.now
    sender.in_flight += size
    sender.sent += size
    sender.next_send = now
    if ctx.transport == DCQCN:
        _catch_up(ctx, sender, now)
        sender.bytes_since += size + ctx.header
        if sender.bytes_since >= ctx.raise_bytes:
            sender.bytes_since -= ctx.raise_bytes
            sender.raises_by_bytes += 1
            _raise(ctx, sender)
        sender.next_send = now + int(float(size + ctx.header) / sender.rate)
    elif ctx.transport == HPCC:
        sender.next_send = now + int(float(size + ctx.header) * float(ctx.base_ps) / sender.window)
    elif ctx.transport == SWIFT and sender.window < float(ctx.payload):
        sender.next_send = now + int(float(sender.round_trip) * float(ctx.payload) / sender.window)


@native
def acknowledge(ctx: PartitionState, me: int, label: int, number: int, size: int, sent: int) -> None:
    """Let the receiver answer a packet: every one, or with DCQCN some of those that were marked."""
    receiver = ctx.receivers[number]
    now = ctx.now
    use = sent >> USE_SHIFT  # 0 unless by HPCC
    sent = sent & ((1 << USE_SHIFT) - 1)
    receiver.packets += 1
    receiver.delay += now - sent
    receiver.longest = max(receiver.longest, now - sent)
    mark = (label >> ECN_SHIFT) & 1
    answered = size
    if ctx.transport == DCQCN:
        if mark == 0 or now < receiver.next_notice:
            return
        receiver.next_notice = now + ctx.notice_ps
        answered = 0
    answer = label_of(FLOW_ACK, ctx.flows[number].source, ctx.short_bytes, 0)
    send(ctx, ctx.hosts[me].port, answer, number | (answered << HALF), (use << (USE_SHIFT + 1)) | (sent << 1) | mark)


@native
def process_answer(ctx: PartitionState, subject: int, extra: int) -> None:
    """Process an answer at the sender."""
    sender = ctx.senders[subject & LOW]
    size = subject >> HALF
    mark = extra & 1
    if ctx.transport == DCQCN:
        _cut_rate(ctx, sender)
        return
    full = float(sender.in_flight + ctx.payload) > sender.window
    sender.round_trip = ctx.now - ((extra >> 1) & ((1 << USE_SHIFT) - 1))
    _settle(sender, size)
    if ctx.transport == HPCC:
        _hpcc(ctx, sender, extra >> (USE_SHIFT + 1))
    elif ctx.transport == DCTCP:
        _dctcp(ctx, sender, size, mark, full)
    else:
        _swift(ctx, sender, size, full)


@native
def hear_of_loss(ctx: PartitionState, number: int, size: int) -> None:
    """React to the loss of a packet or its answer, once the sender has noticed it."""
    sender = ctx.senders[number]
    if size & ACK_LOST != 0:
        _settle(sender, size & (ACK_LOST - 1))
        return
    _settle(sender, size)
    sender.resent += size
    if ctx.transport == DCTCP:
        if sender.settled > sender.cut_until:
            _shrink(ctx, sender, 0.5)
            sender.cut_until = sender.sent
    elif ctx.transport == SWIFT:
        _slow_down(ctx, sender, 1.0 - ctx.largest_cut)
    elif ctx.transport == HPCC:
        sender.window = max(sender.window * 0.5, ctx.least_window)
        sender.threshold = sender.window
        ctx.cuts += 1
    else:
        _cut_rate(ctx, sender)


@native
def _settle(sender: SenderCongestion, size: int) -> None:
    sender.in_flight -= size
    sender.settled += size


@native
def _shrink(ctx: PartitionState, sender: SenderCongestion, factor: float) -> None:
    sender.window = max(sender.window * factor, ctx.least_window)
    sender.threshold = sender.window
    ctx.cuts += 1


@native
def _dctcp(ctx: PartitionState, sender: SenderCongestion, size: int, mark: int, full: bool) -> None:
    sender.acked += size
    sender.marked += size * mark
    if mark == 1 and sender.settled > sender.cut_until:
        _shrink(ctx, sender, 1.0 - sender.alpha / 2.0)
        sender.cut_until = sender.sent
    elif full and sender.window < sender.threshold:
        sender.window += float(size)
    elif full:
        sender.window += float(ctx.payload) * float(size) / sender.window
    if sender.settled >= sender.round_end:
        share = float(sender.marked) / float(sender.acked)
        sender.alpha += ctx.gain * (share - sender.alpha)
        sender.acked = 0
        sender.marked = 0
        sender.round_end = sender.sent


@native
def _swift(ctx: PartitionState, sender: SenderCongestion, size: int, full: bool) -> None:
    packets = sender.window / float(ctx.payload)
    scaled = ctx.scaling / _square_root(packets) - ctx.scaling_offset
    target = float(sender.unloaded + ctx.queue_ps) + min(max(scaled, 0.0), ctx.scaling_range)
    delay = float(sender.round_trip)
    if delay > target:
        _slow_down(ctx, sender, max(1.0 - ctx.gain * (delay - target) / delay, 1.0 - ctx.largest_cut))
    elif packets >= 1.0:
        if full:
            sender.window += ctx.increase * float(size) / packets
    else:
        sender.window += ctx.increase * float(size)


@native
def _hpcc(ctx: PartitionState, sender: SenderCongestion, coded: int) -> None:
    """Hold the busiest link of the way at its goal: the window of this round trip follows from that of the last one.

    ``threshold`` is the window of reference, which changes once in a round trip; ``raises_by_time`` counts round trips
    without a link beyond the goal (HPCC, algorithm 1).
    """
    share = float(coded) / float(1 << USE_BITS) / ctx.goal
    anew = sender.settled >= sender.round_end
    if share >= 1.0 or sender.raises_by_time >= ctx.stages:
        sender.window = sender.threshold / max(share, 0.001) + ctx.increase
        if anew:
            sender.raises_by_time = 0
    else:
        sender.window = sender.threshold + ctx.increase
        if anew:
            sender.raises_by_time += 1
    sender.window = min(max(sender.window, ctx.least_window), sender.line * float(ctx.base_ps))
    if anew:
        sender.threshold = sender.window
        sender.round_end = sender.sent


@native
def _slow_down(ctx: PartitionState, sender: SenderCongestion, factor: float) -> None:
    """Cut the window, at most once in a round trip."""
    if ctx.now < sender.cut_until:
        return
    sender.cut_until = ctx.now + sender.round_trip
    _shrink(ctx, sender, factor)


@native
def _square_root(value: float) -> float:
    """Square root of a number from 0.0001 to 10,000, by Newton's iteration."""
    root = 1.0
    for _ in range(ROOT_STEPS):
        root = 0.5 * (root + value / root)
    return root


@native
def _catch_up(ctx: PartitionState, sender: SenderCongestion, now: int) -> None:
    """Apply what DCQCN's two timers have done since the last call."""
    while sender.alpha_due <= now:
        sender.alpha = sender.alpha * (1.0 - ctx.gain)
        sender.alpha_due += ctx.alpha_ps
    while sender.raise_due <= now:
        sender.raises_by_time += 1
        _raise(ctx, sender)
        sender.raise_due += ctx.raise_rate_ps


@native
def _raise(ctx: PartitionState, sender: SenderCongestion) -> None:
    """Raise the target rate: fast recovery, then additive, then hyper increase."""
    most = max(sender.raises_by_time, sender.raises_by_bytes)
    least = min(sender.raises_by_time, sender.raises_by_bytes)
    if least > FAST_RECOVERY:
        sender.target += float(least - FAST_RECOVERY) * ctx.hyper_increase
    elif most > FAST_RECOVERY:
        sender.target += ctx.increase
    sender.target = min(sender.target, sender.line)
    sender.rate = 0.5 * (sender.rate + sender.target)


@native
def _cut_rate(ctx: PartitionState, sender: SenderCongestion) -> None:
    now = ctx.now
    _catch_up(ctx, sender, now)
    sender.target = sender.rate
    sender.rate = max(sender.rate * (1.0 - sender.alpha / 2.0), ctx.least_rate)
    sender.alpha += ctx.gain * (1.0 - sender.alpha)
    sender.alpha_due = now + ctx.alpha_ps
    sender.raise_due = now + ctx.raise_rate_ps
    sender.raises_by_time = 0
    sender.raises_by_bytes = 0
    sender.bytes_since = 0
    ctx.cuts += 1
