# SPDX-License-Identifier: Apache-2.0
"""Hermod's priorities for NCCL: the traffic class of its RoCE or InfiniBand queue pairs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from offramp.hermod.endhost.priorities import CoflowPriority
from offramp_base.errors import OfframpError


def nccl_environment(data: CoflowPriority, control: CoflowPriority) -> dict[str, str]:
    """Variables for a process all of whose communicators have one priority, set before NCCL starts.

    ``NCCL_IB_TC`` is of the data, ``NCCL_IB_FIFO_TC`` (since NCCL 2.22.3) of the receivers' clear-to-send messages.
    NCCL has no such variable for its TCP transport.
    """
    return {"NCCL_IB_TC": str(data.traffic_class), "NCCL_IB_FIFO_TC": str(control.traffic_class)}


def nccl_options(mark: CoflowPriority, environment: Mapping[str, str] = os.environ) -> Any:
    """``pg_options`` for ``new_group`` or ``init_process_group``: a communicator with a priority of its own.

    Raises:
        OfframpError: PyTorch has no NCCL, or none whose communicators take a traffic class; or NCCL_IB_TC is set,
            which overrules it.
    """
    import torch.distributed as dist

    if "NCCL_IB_TC" in environment:
        raise OfframpError("NCCL_IB_TC is set and overrules the traffic class of a communicator: unset it")
    if not dist.is_nccl_available():
        raise OfframpError("this PyTorch has no NCCL")
    options: Any = dist.ProcessGroupNCCL.Options()
    if not hasattr(options.config, "traffic_class"):
        raise OfframpError("this PyTorch's NCCL takes no traffic class for a communicator; set NCCL_IB_TC instead")
    options.config.traffic_class = mark.traffic_class
    return options
