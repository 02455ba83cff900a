# SPDX-License-Identifier: Apache-2.0
"""Functions without tables, by name; every software device and the CPU's role compute them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from offramp.device import Message, Status
from offramp_base.registry import Registry

VARIANTS: Final = 16
"""Number of distinct messages of a function and size, for load."""


def counted_bytes(size: int, variant: int) -> bytes:
    """A message of ``size`` bytes for a function that accepts any content."""
    return (variant.to_bytes(8, "little") * -(-size // 8))[:size]


@dataclass(frozen=True)
class Function:
    """A function without tables.

    Attributes:
        answer: computes the answer to a request's message; raises OfframpError where there is none.
        sample: makes a message of about the given number of bytes, one of ``VARIANTS``.
        refusal: the status of a request that has no answer.
        growth: largest ratio of an answer's length to its request's.
        holds: tells whether an answer to a message is right, where devices may answer differently; by default it must
            equal ``answer``.
    """

    answer: Callable[[Message], bytes]
    sample: Callable[[int, int], bytes] = counted_bytes
    refusal: Status = Status.BAD_LENGTH
    growth: int = 1
    holds: Callable[[Message, bytes], bool] | None = None


FUNCTIONS: Final[Registry[Function]] = Registry("function", "offramp.leo_functions", "offramp.leo.functions")
