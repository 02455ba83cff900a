# SPDX-License-Identifier: Apache-2.0
"""Two-rate three-colour meters (see :class:`offramp_p4.state.MeterCell`)."""

from __future__ import annotations

from offramp_p4.native.runtime.context import COMMITTED, LAST_US, LEVELS, NOW_US, RATES
from offramp_p4.native.subset import Doubles, Words, native


@native
def execute_meter(ctx: Words, meter: Words, amount: int) -> int:
    """The colour of a packet that costs ``amount`` units."""
    elapsed = float(ctx[NOW_US] - meter[LAST_US]) / 1e6
    meter[LAST_US] = ctx[NOW_US]
    buckets = meter[RATES]
    numbers = Doubles(int(meter))
    for i in range(buckets):
        level = numbers[LEVELS + i] + numbers[COMMITTED + 2 * i] * elapsed
        burst = numbers[COMMITTED + 2 * i + 1]
        numbers[LEVELS + i] = min(burst, level)
    while buckets > 0:
        buckets -= 1
        if numbers[LEVELS + buckets] < float(amount):
            return buckets + 1
        numbers[LEVELS + buckets] = numbers[LEVELS + buckets] - float(amount)
    return 0
