# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel's gradients through an executor.

model = DistributedDataParallel(module)
model.register_comm_hook(executor, average_gradients)
"""

import torch
import torch.distributed as dist

from offramp.themis.executor.executor import Executor
from offramp.workers.ddp import mean_of


def average_gradients(
    executor: Executor,
    bucket: dist.GradBucket,  # type: ignore[name-defined]  # defined in C++
) -> torch.futures.Future[torch.Tensor]:
    """A communication hook: the mean of a bucket over ranks, while the backward pass goes on."""
    return mean_of(executor.all_reduce(bucket.buffer()), executor.mesh.world)
