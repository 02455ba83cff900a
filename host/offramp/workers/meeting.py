# SPDX-License-Identifier: Apache-2.0
"""Rendezvous of a job's ranks: by a file where all hosts are this machine, else as torchrun has it.

PyTorch's store listens at every address of rank 0's host, and asks a name server for the names of its clients, for
which ranks without one wait ten seconds. A file does neither.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any, Final

MEETING: Final = "OFFRAMP_JOB_MEETING"
"""Variable that names the file."""


def meet(backend: str = "offramp", timeout: timedelta | None = None) -> None:
    """Call ``init_process_group`` with the rank and the number of ranks that the environment names.

    Users of the backend ``offramp`` import :mod:`offramp.torch`, which registers it in a checkout, too.
    """
    import torch.distributed as dist

    more: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
    if path := os.environ.get(MEETING):
        size = int(os.environ["WORLD_SIZE"])
        more |= {
            "store": dist.FileStore(path, size),  # type: ignore[attr-defined]
            "rank": int(os.environ["RANK"]),
            "world_size": size,
        }
    dist.init_process_group(backend, **more)
