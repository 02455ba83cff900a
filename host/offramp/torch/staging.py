# SPDX-License-Identifier: Apache-2.0
"""Tensors of a GPU as pinned copies in main memory, for offloads and gloo, and their results back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from offramp.workers.accelerator import to_host, wait_for

if TYPE_CHECKING:
    import torch

    from offramp.torch.offload import Call


def wait_for_device(tensors: Sequence[torch.Tensor]) -> None:
    """Until what the caller's stream has yet to write is there: another thread reads it."""
    wait_for(tensors[0].device)


def staged(call: Call, copy: Callable[[torch.Tensor], torch.Tensor] | None = None) -> tuple[Call, Callable[[], None]]:
    """A call whose tensors are in main memory, and what brings its results back; the same call where they are there.

    Args:
        call: of tensors of one device.
        copy: makes the copy of a tensor; by default a pinned one of what lies on a GPU.
    """
    if copy is None:
        if not any(t.is_cuda for t in (*call.inputs, *call.outputs)):
            return call, lambda: None
        copy = to_host
    copies = {id(t): copy(t) for t in (*call.inputs, *call.outputs)}
    here = replace(call, inputs=[copies[id(t)] for t in call.inputs], outputs=[copies[id(t)] for t in call.outputs])

    def bring_back() -> None:
        for tensor in call.outputs:
            tensor.copy_(copies[id(tensor)])
        wait_for_device(call.outputs or call.inputs)

    return here, bring_back
