# SPDX-License-Identifier: Apache-2.0
"""Messages that functions understand, for load on applications that only their YAML describes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np

from offramp.leo.functions import compress, ebs, kvs, reduce

VARIANTS: Final = 16
"""Different messages of a function and size."""
_TEXT_SHARE: Final = 0.55
"""Of a chunk that is noise: zlib leaves 51.8 % of a chunk, or little more."""


def chunk(size: int, seed: int) -> bytes:
    """Bytes that zlib shortens to about 52 % (the ratio of the thesis's files, section 6.4.1)."""
    rng = np.random.default_rng(seed)
    content = np.zeros(size, np.uint8)
    noise = rng.random(-(-size // 64)) < _TEXT_SHARE - 0.04
    content.reshape(-1)[:] = np.repeat(noise, 64)[:size] * rng.integers(0, 256, size, np.uint8)
    return content.tobytes()


def _kvs(size: int, number: int) -> bytes:
    del size
    return (number + 1).to_bytes(8, "little")


def _ebs(size: int, number: int) -> bytes:
    del size
    return ebs.REQUEST.pack(0, 1, number, 0)


def _reduce(size: int, number: int) -> bytes:
    count = max((size - reduce.HEADER.size) // 8, 1)
    vectors = np.random.default_rng(number).integers(-(2**20), 2**20, (2, count)).astype(np.int32)
    return reduce.request(reduce.Type.INT32, vectors)


def _decompress(size: int, number: int) -> bytes:
    return compress.compress(chunk(2 * size, number))


_MAKERS: Final[dict[str, Callable[[int, int], bytes]]] = {
    kvs.NAME: _kvs,
    ebs.NAME: _ebs,
    reduce.NAME: _reduce,
    compress.COMPRESS: chunk,
    compress.DECOMPRESS: _decompress,
}


@cache
def sample(function: str, size: int, variant: int) -> bytes:
    """A message for a function, of about ``size`` bytes where it can have any."""
    maker = _MAKERS.get(function)
    return maker(size, variant) if maker is not None else (variant.to_bytes(8, "little") * -(-size // 8))[:size]
