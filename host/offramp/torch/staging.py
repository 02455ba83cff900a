# SPDX-License-Identifier: Apache-2.0
"""Pinned copies of GPU tensors in main memory, for offloads and gloo, and the return of their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from offramp.workers.accelerator import to_host, wait_for

if TYPE_CHECKING:
    import torch

    from offramp.torch.offload import CollectiveCall


def wait_for_device(tensors: Sequence[torch.Tensor]) -> None:
    """Wait until pending writes of the caller's stream are done, since another thread reads the tensors."""
    wait_for(tensors[0].device)


def staged(
    call: CollectiveCall, copy: Callable[[torch.Tensor], torch.Tensor] | None = None
) -> tuple[CollectiveCall, Callable[[], None]]:
    """A call with its tensors in main memory, and a function that returns results; unchanged if they are there already.

    Args:
        call: a call with tensors on one device.
        copy: makes the copy of a tensor; by default a pinned one of a GPU's tensor.
    """
    if copy is None:
        if not any(t.is_cuda for t in (*call.inputs, *call.outputs)):
            return call, lambda: None
        copy = to_host
    copies = {id(t): copy(t) for t in (*call.inputs, *call.outputs)}
    here = replace(call, inputs=[copies[id(t)] for t in call.inputs], outputs=[copies[id(t)] for t in call.outputs])

    def bring_back() -> None:
        for tensor in call.outputs:
            if copies[id(tensor)] is not tensor:
                tensor.copy_(copies[id(tensor)])
        wait_for_device(call.outputs or call.inputs)

    return here, bring_back
