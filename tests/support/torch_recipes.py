# SPDX-License-Identifier: Apache-2.0
"""Small programs of Megatron-LM's core, DeepSpeed and torchtitan on CPUs, on whatever the default group's backend is.

Each returns tensors that two backends are compared by, as in :mod:`torch_programs`. Each imports its package when it is
called.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
from torch import nn

from offramp.hermod.pipeline import PipelineStep, order


def _without_wandb() -> None:
    """Keep megatron-core from importing it where it is installed: that takes three quarters of its import's time."""
    sys.modules.setdefault("wandb", None)  # type: ignore[arg-type]


@contextlib.contextmanager
def _cpu_for_cuda() -> Iterator[None]:
    """Megatron allocates on ``torch.cuda.current_device()`` and ``cuda``, whatever there is."""
    zeros = torch.zeros

    def zeros_on_cpu(*sizes: Any, device: Any = None, **options: Any) -> torch.Tensor:
        return zeros(*sizes, device="cpu" if device == "cuda" else device, **options)

    with (
        mock.patch("torch.cuda.current_device", return_value=torch.device("cpu")),
        mock.patch("torch.zeros", zeros_on_cpu),
    ):
        yield


def _batch(step: int, seed: int) -> torch.Tensor:
    return torch.randn(8, 2, 16, generator=torch.Generator().manual_seed(100 * seed + 10 * step + dist.get_rank() // 2))


def megatron(seed: int) -> list[torch.Tensor]:
    """megatron-core: tensor-parallel layers under its DistributedDataParallel, whose buffers are whole or sharded."""
    _without_wandb()
    from megatron.core import parallel_state
    from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
    from megatron.core.tensor_parallel import ColumnParallelLinear, RowParallelLinear
    from megatron.core.transformer.transformer_config import TransformerConfig

    parallel_state.initialize_model_parallel(tensor_model_parallel_size=2)
    config = TransformerConfig(
        num_layers=1, hidden_size=16, num_attention_heads=4, use_cpu_initialization=True, tensor_model_parallel_size=2
    )

    class Mlp(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            more: dict[str, Any] = {"config": config, "init_method": nn.init.xavier_normal_, "bias": True}
            self.up = ColumnParallelLinear(16, 64, gather_output=False, **more)
            self.down = RowParallelLinear(64, 16, input_is_parallel=True, skip_bias_add=False, **more)

        def forward(self, values: torch.Tensor) -> torch.Tensor:
            return self.down(torch.relu(self.up(values)[0]))[0]

    parts = []
    try:
        for sharded in (False, True):
            torch.manual_seed(seed)
            with _cpu_for_cuda():
                settings = DistributedDataParallelConfig(use_distributed_optimizer=sharded, overlap_grad_reduce=False)
                model = DistributedDataParallel(config, settings, Mlp())
                model.zero_grad_buffer()
                out = model(_batch(0, seed))
                out.square().mean().backward()
                model.finish_grad_sync()
            rank, size = dist.get_rank() // 2, dist.get_world_size() // 2
            for buffer in model.buffers:  # of a sharded one this rank's part is the sum
                whole = buffer.grad_data.clone()
                parts.append(whole.chunk(size)[rank] if sharded else whole)
            parts.append(out.detach())
    finally:
        parallel_state.destroy_model_parallel()
    return parts


class _Stage(nn.Module):
    """A chunk of a pipeline stage's layers, which notes the order in which microbatches go through it and come back."""

    def __init__(self, config: Any, chunk: int, done: list[PipelineStep]) -> None:
        super().__init__()
        from megatron.core.enums import ModelType

        self.config, self.model_type = config, ModelType.encoder_or_decoder
        self._chunk, self._done = chunk, done
        self._given: torch.Tensor | None = None
        self._micro_batch = 0
        self.layer = nn.Linear(config.hidden_size, config.hidden_size)

    def set_input_tensor(self, given: torch.Tensor | list[torch.Tensor | None] | None) -> None:
        self._given = given[0] if isinstance(given, list) else given

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        out = torch.tanh(self.layer(batch if self._given is None else self._given))
        self._note(False, self._micro_batch)
        out.register_hook(partial(self._came_back, self._micro_batch))
        self._micro_batch += 1
        return out

    def _came_back(self, micro_batch: int, _: torch.Tensor) -> None:
        self._note(True, micro_batch)

    def _note(self, backward: bool, micro_batch: int) -> None:
        self._done.append(PipelineStep(backward, micro_batch, self._chunk))


def megatron_pipeline(seed: int) -> list[torch.Tensor]:
    """megatron-core's 1F1B schedules, plain and interleaved, whose order is that of :mod:`offramp.hermod.pipeline`."""
    _without_wandb()
    from megatron.core import parallel_state
    from megatron.core.pipeline_parallel import get_forward_backward_func
    from megatron.core.transformer.transformer_config import TransformerConfig

    ranks, micro_batches, shape = dist.get_world_size(), 2 * dist.get_world_size(), (2, 3, 16)
    values = []
    for chunks in (1, 2):
        virtual = chunks if chunks > 1 else None
        parallel_state.initialize_model_parallel(
            pipeline_model_parallel_size=ranks, virtual_pipeline_model_parallel_size=virtual
        )
        try:
            config = TransformerConfig(
                num_layers=ranks * chunks, hidden_size=shape[2], num_attention_heads=4, use_cpu_initialization=True,
                pipeline_model_parallel_size=ranks, virtual_pipeline_model_parallel_size=virtual,
                pipeline_dtype=torch.float32, batch_p2p_comm=False,
            )  # fmt: skip
            done: list[PipelineStep] = []
            torch.manual_seed(seed + dist.get_rank())
            stages = [_Stage(config, chunk, done) for chunk in range(chunks)]
            batches = torch.randn(micro_batches, *shape, generator=torch.Generator().manual_seed(seed))
            with _cpu_for_cuda():
                losses = get_forward_backward_func()(
                    forward_step_func=lambda data, stage: (stage(next(data)), _mean_square),
                    data_iterator=[iter(batches) for _ in range(chunks)] if virtual else iter(batches),
                    model=stages if virtual else stages[0],
                    num_microbatches=micro_batches, seq_length=shape[0], micro_batch_size=shape[1],
                )  # fmt: skip
        finally:
            parallel_state.destroy_model_parallel()
        if done != order(dist.get_rank(), ranks, micro_batches, chunks):
            raise AssertionError(f"{chunks} chunks, rank {dist.get_rank()}: another order: {done}")
        loss = torch.stack([each["loss"] for each in losses]).sum() if losses else torch.zeros(())
        dist.all_reduce(loss)
        gradients = [stage.layer.weight.grad for stage in stages]
        values += [loss, *(each for each in gradients if each is not None)]
    return values


def _mean_square(out: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    loss = out.square().mean()
    return loss, {"loss": loss.detach()}


def deepspeed(seed: int) -> list[torch.Tensor]:
    """DeepSpeed's engine with ZeRO's stages 0 to 3."""
    os.environ |= {"DS_ACCELERATOR": "cpu", "LOCAL_RANK": str(dist.get_rank())}
    import deepspeed as ds

    ds.init_distributed(dist_backend=dist.get_backend(), verbose=False)
    values = []
    for stage in range(4):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
        settings = {
            "train_micro_batch_size_per_gpu": 8,
            "optimizer": {"type": "Adam", "params": {"lr": 0.01, "torch_adam": True}},
            "zero_optimization": {"stage": stage},
        }
        engine, *_ = ds.initialize(model=model, model_parameters=model.parameters(), config=settings)
        for step in range(2):
            loss = engine(_batch(step, seed)).square().mean()
            engine.backward(loss)
            engine.step()
        with ds.zero.GatheredParameters(list(engine.parameters())):
            values += [loss.detach(), *(p.detach().clone() for p in engine.parameters())]
        engine.destroy()
    return values


def torchtitan(seed: int) -> list[torch.Tensor]:
    """torchtitan's meshes, its FSDP2 with gradient clipping and mean of the loss; its models want a GPU's attention."""
    import torchtitan.tools.utils as tools

    tools.device_type = "cpu"  # else "cuda" where there is no accelerator
    from torch.distributed.fsdp import fully_shard
    from torchtitan.config import ParallelismConfig
    from torchtitan.distributed import ParallelDims, utils

    size = dist.get_world_size()
    degrees = ParallelismConfig(
        data_parallel_replicate_degree=size // 2, data_parallel_shard_degree=2, spmd_backend="partial_dtensor"
    )
    dims = ParallelDims.from_config(degrees, size)
    dims.build_mesh()
    mesh = dims.get_mesh(["dp_replicate", "fsdp"] if size > 2 else "fsdp")
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    for each in (*(part for part in model if isinstance(part, nn.Linear)), model):
        fully_shard(each, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    values = []
    for step in range(2):
        optimizer.zero_grad()
        loss = model(_batch(step, seed)).square().mean()
        loss.backward()
        norm = utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        values += [torch.as_tensor(utils.dist_mean(loss.detach(), dims.get_mesh("loss"))), norm.detach().clone()]
    return [*values, *(p.full_tensor().detach().clone() for p in model.parameters())]


RECIPES: dict[str, Callable[[int], list[torch.Tensor]]] = {
    each.__name__: each for each in (megatron, megatron_pipeline, deepspeed, torchtitan)
}
_MEGATRON = ("megatron-core==0.16.1",)
PACKAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "megatron": ("megatron", _MEGATRON),
    "megatron_pipeline": ("megatron", _MEGATRON),
    "deepspeed": ("deepspeed", ("deepspeed==0.19.8", "hjson", "py-cpuinfo", "msgpack", "einops", "ninja")),
    "torchtitan": ("torchtitan", ("torchtitan==0.3.0", "spmd_types==0.2.3", "tyro", "docstring-parser", "typeguard")),
}
"""By program the module that it imports, and what brings it, dependencies of this project's environment apart."""
