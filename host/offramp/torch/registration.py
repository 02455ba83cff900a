# SPDX-License-Identifier: Apache-2.0
"""Registration of the backend's name with ``torch.distributed``."""

from __future__ import annotations

from typing import Any


def register() -> None:
    """Make ``offramp`` a backend for tensors in main memory and on GPUs; a second call does nothing."""
    import torch.distributed as dist

    from offramp.torch.types import NAME

    if not dist.is_available() or NAME in dist.Backend.backend_list:
        return
    from offramp.torch import gloo_threads
    from offramp.torch.gates import open_gates

    dist.Backend.register_backend(NAME, _create, extended_api=True, devices=["cpu", "cuda"])
    open_gates()
    gloo_threads.watch()


def _create(options: Any, _: Any) -> Any:
    from offramp.torch.create import create

    return create(options)
