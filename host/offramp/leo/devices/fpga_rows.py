# SPDX-License-Identifier: Apache-2.0
"""Packets of ``quantpack`` behind Ethernet (``fpga/README.md``), from requests of :mod:`offramp.leo.functions.sylvie`.

The engine's beats have 32 bytes, twice those of the other engines on a card; the completion of an answer is 16 bytes. A
request is cut into packets of as many rows as fit a datagram with their answer. A row is in one packet.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.device import Status
from offramp.fpga.packets import BEAT as COMPLETION
from offramp.fpga.packets import answer
from offramp.fpga.udp import MOST_PACKET
from offramp.leo.devices.fpga_packets import RequestPart, Result
from offramp.leo.functions import sylvie

BEAT: Final = 32
_WORD: Final = 8
_GROUP: Final = BEAT // _WORD
"""Rows whose numbers, or bounds, share a beat in front of them or behind."""
_MOST_ANSWER: Final = (MOST_PACKET - COMPLETION) // BEAT * BEAT
"""Bytes of an answer before its completion; of longer ones the card drops the rest, and says OUT_OF_BOUNDS."""
_HEADER: Final = struct.Struct("<BBHIQQ")
"""Bits, compact, columns, rows, number of the request, seed."""
Bytes = npt.NDArray[np.uint8]


def quantise(message: bytes, most_columns: int) -> list[RequestPart] | Status:
    """The packets for an engine whose rows have up to ``most_columns``, or the status of a request without any."""
    if len(message) < sylvie.HEADER.size:
        return Status.BAD_LENGTH
    bits, compact, zeros, rows, columns, more_zeros, seed = sylvie.HEADER.unpack_from(message)
    if bits not in sylvie.BITS or compact > 1 or zeros or more_zeros or not columns:
        return Status.BAD_LENGTH
    if len(message) != sylvie.HEADER.size + rows * (_WORD + 4 * columns):
        return Status.BAD_LENGTH
    step = _step(4 * columns, _code_bytes(columns, bits))
    if columns > most_columns or not step:
        return Status.OUT_OF_BOUNDS
    numbers = _matrix(message, sylvie.HEADER.size, rows, _WORD)
    values = _matrix(message, sylvie.HEADER.size + rows * _WORD, rows, 4 * columns)
    parts = []
    for at in range(0, max(rows, 1), step):
        count = min(step, rows - at)
        head = _HEADER.pack(bits, compact, columns, count, 0, seed)
        packet = _packet(head, numbers[at : at + step], values[at : at + step])
        parts.append(RequestPart(packet, partial(_codes, count, _code_bytes(columns, bits))))
    return parts


def dequantise(message: bytes, most_columns: int) -> list[RequestPart] | Status:
    """Likewise, for rows from their codes."""
    if len(message) < sylvie.BACK_HEADER.size:
        return Status.BAD_LENGTH
    bits, zero, zeros, rows, columns, more_zeros = sylvie.BACK_HEADER.unpack_from(message)
    if bits not in sylvie.BITS or zero or zeros or more_zeros or not columns:
        return Status.BAD_LENGTH
    width, at = _code_bytes(columns, bits), sylvie.BACK_HEADER.size
    if len(message) != at + rows * (width + _WORD):
        return Status.BAD_LENGTH
    step = _step(width, 4 * columns)
    if columns > most_columns or not step:
        return Status.OUT_OF_BOUNDS
    codes = _matrix(message, at, rows, width)
    ends = (_matrix(message, at + rows * (width + each), rows, 4) for each in (0, 4))
    bounds = np.concatenate(list(ends), axis=1)
    parts = []
    for at in range(0, max(rows, 1), step):
        count = min(step, rows - at)
        packet = _packet(_HEADER.pack(bits, 0, columns, count, 0, 0), bounds[at : at + step], codes[at : at + step])
        parts.append(RequestPart(packet, partial(_values, count, 4 * columns)))
    return parts


def _code_bytes(columns: int, bits: int) -> int:
    """Bytes of the codes of a row."""
    return -(-columns * bits // 8)


def _whole(length: int) -> int:
    """Bytes of the beats that hold so many."""
    return -(-length // BEAT) * BEAT


def _step(asked: int, answered: int) -> int:
    """Rows of a packet, with so many bytes each in it and in its answer; 0 if no row fits."""
    row, back, most = _whole(asked), _whole(answered), MOST_PACKET // BEAT
    fits = (
        count
        for count in range(1, most)
        if BEAT + _whole(count * _WORD) + count * row <= MOST_PACKET and count * back <= _MOST_ANSWER
    )
    return max(fits, default=0)


def _matrix(message: bytes, at: int, rows: int, length: int) -> Bytes:
    """``(rows, length)`` bytes of a message."""
    return np.frombuffer(message, np.uint8, rows * length, at).reshape(rows, length)


def _packet(head: bytes, words: Bytes, rows: Bytes) -> bytes:
    """A header, then groups: a beat of words, and rows from a beat of their own each, the last one cut off."""
    count, length = rows.shape
    beats = np.zeros((count, _whole(length)), np.uint8)
    beats[:, :length] = rows
    parts = [head.ljust(BEAT, b"\0")]
    for at in range(0, count, _GROUP):
        parts.append(words[at : at + _GROUP].tobytes().ljust(BEAT, b"\0"))
        parts.append(beats[at : at + _GROUP].tobytes())
    packet = b"".join(parts)
    return packet[: len(packet) - (_whole(length) - length if count else 0)]


def _payload(reply: bytes, rows: int, length: int) -> tuple[Status, bytes]:
    """Status and content of an answer; FAILED if it is none, or has another number of rows or bytes."""
    parsed = answer(reply)
    if parsed is None:
        return Status.FAILED, b""
    if parsed.status != Status.OK:
        return parsed.status, b""
    good = parsed.elements == rows and len(parsed.payload) == length
    return (Status.OK, parsed.payload) if good else (Status.FAILED, b"")


def _codes(rows: int, width: int, reply: bytes) -> Result:
    """Codes, least and greatest values of the rows."""
    row = _whole(width)
    status, payload = _payload(reply, rows, rows * row + _whole(rows * _WORD))
    if status != Status.OK:
        return status, ()
    codes, bounds = [], []
    content = np.frombuffer(payload, np.uint8)
    for at in range(0, rows, _GROUP):
        count = min(_GROUP, rows - at)
        beats, content = content[: count * row], content[count * row :]
        codes.append(beats.reshape(count, row)[:, :width].tobytes())
        bounds.append(content[: count * _WORD].reshape(count, 2, 4))
        content = content[BEAT:]
    least, greatest = (b"".join(group[:, end].tobytes() for group in bounds) for end in (0, 1))
    return Status.OK, (b"".join(codes), least, greatest)


def _values(rows: int, length: int, reply: bytes) -> Result:
    """The rows."""
    row = _whole(length)
    status, payload = _payload(reply, rows, rows * row)
    if status != Status.OK:
        return status, ()
    return Status.OK, (_matrix(payload, 0, rows, row)[:, :length].tobytes(),)
