# SPDX-License-Identifier: Apache-2.0
"""Parameters of the card on Ethernet that a bitstream's builder chooses: its engines and their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from offramp_base.errors import OfframpError


class ParameterRule(NamedTuple):
    """The values that a parameter of ``udp_card`` takes, and the block RAM that they cost.

    Attributes:
        least, most: bounds; in between powers of two.
        optional: whether 0, which leaves the engine out, is a value.
        bits: bits of memory for each, at least.
        of: the parameter that adds the engine; the rule counts only where that one is not 0.
    """

    least: int
    most: int
    optional: bool = True
    bits: int = 0
    of: str = ""

    def holds(self, value: int) -> bool:
        """Whether the card takes the value."""
        return (self.optional and value == 0) or (self.least <= value <= self.most and value & (value - 1) == 0)

    def __str__(self) -> str:
        if self.least == self.most:
            return f"0 or {self.most}"
        return f"{'0, or ' if self.optional else ''}a power of two, {self.least} to {self.most}"


RULES: Final = {
    "FLOAT32S": ParameterRule(1, 1),
    "PAGES": ParameterRule(1, 256, bits=256 * (64 * 32 + 88)),
    "AGGREGATORS": ParameterRule(16, 65536, bits=32 * 32 + 33 + 16),
    "VERTICES": ParameterRule(16, 65536, optional=False, bits=96, of="AGGREGATORS"),
    "EDGES": ParameterRule(16, 65536, optional=False, bits=70, of="AGGREGATORS"),
    "EBS_LINES": ParameterRule(2, 65536, bits=4 * 512),
    "QUANTPACK_DEPTH": ParameterRule(2, 4096, bits=2 * 256),
}
"""Parameters by name; the preconditions are those of the modules in ``fpga/rtl``."""

BLOCK_BITS: Final = 18 * 1024
"""Bits of an ECP5's block RAM."""

_CARD: Final = 46
"""Blocks that the card takes without the engines of :data:`RULES` (docs/results/fpga.md)."""


def check_parameters(board: str, blocks: int, present: Mapping[str, int], given: Mapping[str, int]) -> None:
    """Refuse what a board's card cannot be built with.

    Args:
        board: its name, for the messages.
        blocks: block RAMs of its chip.
        present: the values of all of its top's parameters.
        given: values to be set.

    Raises:
        OfframpError: a name or a value is not one of the top's, does nothing, or the chip is too small for it.
    """
    names = [name for name in RULES if name in present]
    for name, value in given.items():
        if name not in names:
            expected = f"one of {', '.join(names)}" if names else "none: its top has no engines to choose"
            raise OfframpError(f"{board}: parameter {name}: expected {expected}")
        if not RULES[name].holds(value):
            raise OfframpError(f"{board}: parameter {name}={value}: expected {RULES[name]}")
    values = {**{name: present[name] for name in names}, **given}
    for name in given:
        if RULES[name].of and not values[RULES[name].of]:
            raise OfframpError(f"{board}: parameter {name}: does nothing without {RULES[name].of}")
    bits = {name: RULES[name].bits * value for name, value in values.items() if values[RULES[name].of or name]}
    need = _CARD + -(-sum(bits.values()) // BLOCK_BITS)
    if need > blocks:
        settings = ", ".join(f"{name}={values[name]}" for name, size in bits.items() if size)
        raise OfframpError(f"{board}: {settings}: at least {need} block RAMs, its chip has {blocks}")
