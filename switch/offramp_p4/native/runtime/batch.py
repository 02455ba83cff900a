# SPDX-License-Identifier: Apache-2.0
"""Packets in arrays: run to completion, and laid out again."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Bytes, Ints, Words, below, clear, copy, inlined, native, prefetch
from offramp_p4.native.runtime.again import begin_frame, end_frame
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.pipeline import (
    NO_FIELDS,
    NORMAL,
    pass_again,
    pass_ingress,
    pass_unchanged,
)
from offramp_p4.native.runtime.program import foresee_roots, foresee_rows, foresee_slots
from offramp_p4.native.runtime.waiting import end_steps, next_waiting, none_waits

_AHEAD: Final = 2
"""Packets between the hint and the look-up: lines of the cache take as long as one or two of them."""


@native
def run_batch(ctx: SwitchMemory, frames: Bytes, stride: int, lengths: Ints, ports: Ints, count: int) -> int:
    """Run ``count`` packets to completion, one after the other; 1, and nothing done, if a length is wrong."""
    for i in range(count):
        if below(stride, lengths[i]):
            return 1
    for i in range(count):
        foresee(ctx, frames, stride, lengths, i, count)
        _run(ctx, int(frames + i * stride), lengths[i], ports[i])
    return 0


@native
def foresee(ctx: SwitchMemory, frames: Bytes, stride: int, lengths: Ints, i: int, count: int) -> None:
    """Hint where the look-ups of packets behind number ``i`` of a batch will begin; that packet comes next."""
    _foresee(ctx, frames, stride, lengths, i, count, 0)


@inlined
def _foresee(ctx: SwitchMemory, frames: Bytes, stride: int, lengths: Ints, i: int, count: int, scattered: int) -> None:
    if i == 0:
        for k in range(min(3 * _AHEAD, count)):
            foresee_roots(ctx, _frame(frames, stride, k, scattered), lengths[k])
        for k in range(min(2 * _AHEAD, count)):
            foresee_slots(ctx, _frame(frames, stride, k, scattered), lengths[k])
        for k in range(min(_AHEAD, count)):
            foresee_rows(ctx, _frame(frames, stride, k, scattered), lengths[k])
    prefetch(Words(int(_frame(frames, stride, min(i + 4 * _AHEAD, count - 1), scattered))))
    last = i + 3 * _AHEAD
    if last < count:
        foresee_roots(ctx, _frame(frames, stride, last, scattered), lengths[last])
    later = i + 2 * _AHEAD
    if later < count:
        foresee_slots(ctx, _frame(frames, stride, later, scattered), lengths[later])
    soon = i + _AHEAD
    if soon < count:
        foresee_rows(ctx, _frame(frames, stride, soon, scattered), lengths[soon])


@inlined
def _frame(frames: Bytes, stride: int, i: int, scattered: int) -> Bytes:
    """A frame of a batch: in a row of ``stride`` bytes, or ``scattered``, at the address that stands there."""
    return Bytes(Words(frames)[i]) if scattered != 0 else frames + i * stride


@native
def run_burst(ctx: SwitchMemory, frames: Words, lengths: Ints, ports: Ints, count: int) -> int:
    """Run a burst of packets by their addresses; they leave as :class:`~.context.DepartingFrame` says."""
    for i in range(count):
        _foresee(ctx, Bytes(frames), 8, lengths, i, count, 1)
        ctx.origin = frames[i]
        ctx.number = i
        _run(ctx, frames[i], lengths[i], ports[i])
    return 0


@native
def _run(ctx: SwitchMemory, frame: int, length: int, port: int) -> None:
    ctx.packets_in += 1
    ctx.steps = ctx.max_steps
    left = ctx.max_passes
    begin_frame(ctx, frame)
    none_waits(ctx)
    pass_ingress(ctx, length, port, NORMAL, 0, NO_FIELDS, 0)
    while ctx.waiting > 0 and ctx.steps >= 0:
        left -= 1
        if left <= 0:
            ctx.looped += ctx.waiting
            ctx.waiting = 0
            break
        if ctx.next_first != 0:
            pass_unchanged(ctx)
        else:
            pass_again(ctx, next_waiting(ctx))
    end_frame(ctx)
    end_steps(ctx)


@native
def gather(into: Bytes, width: int, frames: Bytes, index: Words, count: int) -> None:
    """Lay frames that are one behind the other out as rows of ``width`` bytes, padded with zeros."""
    for i in range(count):
        length = index[2 * i + 1]
        copy(into, frames, length)
        clear(into + length, width - length)
        frames = frames + length
        into = into + width
