# SPDX-License-Identifier: Apache-2.0
"""The device on which a rank computes, and copies of tensors between it and main memory for sending.

Networks, switches and cards are reached from main memory, so data leaves a GPU through pinned memory, on a separate
stream: the copy waits for what was launched before it, but not for what other threads launch meanwhile.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Final

import torch

from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from offramp.workers.group import Group

CPU, CUDA = "cpu", "cuda"
AS_STORED, BFLOAT16 = "dtype", "bfloat16"
_ROW: Final = 64


def open_device(name: str, group: Group) -> torch.device:
    """The device of this rank; all ranks of ``group`` call it together, with the same name.

    The ranks of a machine take its GPUs in turn and share them if there are fewer. If each has its own, the group's
    collectives on GPU tensors run over NCCL from now on.

    Raises:
        SettingsError: the name is ``cuda``, and PyTorch finds no GPU on this rank's machine.
    """
    if name == CPU:
        return torch.device(CPU)
    if not torch.cuda.is_available():
        raise SettingsError("device", f"rank {group.rank}: PyTorch {torch.__version__} finds no GPU", name)
    hosts = group.introduce(socket.gethostname().encode()[:_ROW])
    device = torch.device(CUDA, hosts[: group.rank].count(hosts[group.rank]) % torch.cuda.device_count())
    torch.cuda.set_device(device)
    cards = group.introduce(hosts[group.rank] + str(torch.cuda.get_device_properties(device).uuid).encode())
    if len(set(cards)) == len(cards):
        group.use_nccl()
    return device


def autocast(device: torch.device, precision: str) -> AbstractContextManager[object]:
    """Compute matrix products within the block in bfloat16 if ``precision`` asks so; weights and sums do not change."""
    if precision == AS_STORED:
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16)


def wait_for(device: torch.device) -> None:
    """Wait until what this thread has launched on a GPU is done."""
    if device.type == CUDA:
        torch.cuda.current_stream(device).synchronize()


@contextmanager
def own_stream(device: torch.device) -> Iterator[None]:
    """On a GPU, give this thread its own stream within the block, ordered after what was launched before."""
    if device.type != CUDA:
        yield
        return
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        yield
        stream.synchronize()


def to_host(values: torch.Tensor) -> torch.Tensor:
    """``values`` in main memory: the same tensor, or a pinned copy of a GPU's tensor."""
    if not values.is_cuda:
        return values
    stream = _copies(values.device)
    stream.wait_stream(torch.cuda.current_stream(values.device))
    with torch.cuda.stream(stream):
        host = torch.empty(values.shape, dtype=values.dtype, pin_memory=True).copy_(values, non_blocking=True)
    stream.synchronize()
    return host


@cache
def _copies(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
