# SPDX-License-Identifier: Apache-2.0
"""What communication hooks of DistributedDataParallel have in common."""

from __future__ import annotations

from concurrent.futures import Future

import torch


def mean_of(sums: Future[torch.Tensor], ranks: int) -> torch.futures.Future[torch.Tensor]:
    """The mean over ``ranks`` of what will be their sum, in PyTorch's kind of future; the sum is overwritten."""
    result: torch.futures.Future[torch.Tensor] = torch.futures.Future()

    def deliver(done: Future[torch.Tensor]) -> None:
        error = done.exception()
        if error is not None:
            result.set_exception(error)  # type: ignore[arg-type]  # the stub says Tensor
        else:
            result.set_result(done.result().div_(ranks))

    sums.add_done_callback(deliver)
    return result
