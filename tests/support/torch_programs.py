# SPDX-License-Identifier: Apache-2.0
"""Programs as users write them: a distributed training step or two of each kind, told only the name of a backend.

Each returns the tensors that it ends with, which must not depend on the backend.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn


def _mlp(seed: int = 3) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 8))


def _batch(step: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1000 * seed + 10 * step + dist.get_rank())
    return torch.randn(8, 16, generator=generator)


def data_parallel(seed: int) -> list[torch.Tensor]:
    """DistributedDataParallel, several buckets."""
    model = nn.parallel.DistributedDataParallel(_mlp(seed), bucket_cap_mb=0.004)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(3):
        optimizer.zero_grad()
        model(_batch(step, seed)).square().mean().backward()
        optimizer.step()
    return [p.detach().clone() for p in model.parameters()]


def fully_sharded(seed: int) -> list[torch.Tensor]:
    """FSDP2."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model, mesh = _mlp(seed), init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(2):
        model(_batch(step, seed)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return [p.full_tensor().detach().clone() for p in model.parameters()]


def zero_redundancy(seed: int) -> list[torch.Tensor]:
    """ZeroRedundancyOptimizer over DistributedDataParallel."""
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = nn.parallel.DistributedDataParallel(_mlp(seed))
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)
    for step in range(2):
        optimizer.zero_grad()
        model(_batch(step, seed)).square().mean().backward()
        optimizer.step()
    return [p.detach().clone() for p in model.parameters()]


def pipeline(seed: int) -> list[torch.Tensor]:
    """A pipeline of torch.distributed.pipelining, 1F1B."""
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B

    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(seed + rank)
    stage = PipelineStage(nn.Linear(16, 16), rank, size, torch.device("cpu"))
    schedule = Schedule1F1B(stage, n_microbatches=2 * size, loss_fn=nn.functional.mse_loss)
    generator = torch.Generator().manual_seed(seed)
    values, wanted = (torch.randn(4 * size, 16, generator=generator) for _ in range(2))
    if rank == 0:
        schedule.step(values)
    elif rank == size - 1:
        schedule.step(target=wanted)
    else:
        schedule.step()
    return [p.grad.clone() for p in stage.submod.parameters() if p.grad is not None]


class _Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, sent: list[int], received: list[int]) -> torch.Tensor:
        ctx.counts = received, sent
        gathered = rows.new_empty((sum(received), *rows.shape[1:]))
        dist.all_to_all_single(gathered, rows.contiguous(), received, sent)
        return gathered

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return _Exchange.apply(gradient, *ctx.counts), None, None


def mixture_of_experts(seed: int) -> list[torch.Tensor]:
    """An expert on each rank, tokens by all_to_all_single with uneven counts."""
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(seed)
    gate, expert = nn.Linear(16, size), nn.Linear(16, 16)
    tokens = torch.cat([_batch(k, seed) for k in range(4)]).requires_grad_()
    chosen = gate(tokens).argmax(1)
    order = chosen.argsort(stable=True)
    sent = torch.bincount(chosen, minlength=size)
    received = torch.empty_like(sent)
    dist.all_to_all_single(received, sent)
    counts = sent.tolist(), received.tolist()
    rows = _Exchange.apply(tokens[order], *counts)
    back = _Exchange.apply(expert(rows) * (rank + 1), counts[1], counts[0])
    back.square().mean().backward()
    dist.all_reduce(expert.weight.grad)
    return [back.detach(), tokens.grad, expert.weight.grad]


def tensor_parallel(seed: int) -> list[torch.Tensor]:
    """DTensor: a column-wise and a row-wise layer."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    torch.manual_seed(seed)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("tp",))
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
    model = parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    torch.manual_seed(seed)
    out = model(torch.randn(8, 16))
    out.square().mean().backward()
    return [out.detach(), *(p.grad.full_tensor() for p in model.parameters())]


PROGRAMS: dict[str, Callable[[int], list[torch.Tensor]]] = {
    each.__name__: each
    for each in (data_parallel, fully_sharded, zero_redundancy, pipeline, mixture_of_experts, tensor_parallel)
}
