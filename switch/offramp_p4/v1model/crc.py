# SPDX-License-Identifier: Apache-2.0
"""Custom CRCs: ``HashAlgorithm.crc16_custom`` and ``crc32_custom``, whose parameters a control plane sets by call."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.engine.core import argument
from offramp_p4.engine.walk import blocks, nodes
from offramp_p4.types import Enum
from offramp_p4.v1model.hashing import crc16

if TYPE_CHECKING:
    from collections.abc import Mapping

_ALGORITHM_ARGUMENT: Final = {
    "hash": 1,
    "verify_checksum": 3,
    "verify_checksum_with_payload": 3,
    "update_checksum": 3,
    "update_checksum_with_payload": 3,
}
"""The position of the algorithm among the arguments of v1model's functions."""
WIDTHS: Final = {"crc16_custom": 16, "crc32_custom": 32}
"""Bits of each custom CRC."""


@dataclass(frozen=True, slots=True)
class CrcParameters:
    """Parameters of a CRC, as bmv2's services name them.

    Attributes:
        width: bits, 16 or 32.
        polynomial: without its highest term, the lowest coefficient in bit 0.
        initial_remainder: start of the remainder.
        final_xor_value: combined with the remainder at the end.
        data_reflected: each byte enters with its bit 0 first.
        remainder_reflected: the remainder is turned round before ``final_xor_value``.
    """

    width: int
    polynomial: int
    initial_remainder: int
    final_xor_value: int
    data_reflected: bool
    remainder_reflected: bool

    @property
    def start(self) -> int:
        """The first remainder, turned round where bytes enter with their bit 0 first."""
        start = self.initial_remainder
        return reversed_bits(start, self.width) if self.data_reflected else start

    def table(self) -> list[int]:
        """The remainder of each byte, turned round likewise."""
        mask, top = (1 << self.width) - 1, 1 << (self.width - 1)
        out = []
        for byte in range(256):
            remainder = (reversed_bits(byte, 8) if self.data_reflected else byte) << (self.width - 8)
            for _ in range(8):
                remainder = (remainder << 1 ^ self.polynomial if remainder & top else remainder << 1) & mask
            out.append(reversed_bits(remainder, self.width) if self.data_reflected else remainder)
        return out

    def function(self) -> Callable[[bytes], int]:
        """The CRC of bytes."""
        if self == FIRST[f"crc{self.width}_custom"]:
            return crc16 if self.width == 16 else zlib.crc32
        start, table, mask, shift = self.start, self.table(), (1 << self.width) - 1, self.width - 8

        def crc(data: bytes) -> int:
            remainder = start
            if self.data_reflected:
                for byte in data:
                    remainder = remainder >> 8 ^ table[(remainder ^ byte) & 0xFF]
            else:
                for byte in data:
                    remainder = remainder << 8 & mask ^ table[remainder >> shift ^ byte]
            if self.remainder_reflected != self.data_reflected:
                remainder = reversed_bits(remainder, self.width)
            return remainder ^ self.final_xor_value

        return crc


FIRST: Final[Mapping[str, CrcParameters]] = {
    "crc16_custom": CrcParameters(16, 0x8005, 0, 0, True, True),
    "crc32_custom": CrcParameters(32, 0x04C11DB7, 0xFFFFFFFF, 0xFFFFFFFF, True, True),
}
"""bmv2's parameters until they are set: those of CRC-16/ARC and of IEEE 802.3."""


def reversed_bits(value: int, width: int) -> int:
    """The lowest ``width`` bits of a number in the opposite order."""
    return int(f"{value:0{width}b}"[::-1], 2)


def custom_algorithm(e: ir.ExternCall) -> str | None:
    """The custom CRC that a call computes; None if it computes none."""
    position = None if e.extern else _ALGORITHM_ARGUMENT.get(e.method)
    if position is None:
        return None
    algorithm = argument(e, position)
    if not isinstance(algorithm, ir.Const) or not isinstance(algorithm.type, Enum):
        return None
    name = algorithm.type.member(int(algorithm.value))
    return name if name in WIDTHS else None


class CustomCrcs:
    """The custom CRCs of a program, which it numbers as it stands, and the parameters that they have.

    Nothing is done for programs without them until somebody asks.
    """

    def __init__(self, program: ir.Program) -> None:
        self._program = program
        self._functions: dict[ir.ExternCall, Callable[[bytes], int]] = {}
        self.set_to: dict[ir.ExternCall, CrcParameters] = {}

    @cached_property
    def numbers(self) -> dict[ir.ExternCall, int]:
        """The calls that compute one, with their numbers."""
        calls = dict.fromkeys(
            node
            for block in blocks(self._program.main)
            for node in nodes(block, into_declarations=True)
            if isinstance(node, ir.ExternCall) and custom_algorithm(node) is not None
        )
        return {call: number for number, call in enumerate(calls)}

    def set(self, call: ir.ExternCall, parameters: CrcParameters) -> None:
        """Set the parameters of one call, from the next packet on."""
        self.set_to[call] = parameters
        self._functions.pop(call, None)

    def reset(self) -> None:
        """Give all calls bmv2's first parameters."""
        self.set_to.clear()
        self._functions.clear()

    def compute(self, call: ir.ExternCall, data: bytes) -> int:
        """The CRC of bytes by the parameters that a call has now."""
        function = self._functions.get(call)
        if function is None:
            parameters = self.set_to.get(call) or FIRST[custom_algorithm(call) or ""]
            function = self._functions[call] = parameters.function()
        return function(data)
