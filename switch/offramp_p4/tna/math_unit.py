# SPDX-License-Identifier: Apache-2.0
"""The math unit of a stateful ALU: a table of 16 values for the top bits of a number, and exponents.

A number ``x`` is ``i/8 * 2^e`` with ``i`` in 8..15 (for square roots ``e`` is even and ``i`` in 4..15). The
result is ``table[i] * 2^(scale + E)``, where ``E`` is ``e`` times 1, 2 or 1/2, negated for inverses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from offramp_p4 import ir
from offramp_p4.constructor import argument, member, number
from offramp_p4.source import Unsupported
from offramp_p4.types import Bits, strip

# For each operation: whether exponents are negated, their factor as a shift, the function, its largest value.
_OPERATIONS: Final[dict[str, tuple[bool, int, Callable[[float], float]]]] = {
    "MUL": (False, 0, lambda x: x),
    "SQR": (False, 1, lambda x: x * x),
    "SQRT": (False, -1, math.sqrt),
    "DIV": (True, 0, lambda x: 1 / x),
    "RSQR": (True, 1, lambda x: 1 / (x * x)),
    "RSQRT": (True, -1, lambda x: 1 / math.sqrt(x)),
}
_SCALES: Final = (-32, 31)


@dataclass(frozen=True, slots=True)
class MathUnitSettings:
    """The settings of a MathUnit."""

    invert: bool
    shift: int
    scale: int
    table: tuple[int, ...]


def unit_of(i: ir.ExternInstance) -> MathUnitSettings:
    """The settings of a MathUnit.

    Raises:
        Unsupported: an argument is not a constant.
    """
    if "op" not in i.params:
        return MathUnitSettings(bool(number(i, "invert")), number(i, "shift"), number(i, "scale"), tuple(_given(i)))
    invert, shift, function = _OPERATIONS[member(i, "op")]
    factor = number(i, "factor") if "factor" in i.params else number(i, "A") / number(i, "B")
    scale, table = _fill(shift, function, factor)
    return MathUnitSettings(invert, shift, scale, tuple(table))


def math_unit(i: ir.ExternInstance) -> Callable[[int], int]:
    """The function that a MathUnit computes.

    Raises:
        Unsupported: an argument is not a constant.
    """
    t, unit = strip(i.type_args[0]), unit_of(i)
    mask = t.mask if isinstance(t, Bits) else 0xFFFFFFFF
    return lambda x: _evaluate(x, unit) & mask


def _given(i: ir.ExternInstance) -> list[int]:
    data = argument(i, "data")
    values = [p.value for p in data.parts if isinstance(p, ir.Const)] if isinstance(data, ir.Compose) else []
    if len(values) != 16:
        raise Unsupported(i.pos, f"MathUnit {i.name} whose 16 values are not constants")
    return [int(v) for v in reversed(values)]


def _fill(shift: int, function: Callable[[float], float], factor: float) -> tuple[int, list[int]]:
    """The scale, and the table with the largest values below 256."""
    if factor <= 0:
        return 0, [0] * 16
    first = 8 if shift >= 0 else 4
    largest = factor * max(function(i / 8) for i in range(first, 16))
    scale = max(_SCALES[0], min(_SCALES[1], math.floor(math.log2(largest)) - 7))
    table = [0] * 16
    for i in range(first, 16):
        table[i] = max(0, min(255, round(function(i / 8) * factor * 2.0**-scale)))
    return scale, table


def _evaluate(x: int, unit: MathUnitSettings) -> int:
    if x <= 0:
        return 0
    shift, table = unit.shift, unit.table
    e = x.bit_length() - 1
    if shift < 0 and e & 1:
        e += 1
    i = x >> e - 3 if e >= 3 else x << 3 - e
    exponent = e * 2 if shift > 0 else e // 2 if shift < 0 else e
    by = unit.scale + (-exponent if unit.invert else exponent)
    return table[i] << by if by >= 0 else table[i] >> -by
