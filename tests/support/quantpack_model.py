# SPDX-License-Identifier: Apache-2.0
"""``quantpack`` as its packets have it: Sylvie's model behind requests in beats of 32 bytes."""

from __future__ import annotations

import struct

import numpy as np

from offramp.device import Status
from rtl import quantpack_cases as cases

BEAT = 32
COLUMNS = 512
VERSION = 0x5150_0001
REGISTERS = {0x04: VERSION, 0x10: COLUMNS, 0x14: BEAT}


def quantised(packet: bytes) -> bytes:
    """The answer to a request for codes, of which everything has to be right."""
    bits, compact, columns, rows, number, seed = cases.HEADER.unpack_from(packet)
    numbers, values = _taken_apart(packet, rows, 4 * columns)
    wanted = cases.of_rows(bits, bool(compact), seed, numbers.view("<i8").ravel(), values.view("<f4"))
    assert packet == cases.quantise_request(wanted, number, BEAT)
    status = wanted.status
    return cases.quantise_payload(wanted, BEAT) + completion(status, 0 if status else rows, number)


def dequantised(packet: bytes) -> bytes:
    """The answer to a request for values, likewise."""
    bits, zero, columns, rows, number, seed = cases.HEADER.unpack_from(packet)
    assert not zero
    assert not seed
    bounds, codes = _taken_apart(packet, rows, -(-columns * bits // 8))
    wanted = cases.of_codes(bits, columns, codes, bounds.view("<u4"))
    assert packet == cases.dequantise_request(wanted, number, BEAT)
    return cases.dequantise_payload(wanted, BEAT) + completion(Status.OK, rows, number)


def completion(status: Status, rows: int, number: int) -> bytes:
    """The end of an answer, half a beat."""
    return struct.pack("<B3xIQ", status, rows, number)


def _taken_apart(packet: bytes, rows: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """The eight bytes of each row in front of its group, and the rows."""
    row, at, words, numbers = -(-length // BEAT) * BEAT, BEAT, [], []
    for _ in range(0, rows, BEAT // 8):
        count = min(BEAT // 8, rows - len(numbers))
        words += [packet[at + 8 * place :][:8] for place in range(count)]
        at += BEAT
        numbers += [packet[at + row * place :][:length] for place in range(count)]
        at += count * row
    return _matrix(words, 8), _matrix(numbers, length)


def _matrix(rows: list[bytes], length: int) -> np.ndarray:
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), length)
