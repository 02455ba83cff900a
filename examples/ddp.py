# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel over Offramp's backend: one word changes, ``init_process_group("offramp")``.

Without ``OFFRAMP_NETWORK`` (docs/torch.md) the collectives are gloo's; with it, gradients are summed by a switch, by
Themis or by LEO's devices, and the counters say by whom.

    loss fell: True
    weights of both ranks are equal: True
    all-reduces by gloo: True
"""

import torch
import torch.distributed as dist
from ranks import run
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import offramp.torch


def work() -> None:
    """The work of each rank."""
    model = DistributedDataParallel(nn.Linear(8, 1))
    optimiser = torch.optim.SGD(model.parameters(), 0.1)
    x = torch.randn(64, 8, generator=torch.Generator().manual_seed(dist.get_rank()))
    y = x.sum(1, keepdim=True)
    losses = []
    for _ in range(20):
        optimiser.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    weights = [torch.empty(1, 8) for _ in range(2)]
    dist.all_gather(weights, model.module.weight.detach())
    if dist.get_rank() == 0:
        print("loss fell:", losses[-1] < losses[0] / 10)
        print("weights of both ranks are equal:", torch.equal(*weights))
        print("all-reduces by gloo:", offramp.torch.counters()["gloo"]["all_reduce"]["calls"] >= 20, flush=True)


if __name__ == "__main__":
    run(work, "offramp")
