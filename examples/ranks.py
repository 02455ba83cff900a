# SPDX-License-Identifier: Apache-2.0
"""Two ranks on this machine for examples that run as they stand; under torchrun each process is one of them."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def _rank(rank: int, work: Callable[[], None], backend: str, store: str) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group(backend, init_method=store, rank=rank, world_size=2)
    work()
    dist.destroy_process_group()


def run(work: Callable[[], None], backend: str) -> None:
    """Run ``work`` of a module as each rank of ``torch.distributed`` with this backend."""
    if "TORCHELASTIC_RUN_ID" in os.environ:  # torchrun has started us
        dist.init_process_group(backend)
        work()
        dist.destroy_process_group()
        return
    with tempfile.TemporaryDirectory() as folder:
        store = (Path(folder) / "store").as_uri()
        mp.start_processes(_rank, (work, backend, store), nprocs=2, start_method="fork")  # imports are done already
