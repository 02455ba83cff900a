# SPDX-License-Identifier: Apache-2.0
"""``compress`` and ``decompress``: zlib's format, as DPDK's compressdev and smartNIC engines speak it.

Engines choose matches as they like, so compressed bytes differ between devices; what they decompress to does not.
Request: the bytes. Answer: the bytes.
"""

from __future__ import annotations

import zlib
from typing import Final

import numpy as np

from offramp.device import Message, Status
from offramp.leo.functions.registry import FUNCTIONS, Function
from offramp_base.errors import OfframpError

COMPRESS: Final = "compress"
DECOMPRESS: Final = "decompress"
LEVEL: Final = 1
"""The fastest level: what a storage system can afford on the way to the disk."""

MOST: Final = 1 << 24
"""Most bytes of an answer; a message that would grow beyond is refused before it does."""


def compress(message: Message) -> bytes:
    """``message`` compressed."""
    return zlib.compress(message, LEVEL)


def decompress(message: Message) -> bytes:
    """``message`` decompressed.

    Raises:
        OfframpError: the message is not in zlib's format, is truncated, has trailing bytes or would be longer than
            ``MOST``.
    """
    engine = zlib.decompressobj()
    try:
        content = engine.decompress(message, MOST + 1)
    except zlib.error:
        raise OfframpError(f"decompress: {len(message)} bytes that are not zlib's format") from None
    if not engine.eof or engine.unused_data or len(content) > MOST:
        raise OfframpError(f"decompress: {len(message)} bytes that do not end where the data do, or hold over {MOST}")
    return content


_NOISE: Final = 0.51
"""Fraction of a chunk that is noise: zlib leaves 51.8 % of the chunk, or little more."""


def chunk(size: int, variant: int) -> bytes:
    """Bytes that zlib shortens to about 52 % (the ratio of the thesis's files, section 6.4.1)."""
    rng = np.random.default_rng(variant)
    noise = rng.random(-(-size // 64)) < _NOISE
    content = np.repeat(noise, 64)[:size] * rng.integers(0, 256, size, np.uint8)
    return bytes(content)


def compressed_chunk(size: int, variant: int) -> bytes:
    """A :func:`chunk` of twice the size, compressed."""
    return compress(chunk(2 * size, variant))


def _holds(message: Message, answer: bytes) -> bool:
    """Whether ``answer`` is ``message`` compressed by any engine."""
    try:
        return decompress(answer) == message
    except OfframpError:
        return False


FUNCTIONS.register(COMPRESS)(Function(compress, chunk, holds=_holds))
FUNCTIONS.register(DECOMPRESS)(Function(decompress, compressed_chunk, Status.FAILED, growth=3))
