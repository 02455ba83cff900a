# SPDX-License-Identifier: Apache-2.0
"""Three-colour meters (see :class:`offramp_p4.state.MeterCell`)."""

from __future__ import annotations

from offramp_base.native.records import offset
from offramp_base.native.subset import Doubles, Words, inlined, native
from offramp_p4.native.runtime.context import Meter, SwitchMemory
from offramp_p4.state.arrays import OVERFLOW


@native
def execute_meter(ctx: SwitchMemory, meter: Meter, amount: int, length: int) -> int:
    """The colour of a packet of ``length`` bytes that costs ``amount`` units."""
    return _counted(meter, _mark(ctx, meter, amount), length)


@native
def colour_aware(ctx: SwitchMemory, meter: Meter, amount: int, before: int, length: int) -> int:
    """The colour of a packet that has one."""
    return _counted(meter, _mark_again(ctx, meter, amount, before), length)


@inlined
def _counted(meter: Meter, colour: int, length: int) -> int:
    words = Words(meter)
    words[offset(Meter.packets) + colour] = words[offset(Meter.packets) + colour] + 1
    words[offset(Meter.octets) + colour] = words[offset(Meter.octets) + colour] + length
    return colour


@native
def _mark(ctx: SwitchMemory, meter: Meter, amount: int) -> int:
    elapsed = float(ctx.now_us - meter.last_us) / 1e6
    meter.last_us = ctx.now_us
    buckets = meter.rates
    numbers = Doubles(meter)
    spare = 0.0
    for i in range(buckets):
        rate = numbers[offset(Meter.buckets) + 2 * i]
        added = spare if rate == OVERFLOW else rate * elapsed
        level = numbers[offset(Meter.levels) + i] + added
        numbers[offset(Meter.levels) + i] = min(numbers[offset(Meter.buckets) + 2 * i + 1], level)
        spare = level - numbers[offset(Meter.levels) + i]
    if _single_rate(meter):
        return _first_that_serves(numbers, amount, 0)
    while buckets > 0:
        buckets -= 1
        if numbers[offset(Meter.levels) + buckets] < float(amount):
            return buckets + 1
        numbers[offset(Meter.levels) + buckets] = numbers[offset(Meter.levels) + buckets] - float(amount)
    return 0


@inlined
def _single_rate(meter: Meter) -> bool:
    return meter.rates == 2 and Doubles(meter)[offset(Meter.buckets) + 2] == OVERFLOW


@native
def _first_that_serves(numbers: Doubles, amount: int, first: int) -> int:
    for i in range(first, 2):
        if numbers[offset(Meter.levels) + i] >= float(amount):
            numbers[offset(Meter.levels) + i] = numbers[offset(Meter.levels) + i] - float(amount)
            return i
    return 2


@native
def _mark_again(ctx: SwitchMemory, meter: Meter, amount: int, before: int) -> int:
    if before == 0:
        return _mark(ctx, meter, amount)
    if before == 2:
        _mark(ctx, meter, 0)
        return 2
    if _single_rate(meter):
        _mark(ctx, meter, 0)
        return _first_that_serves(Doubles(meter), amount, 1)
    colour = _mark(ctx, meter, amount)
    if colour != 0:
        return colour
    if meter.rates > 0:
        levels = Doubles(meter)
        levels[offset(Meter.levels)] = levels[offset(Meter.levels)] + float(amount)
    return 1
