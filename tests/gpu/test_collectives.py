# SPDX-License-Identifier: Apache-2.0
"""Tensors of a GPU: the backend for torch.distributed, our groups, models of PyG. Ranks share the GPU."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from offramp.workers.processes import run_workers  # noqa: E402


def own_group(group: Any, _: None, report: Callable[[Any], None]) -> dict[str, Any]:
    """Sums, exchanges and messages of a group that shares a GPU."""
    from offramp.workers.accelerator import open_device
    from offramp.workers.mailbox import Key

    device = open_device("cuda", group)
    values = torch.full((5,), float(group.rank + 1), device=device)
    results: dict[str, Any] = {"device": str(device), "nccl": group.of_gpus is not None}
    results["sum"] = group.sum(values.clone()).tolist()
    later = values.clone()
    wait = group.start_sum(later)
    wait()
    results["later"] = later.tolist()
    results["max"] = group.max(values.clone()).tolist()
    rows = torch.arange(6.0, device=device).view(3, 2) + 10 * group.rank
    counts = [1] * group.size
    results["exchange"] = group.all_to_all(rows[: group.size], counts, counts).tolist()
    box = group.mailbox(30.0, None)
    peer, key = (group.rank + 1) % group.size, Key(1, 0, False, 0)
    box.post(peer, key, torch.full((4,), group.rank, dtype=torch.uint8, device=device))
    label = (group.rank - 1) % group.size, key
    box.wait([label])
    results["message"] = box.take(label).tolist()
    box.close()
    return results


def test_groups_of_ranks_that_share_a_gpu() -> None:
    results = run_workers(own_group, [None] * 3, print)
    shared = torch.cuda.device_count() < 3
    assert results["nccl"] is not shared
    assert results["sum"] == results["later"] == [6.0] * 5
    assert results["max"] == [3.0] * 5
    assert results["exchange"] == [[0.0, 1.0], [10.0, 11.0], [20.0, 21.0]]
    assert results["message"] == [2] * 4


def over_nccl(group: Any, _: None, report: Callable[[Any], None]) -> dict[str, Any]:
    """A rank for each GPU."""
    from offramp.workers.accelerator import open_device

    device = open_device("cuda", group)
    values = torch.full((5,), 2.0, device=device)
    return {"nccl": group.of_gpus is not None, "sum": group.sum(values).tolist()}


def test_a_rank_with_a_gpu_of_its_own_sums_over_nccl() -> None:
    """``run_workers`` makes a group of one process as well."""
    count = torch.cuda.device_count()
    assert run_workers(over_nccl, [None] * count, print) == {"nccl": True, "sum": [2.0 * count] * 5}


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is missing")
def test_every_form_of_collective_takes_tensors_of_a_gpu() -> None:
    import torch_ranks

    heard: list[Any] = []
    results = run_workers(torch_ranks.forms, ["cuda"] * 3, heard.append)
    assert heard == []
    for dtype in ("torch.float32", "torch.int64"):
        for fault in ("", "decline", "open"):
            wrong, kinds, counted = results[f"{dtype} {fault}"]
            assert wrong == []
            assert len(kinds) == (0 if fault == "open" else 11)
            assert ("counting" in counted) is not bool(fault)


def pyg(group: Any, _: None, report: Callable[[Any], None]) -> dict[str, dict[str, float]]:
    """Models of PyG on a GPU against one process on the processor."""
    import gnn_models

    exact = gnn_models.compare(group, (gnn_models.BASIC, "float64", {}, "cuda"), report)
    coded = gnn_models.compare(group, (["sage", "gat"], "float32", {"codec": "sylvie", "bits": 32}, "cuda"), report)
    few = gnn_models.compare(group, (["sage"], "float32", {"codec": "q8"}, "cuda"), report)
    return {"float64": exact, "sylvie": coded, "q8": few}


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_models_of_pyg_have_the_losses_and_gradients_of_one_process(ranks: int) -> None:
    pytest.importorskip("torch_geometric")
    errors = run_workers(pyg, [None] * ranks, print)
    assert {name: far for name, far in errors["float64"].items() if not far < 1e-10} == {}
    assert max(errors["sylvie"].values()) < 1e-5
    assert errors["q8"]["sage"] < 0.1


def sharded(group: Any, _: None, report: Callable[[Any], None]) -> dict[str, float]:
    """DDP and FSDP2 of a model on the GPU over offramp against the same on the processor over gloo."""
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    import torch_ranks

    def trained(kind: str, device: str) -> list[Any]:
        torch.manual_seed(3)
        model: Any = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 8)).to(device)
        if kind == "ddp":
            model = nn.parallel.DistributedDataParallel(model)
        else:
            for layer in (model[0], model[2], model):
                fully_shard(layer, mesh=init_device_mesh(device, (group.size,)))
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        generator = torch.Generator().manual_seed(group.rank)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(8, 16, generator=generator).to(device)).square().mean().backward()
            optimizer.step()
        whole = [p.full_tensor() if hasattr(p, "full_tensor") else p for p in model.parameters()]
        return [p.detach().cpu() for p in whole]

    far = {}
    for kind in ("ddp", "fsdp"):
        with torch_ranks.backend(group, "gloo"):
            expected = trained(kind, "cpu")
        with torch_ranks.backend(group, "offramp", torch_ranks.COUNTING):
            parameters = trained(kind, "cuda")
            carried = torch_ranks.offramp.torch.counters()
        assert "counting" in carried, carried
        far[kind] = max(float((a - b).abs().max()) for a, b in zip(parameters, expected, strict=True))
    return far


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is missing")
def test_ddp_and_fsdp2_on_a_gpu_by_offloads() -> None:
    distances = run_workers(sharded, [None] * 2, print)
    assert max(distances.values()) < 1e-6, distances
