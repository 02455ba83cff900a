# SPDX-License-Identifier: Apache-2.0
"""Low-pass filters and random early detection, as in :mod:`offramp_p4.tna.filter_state`."""

from __future__ import annotations

from typing import Final

from offramp_base.native.records import Record
from offramp_base.native.subset import high_product, native
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.randomness import draw_bits
from offramp_p4.tna.filter_state import CHANCE_BITS, FRACTION_BITS

_MOST: Final = (1 << 62) - 1


class Filter(Record):
    """A cell, in the order of :class:`offramp_p4.tna.filter_state.FilterWord`."""

    rate: int
    rise: int
    fall: int
    scale: int
    level: int
    last_us: int
    low: int
    high: int
    chance: int


@native
def _decayed(amount: int, decay: int, time_us: int) -> int:
    if decay == 0:
        return 0
    if time_us <= 0:
        return amount
    left = -1
    while time_us > 0:
        if time_us & 1 != 0:
            left = high_product(left, decay)
        decay = high_product(decay, decay)
        time_us = time_us >> 1
    return high_product(amount, left)


@native
def _pass_level(ctx: SwitchMemory, cell: Filter, value: int) -> int:
    time_us = ctx.now_us - cell.last_us
    cell.last_us = ctx.now_us
    level = cell.level
    target = value << FRACTION_BITS
    if cell.rate != 0:
        level = _decayed(level, cell.fall, time_us) + target
    elif target >= level:
        level = target - _decayed(target - level, cell.rise, time_us)
    else:
        level = target + _decayed(level - target, cell.fall, time_us)
    level = min(level, _MOST)
    cell.level = level
    return level


@native
def filtered(ctx: SwitchMemory, cell: Filter, value: int) -> int:
    """The result of a low-pass filter."""
    level = _pass_level(ctx, cell, value) >> FRACTION_BITS
    return level >> cell.scale if cell.scale < 64 else 0


@native
def drops(ctx: SwitchMemory, cell: Filter, value: int) -> int:
    """Whether random early detection drops a packet."""
    level = _pass_level(ctx, cell, value) >> FRACTION_BITS
    if level < cell.low:
        return 0
    if level >= cell.high:
        return 1
    return int(draw_bits(ctx, CHANCE_BITS) < cell.chance * (level - cell.low) // (cell.high - cell.low))
