"""DistributedDataParallel's gradients through an executor.

model = DistributedDataParallel(module)
model.register_comm_hook(executor, average_gradients)
"""

from concurrent.futures import Future

import torch
import torch.distributed as dist

from offramp.collective.executor.executor import Executor


def average_gradients(
    executor: Executor,
    bucket: dist.GradBucket,  # type: ignore[name-defined]  # defined in C++
) -> torch.futures.Future[torch.Tensor]:
    """A communication hook: the mean of a bucket over ranks, while the backward pass goes on."""
    result: torch.futures.Future[torch.Tensor] = torch.futures.Future()

    def deliver(done: Future[torch.Tensor]) -> None:
        error = done.exception()
        if error is not None:
            result.set_exception(error)  # type: ignore[arg-type]  # the stub says Tensor
        else:
            result.set_result(done.result().div_(executor.mesh.world))

    executor.all_reduce(bucket.buffer()).add_done_callback(deliver)
    return result
