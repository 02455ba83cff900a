# SPDX-License-Identifier: Apache-2.0
"""``reduce`` on a GPU: the sums of :mod:`offramp.leo.functions.reduce`, to the bit."""

from __future__ import annotations

from typing import Final

import torch

from offramp.device import Message
from offramp.leo.functions import reduce
from offramp.leo.functions.reduce import HEADER, ElementType
from offramp.leo.gpu.registry import GPU_FUNCTIONS, Form, GpuFunction

_DTYPE: Final = {
    ElementType.INT32: torch.int32,
    ElementType.FIXED: torch.int32,
    ElementType.FLOAT32: torch.float32,
    ElementType.BFLOAT16: torch.bfloat16,
}


def form(message: Message) -> Form:
    """Type of the elements, number of vectors, elements of a vector.

    Raises:
        OfframpError: the message is not such a request.
    """
    return reduce.form(message)


def answer(form: Form, messages: torch.Tensor) -> torch.Tensor:
    """``(n, bytes)`` sums of ``(n, bytes)`` requests of one form."""
    assert isinstance(form, tuple)
    kind, number, count = form
    vectors = messages[:, HEADER.size :].contiguous().view(_DTYPE[kind]).view(len(messages), number, count)
    sums = _total(kind, vectors).contiguous()
    return sums.view(torch.uint8).view(len(messages), count * sums.element_size())


def _total(kind: ElementType, vectors: torch.Tensor) -> torch.Tensor:
    """``(n, count)`` sums over the second dimension of ``(n, number, count)``."""
    if kind is ElementType.INT32:
        return vectors.sum(1, dtype=torch.int32)
    if kind is ElementType.FIXED:
        limits = torch.iinfo(torch.int32)
        return vectors.sum(1, dtype=torch.int64).clamp(limits.min, limits.max).to(torch.int32)
    total = _tree(list(vectors.float().unbind(1)))
    if kind is ElementType.FLOAT32:
        return total
    bits = total.view(torch.int32)
    rounded = bits + 0x7FFF + (bits >> 16 & 1)
    return (torch.where(bits == reduce.NAN, bits, rounded) >> 16).to(torch.int16)


def _tree(level: list[torch.Tensor]) -> torch.Tensor:
    """Sum as a balanced tree; a NaN is always the same quiet one."""
    while len(level) > 1:
        last = level[len(level) & ~1 :]
        level = [a + b for a, b in zip(level[0::2], level[1::2], strict=False)] + last
    quiet = torch.full_like(level[0].view(torch.int32), reduce.NAN).view(torch.float32)
    return torch.where(level[0].isnan(), quiet, level[0])


GPU_FUNCTIONS.register(reduce.NAME)(GpuFunction(form, answer))
