# SPDX-License-Identifier: Apache-2.0
"""Functions without tables, by name: what every device in software and the CPU's role compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from offramp.device import Message, Status
from offramp_base.registry import Registry

VARIANTS: Final = 16
"""Different messages of a function and size, for load."""


def counted_bytes(size: int, variant: int) -> bytes:
    """A message of ``size`` bytes for a function that takes any."""
    return (variant.to_bytes(8, "little") * -(-size // 8))[:size]


@dataclass(frozen=True)
class Function:
    """A function.

    Attributes:
        answer: the answer to a request's message; raises OfframpError where there is none.
        sample: a message of about this many bytes, one of ``VARIANTS``.
        refusal: the status of a request that has no answer.
        growth: the most that an answer may be longer than its request, as a factor.
        holds: whether an answer to a message is right, where devices may answer differently; by default it is what
            ``answer`` says.
    """

    answer: Callable[[Message], bytes]
    sample: Callable[[int, int], bytes] = counted_bytes
    refusal: Status = Status.BAD_LENGTH
    growth: int = 1
    holds: Callable[[Message, bytes], bool] | None = None


FUNCTIONS: Final[Registry[Function]] = Registry("function", "offramp.leo_functions", "offramp.leo.functions")
