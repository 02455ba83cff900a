# SPDX-License-Identifier: Apache-2.0
"""Packets of the engines on a chip, in beats of 16 bytes (``fpga/README.md``), from requests of LEO's functions."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from offramp.device import Status
from offramp.fpga.packets import BEAT, HEADER, answer
from offramp.fpga.udp import MOST_PACKET
from offramp.leo.functions import reduce

Result = tuple[Status, tuple[bytes, ...]]
"""Status of a packet, and what it adds to each part of the request's answer; nothing unless the status is OK."""


class RequestPart(NamedTuple):
    """A packet of a request that takes several, and what its answer means."""

    packet: bytes
    result: Callable[[bytes], Result]


def result(packet: bytes, elements: int, size: int) -> tuple[Status, bytes]:
    """Status and content of an answer.

    FAILED, without content, if ``packet`` is not an answer, or has another number of elements of ``size`` bytes.
    """
    parsed = answer(packet)
    if parsed is None:
        return Status.FAILED, b""
    if parsed.status != Status.OK:
        return parsed.status, b""
    length = elements * size
    if parsed.elements != elements or len(parsed.payload) != -(-length // BEAT) * BEAT:
        return Status.FAILED, b""
    return Status.OK, parsed.payload[:length]


def sums(message: bytes, depth: int) -> list[RequestPart] | Status:
    """Packets to ``reduce`` whose answers together are those of a request, or how it ends if its length is wrong.

    ``depth``: vector bytes that the engine holds, a multiple of 16.
    """
    if len(message) < reduce.HEADER.size:
        return Status.BAD_LENGTH
    kind, vectors, zeros, count = struct.unpack_from("<BBHI", message)
    size = 2 if kind == reduce.ElementType.BFLOAT16 else 4
    whole = reduce.HEADER.size + vectors * count * size
    if kind > reduce.ElementType.BFLOAT16 or zeros or not 1 <= vectors <= reduce.MOST or len(message) != whole:
        return Status.BAD_LENGTH
    most = min(depth, (MOST_PACKET - BEAT) // vectors // BEAT * BEAT)
    packets = []
    for at in range(0, max(count * size, 1), most):
        length = min(most, count * size - at)
        head = struct.pack("<BBHI", kind, vectors, 0, length // size)
        starts = (reduce.HEADER.size + vector * count * size + at for vector in range(vectors))
        parts = [message[start : start + length] for start in starts]
        parts[:-1] = [part.ljust(-(-length // BEAT) * BEAT, b"\0") for part in parts[:-1]]
        packets.append(RequestPart(HEADER.pack(head, 0) + b"".join(parts), partial(_sum, length // size, size)))
    return packets


def _sum(elements: int, size: int, packet: bytes) -> Result:
    status, content = result(packet, elements, size)
    return status, (content,) if status == Status.OK else ()
