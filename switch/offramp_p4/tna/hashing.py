# SPDX-License-Identifier: Apache-2.0
"""Tofino's hashes: functions of a number of given width, as p4c's Tofino back end sets up the hash matrix.

A CRC is computed over the number with leading zeros up to whole bytes, an exclusive or with trailing zeros up to whole
words. A result wider than the algorithm's repeats a CRC; the upper bits of other results are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from offramp_p4 import constructor, ir
from offramp_p4.source import Unsupported
from offramp_p4.tna.symmetric import FieldPair, fold
from offramp_p4.types import Bits, strip

Hash = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class Crc:
    """Parameters of a CRC (Rocksoft model); ``reverse`` reflects the input's bytes and the result."""

    width: int
    poly: int
    reverse: bool = False
    init: int = 0
    xor: int = 0


CRCS: Final = {
    "CRC8": Crc(8, 0x07),
    "CRC16": Crc(16, 0x8005, reverse=True),
    "CRC32": Crc(32, 0x04C11DB7, reverse=True, init=0xFFFFFFFF, xor=0xFFFFFFFF),
    "CRC64": Crc(64, 0x42F0E1EBA9EA3693),
}


def crc(parameters: Crc, bits: int, width: int, *, extend: bool = True, msb: bool = False) -> Hash:
    """The low (``msb``: the high) ``width`` bits of the CRC of numbers of ``bits`` bits."""
    size, own, xor_out = (bits + 7) // 8, parameters.width, parameters.xor
    run = _reflected(parameters) if parameters.reverse else _plain(parameters)

    def value(number: int) -> int:
        result = run(number.to_bytes(size, "big")) ^ xor_out
        if width <= own:
            return result >> own - width if msb else result & (1 << width) - 1
        return _repeat(result, own, width) if extend else result

    return value


def _reflected(p: Crc) -> Callable[[bytes], int]:
    poly, start = reflect(p.poly, p.width), reflect(p.init, p.width)
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ poly if byte & 1 else byte >> 1
        table.append(byte)

    def run(data: bytes) -> int:
        register = start
        for byte in data:
            register = register >> 8 ^ table[(register ^ byte) & 0xFF]
        return register

    return run


def _plain(p: Crc) -> Callable[[bytes], int]:
    spare = max(0, 8 - p.width)  # a register narrower than a byte stands at the top of one
    top = p.width + spare - 8
    poly, mask = p.poly << spare, (1 << p.width + spare) - 1
    table = []
    for byte in range(256):
        register = byte << top
        for _ in range(8):
            register = (register << 1 ^ (poly if register >> top + 7 else 0)) & mask
        table.append(register)

    def run(data: bytes) -> int:
        register = p.init << spare
        for byte in data:
            register = (register << 8 & mask) ^ table[register >> top ^ byte]
        return register >> spare

    return run


def reflect(value: int, width: int) -> int:
    """The bits of ``value`` in reverse order."""
    return int(format(value, f"0{width}b")[::-1], 2)


def _repeat(value: int, own: int, width: int) -> int:
    out = 0
    for at in range(0, width, own):
        out |= value << at
    return out & (1 << width) - 1


def xor(word: int, bits: int, width: int) -> Hash:
    """The exclusive or of the ``word``-bit words of numbers of ``bits`` bits."""
    pad, mask = -bits % word, (1 << word) - 1

    def value(number: int) -> int:
        number <<= pad
        result = 0
        while number:
            result ^= number & mask
            number >>= word
        return result & (1 << width) - 1

    return value


def identity(width: int) -> Hash:
    """The low ``width`` bits."""
    mask = (1 << width) - 1
    return lambda number: number & mask


def random_matrix(bits: int, width: int, random: Random) -> Hash:
    """A random linear function, the same for every packet."""
    seed = random.getrandbits(width)
    columns = [random.getrandbits(width) for _ in range(bits)]

    def value(number: int) -> int:
        result = seed
        for i in range(bits):
            if number >> i & 1:
                result ^= columns[i]
        return result

    return value


def hash_of(i: ir.ExternInstance, bits: int, seed: int, pairs: tuple[FieldPair, ...] = ()) -> Hash:
    """The function of a ``Hash`` object for data of ``bits`` bits.

    Args:
        i: the object.
        bits: bits of the data.
        seed: seed of the switch, for HashAlgorithm_t.RANDOM.
        pairs: pairs of fields whose order does not change the hash.

    Raises:
        Unsupported: the algorithm needs a polynomial, and the object has none.
    """
    if pairs:
        plain = hash_of(i, bits, seed)
        return lambda number: plain(fold(number, pairs))
    name, width = constructor.member(i, "algo"), width_of(i)
    if name == "IDENTITY":
        return identity(width)
    if name == "RANDOM":
        return random_matrix(bits, width, Random(f"{seed} {i.name} {bits}"))
    if name.startswith("XOR"):
        return xor(int(name[3:]), bits, width)
    if name in CRCS:
        return crc(CRCS[name], bits, width)
    poly = constructor.argument(i, "poly") if "poly" in i.params else None
    if not isinstance(poly, ir.ExternInstance):
        raise Unsupported(i.pos, f"Hash {i.name} with HashAlgorithm_t.CUSTOM but without a CRCPolynomial")
    parameters = Crc(
        width_of(poly),
        constructor.number(poly, "coeff"),
        bool(constructor.number(poly, "reversed")),
        constructor.number(poly, "init"),
        constructor.number(poly, "xor"),
    )
    extend, msb = bool(constructor.number(poly, "extended")), bool(constructor.number(poly, "msb"))
    return crc(parameters, bits, width, extend=extend, msb=msb)


def width_of(i: ir.ExternInstance) -> int:
    """Bits of the results of an object whose first type argument is their type."""
    t = strip(i.type_args[0])
    if not isinstance(t, Bits):
        raise Unsupported(i.pos, f"{i.extern} of type {t}")
    return t.width
