# SPDX-License-Identifier: Apache-2.0
"""Rendezvous of our own ranks: by a file where all hosts are this machine, else as torchrun has it.

PyTorch's store listens at every address of rank 0's host; a file does not listen.
"""

from __future__ import annotations

import os
from typing import Final

MEETING: Final = "OFFRAMP_JOB_MEETING"


def meet() -> None:
    """``init_process_group("offramp")``."""
    import torch.distributed as dist

    import offramp.torch

    assert offramp.torch is not None  # which registers the backend in a checkout, too
    path = os.environ.get(MEETING)
    if path is None:
        dist.init_process_group("offramp")
        return
    size = int(os.environ["WORLD_SIZE"])
    store = dist.FileStore(path, size)  # type: ignore[attr-defined]
    dist.init_process_group("offramp", store=store, rank=int(os.environ["RANK"]), world_size=size)
