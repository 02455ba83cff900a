# SPDX-License-Identifier: Apache-2.0
"""Functions on a GPU: their type and their registry."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final

import torch

from offramp.device import Message
from offramp_base.errors import OfframpError
from offramp_base.registry import Registry

Form = Hashable
"""Key that messages must share to be answered together; those of one form have one length."""


@dataclass(frozen=True)
class GpuFunction:
    """A function on a GPU.

    Attributes:
        form: computes a message's form on the host; raises OfframpError if it is not a request.
        answer: maps a form and ``(n, bytes)`` messages of it, uint8 on the device, to ``(n, bytes)`` answers.
    """

    form: Callable[[Message], Form]
    answer: Callable[[Form, torch.Tensor], torch.Tensor]


GPU_FUNCTIONS: Final[Registry[GpuFunction]] = Registry("GPU function", "offramp.gpu_functions", "offramp.leo.gpu")


def of_tensors(function: Callable[[torch.Tensor], torch.Tensor]) -> GpuFunction:
    """Wrap a user's function from ``(n, bytes)`` messages of one length to ``(n, bytes)`` answers."""
    return GpuFunction(len, lambda _, messages: function(messages))


def one_by_one(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[bytes], bytes]:
    """The same for one message on the processor; other paths' answers are compared with it.

    Raises:
        OfframpError: the answer is not a ``(1, bytes)`` tensor of uint8.
    """

    def answer(message: bytes) -> bytes:
        reply: Any = function(torch.frombuffer(bytearray(message), dtype=torch.uint8)[None]) if message else None
        if not isinstance(reply, torch.Tensor) or reply.dtype != torch.uint8 or reply.ndim != 2 or len(reply) != 1:
            raise OfframpError("expected a message, and a tensor (1, bytes) of uint8 as its answer")
        return reply.cpu().numpy().tobytes()

    return answer
