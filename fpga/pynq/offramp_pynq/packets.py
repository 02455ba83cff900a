# SPDX-License-Identifier: Apache-2.0
"""The packets of the engines' streams: a header beat and vectors to the engine, vectors and a completion beat back."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

COMPLETION = struct.Struct("<B3xIQ")
"""Status, elements before it, number of the request."""

HEADER = struct.Struct("<8sQ")
"""The function's own header, number of the request."""


class Answer(NamedTuple):
    """An engine's answer; ``count`` elements are in ``payload``, padded to whole beats."""

    status: int
    count: int
    number: int
    payload: bytes


def request(head: bytes, number: int, vectors: Sequence[bytes], beat: int) -> bytes:
    """A request packet, each vector padded to whole beats except for the last one."""
    parts = [HEADER.pack(head, number).ljust(beat, b"\0")]
    parts += [vector.ljust(-(-len(vector) // beat) * beat, b"\0") for vector in vectors[:-1]]
    return b"".join([*parts, *vectors[-1:]])


def answer(packet: bytes, beat: int) -> Answer:
    """An answer packet taken apart.

    Raises:
        ValueError: it has no completion.
    """
    if len(packet) < beat:
        raise ValueError(f"an answer of {len(packet)} bytes has no completion of {beat} bytes")
    status, count, number = COMPLETION.unpack_from(packet, len(packet) - beat)
    return Answer(status, count, number, packet[:-beat])
