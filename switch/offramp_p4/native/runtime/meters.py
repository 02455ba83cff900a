# SPDX-License-Identifier: Apache-2.0
"""Two-rate three-colour meters (see :class:`offramp_p4.state.MeterCell`)."""

from __future__ import annotations

from offramp_base.native.records import offset
from offramp_base.native.subset import Doubles, native
from offramp_p4.native.runtime.context import Meter, SwitchMemory


@native
def execute_meter(ctx: SwitchMemory, meter: Meter, amount: int) -> int:
    """The colour of a packet that costs ``amount`` units."""
    elapsed = float(ctx.now_us - meter.last_us) / 1e6
    meter.last_us = ctx.now_us
    buckets = meter.rates
    numbers = Doubles(meter)
    for i in range(buckets):
        level = numbers[offset(Meter.levels) + i] + numbers[offset(Meter.buckets) + 2 * i] * elapsed
        burst = numbers[offset(Meter.buckets) + 2 * i + 1]
        numbers[offset(Meter.levels) + i] = min(burst, level)
    while buckets > 0:
        buckets -= 1
        if numbers[offset(Meter.levels) + buckets] < float(amount):
            return buckets + 1
        numbers[offset(Meter.levels) + buckets] = numbers[offset(Meter.levels) + buckets] - float(amount)
    return 0


@native
def colour_aware(ctx: SwitchMemory, meter: Meter, amount: int, before: int) -> int:
    """The colour of a packet that has one (:func:`offramp_p4.engine.arrays.colour_aware`)."""
    if before == 2:
        execute_meter(ctx, meter, 0)
        return 2
    colour = execute_meter(ctx, meter, amount)
    if before != 1:
        return colour
    if colour != 0:
        return colour
    if meter.rates > 0:
        levels = Doubles(meter)
        levels[offset(Meter.levels)] = levels[offset(Meter.levels)] + float(amount)
    return 1
