# SPDX-License-Identifier: Apache-2.0
"""Programs of other people's trainers, as their users start them: ``trainer_programs.py NAME BACKEND FOLDER``.

Each trains the same small model on CPUs. Rank 0 writes its losses, and how many collectives of all groups an offload
ran, to ``FOLDER/result.json``.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

STEPS = 6
BATCH = 4


def model() -> nn.Module:
    """The model, equal on all ranks."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))


def data() -> torch.utils.data.TensorDataset:
    """Rows and their sums."""
    rows = torch.randn(64, 16, generator=torch.Generator().manual_seed(1))
    return torch.utils.data.TensorDataset(rows, rows.sum(1))


def shares(rank: int, ranks: int) -> list[Any]:
    """This rank's batches."""
    loader = torch.utils.data.DataLoader(data(), batch_size=BATCH)
    return list(itertools.islice(loader, rank, None, ranks))


def loss_of(net: Any, rows: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Mean square error."""
    error: torch.Tensor = net(rows).squeeze(-1) - targets
    return error.square().mean()


def mean(loss: torch.Tensor) -> float:
    """The mean over all ranks, by the sum of the default group."""
    total = loss.detach().clone()
    dist.all_reduce(total)
    return float(total) / dist.get_world_size()


def write(folder: str, losses: list[float]) -> None:
    """Write rank 0's result."""
    if dist.get_rank():
        return
    offloaded = 0
    if dist.get_backend() == "offramp":
        from offramp.torch.dispatcher import every
        from offramp.torch.history import totals

        for dispatcher in list(every):
            if dispatcher.recorder is not None:
                by = totals(dispatcher.recorder)
                offloaded += sum(n["calls"] for who, kinds in by.items() if who != "gloo" for n in kinds.values())
    Path(folder, "result.json").write_text(json.dumps({"losses": losses, "offloaded": offloaded}))


def accelerate(backend: str, folder: str) -> None:
    """Accelerate keeps an existing default group."""
    dist.init_process_group(backend)
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    net = model()
    loader = torch.utils.data.DataLoader(data(), batch_size=BATCH)
    net, optimizer, loader = accelerator.prepare(net, torch.optim.Adam(net.parameters(), 0.01), loader)
    losses = []
    for rows, targets in loader:
        loss = loss_of(net, rows, targets)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(accelerator.gather(loss.detach()).mean().item())
    write(folder, losses)


def transformers(backend: str, folder: str) -> None:
    """Transformers' Trainer, which is built on Accelerate."""
    dist.init_process_group(backend)
    from transformers import Trainer, TrainingArguments

    class Regression(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = model()

        def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"loss": loss_of(self.net, x, labels), "logits": labels}

    arguments = TrainingArguments(
        output_dir=folder, max_steps=STEPS, per_device_train_batch_size=BATCH, logging_steps=1, report_to=[],
        use_cpu=True, save_strategy="no", disable_tqdm=True, seed=1, learning_rate=0.01,
    )  # fmt: skip
    rows = [{"x": row, "labels": target} for row, target in data()]
    trainer = Trainer(model=Regression(), args=arguments, train_dataset=rows)
    trainer.train()
    write(folder, [entry["loss"] for entry in trainer.state.log_history if "loss" in entry])


def lightning(backend: str, folder: str) -> None:
    """Lightning starts the other ranks itself."""
    import lightning as L  # noqa: N812
    from lightning.pytorch.strategies import DDPStrategy

    losses: list[float] = []

    class Regression(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = model()

        def training_step(self, batch: Any, number: int) -> torch.Tensor:
            loss = loss_of(self.net, *batch)
            self.log("loss", loss, sync_dist=True)
            self.log("count", torch.tensor(number), sync_dist=True, reduce_fx="mean")
            losses.append(loss.item())
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.Adam(self.parameters(), 0.01)

        def on_train_end(self) -> None:
            write(folder, losses)

    L.seed_everything(1)
    quiet: dict[str, Any] = dict.fromkeys(
        ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False
    )
    strategy = DDPStrategy(process_group_backend=backend)
    trainer = L.Trainer(accelerator="cpu", devices=2, max_epochs=1, strategy=strategy, **quiet)
    trainer.fit(Regression(), torch.utils.data.DataLoader(data(), batch_size=BATCH))


def ray(backend: str, folder: str) -> None:
    """Ray Train's TorchTrainer; its workers are processes of Ray's."""
    import ray as of_ray
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    of_ray.init("local", num_cpus=3, log_to_driver=True, include_dashboard=False)
    trainer = TorchTrainer(
        ddp,
        train_loop_config={"backend": "", "folder": folder},
        torch_config=TorchConfig(backend=backend),
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(storage_path=folder, name="run"),
    )
    trainer.fit()
    of_ray.shutdown()


def torchx(backend: str, folder: str) -> None:
    """The program of TorchX's component ``dist.ddp``."""
    ddp({"backend": backend, "folder": folder})


def ddp(settings: dict[str, str]) -> None:
    """DistributedDataParallel, in a group that is there already unless a backend is named."""
    if settings["backend"]:
        dist.init_process_group(settings["backend"])
    net = nn.parallel.DistributedDataParallel(model())
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    losses = []
    for rows, targets in shares(dist.get_rank(), dist.get_world_size()):
        loss = loss_of(net, rows, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(mean(loss))
    write(settings["folder"], losses)


def deepspeed(backend: str, folder: str) -> None:
    """DeepSpeed's engine on CPUs with ZeRO's stage 2."""
    os.environ["DS_ACCELERATOR"] = "cpu"
    import deepspeed as ds

    ds.init_distributed(dist_backend=backend, verbose=False)
    net = model()
    settings = {
        "train_micro_batch_size_per_gpu": BATCH,
        "optimizer": {"type": "Adam", "params": {"lr": 0.01, "torch_adam": True}},
        "zero_optimization": {"stage": 2},
    }
    engine, *_ = ds.initialize(model=net, model_parameters=net.parameters(), config=settings)
    losses = []
    for rows, targets in shares(dist.get_rank(), dist.get_world_size()):
        loss = loss_of(engine, rows, targets)
        engine.backward(loss)
        engine.step()
        losses.append(mean(loss))
    write(folder, losses)


def fsdp(backend: str, folder: str) -> None:
    """PyTorch's FSDP2 across, tensor parallelism within, two pairs of ranks."""
    dist.init_process_group(backend)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    net = parallelize_module(model(), mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    fully_shard(net, mesh=mesh["dp"])
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    losses = []
    for rows, targets in shares(mesh.get_local_rank("dp"), 2):
        loss = loss_of(net, rows, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(mean(loss))
    write(folder, losses)


PROGRAMS: dict[str, Callable[[str, str], None]] = {
    each.__name__: each for each in (accelerate, transformers, lightning, ray, torchx, deepspeed, fsdp)
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](sys.argv[2], sys.argv[3])
    if dist.is_initialized():
        dist.destroy_process_group()
