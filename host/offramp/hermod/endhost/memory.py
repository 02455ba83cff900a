# SPDX-License-Identifier: Apache-2.0
"""Tensors as bytes."""

from __future__ import annotations

import torch

from offramp_base.errors import OfframpError


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """A contiguous tensor's memory, ``(bytes,)`` uint8."""
    flat = tensor.detach().as_strided((tensor.numel(),), (1,))  # an axis of one entry may have any stride
    return flat.view(torch.uint8)


def as_memory(data: torch.Tensor) -> memoryview:
    """A contiguous tensor's memory for sockets; keeps the tensor's memory alive."""
    return memoryview(data.numpy())  # type: ignore[arg-type]  # NumPy's arrays are buffers before Python 3.12 too


def landing(tensor: torch.Tensor) -> torch.Tensor:
    """The memory in which bytes for a tensor arrive: its own, or contiguous memory of its shape."""
    own = tensor.detach()
    return own if own.is_contiguous() else torch.empty_like(own, memory_format=torch.contiguous_format)


def check_in_memory(tensor: torch.Tensor, what: str) -> None:
    """Check that sockets can access a tensor's memory.

    Raises:
        OfframpError: it is elsewhere, or not dense.
    """
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        raise OfframpError(f"{what} is on {tensor.device}, {tensor.layout}: expected a dense tensor in main memory")
