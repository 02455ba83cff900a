# SPDX-License-Identifier: Apache-2.0
"""Recomputed activations against stored ones: gradients within rounding, memory that does not grow with layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from offramp.g3.block import BipartiteBlock
from offramp.models import MODELS
from offramp.unitg.settings import UnitgSettings
from offramp.unitg.stage import StageModel
from offramp_base.settings.error import SettingsError

N, WIDTH = 40, 6


def view(dtype: torch.dtype) -> BipartiteBlock:
    import scipy.sparse as sp

    rng = np.random.default_rng(3)
    adjacency = sp.csr_matrix((rng.random((N, N)) < 0.2).astype(np.float32))
    degree = np.maximum(1, np.diff(adjacency.indptr))
    return BipartiteBlock(adjacency, np.arange(N), np.arange(N), degree, dtype, torch.device("cpu"))


def step(name: str, layers: int, *, recomputes: bool, dtype: torch.dtype) -> tuple[Any, list[torch.Tensor], int]:
    """Scores, gradients, and bytes that are held for them between forward and backward."""
    model = MODELS.get(name)([5, *[WIDTH] * (layers + 1), 3], seed=1, dropout=0.3).to(dtype)
    stage = StageModel(model, range(1, layers + 1), spare=False, recomputes=recomputes)
    model.train()
    model.dropout.step = 4
    held: dict[int, int] = {}

    def pack(x: torch.Tensor) -> torch.Tensor:
        held[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return x

    own = {p.untyped_storage().data_ptr() for p in model.parameters()}
    x = torch.from_numpy(np.random.default_rng(2).normal(size=(N, 5))).to(dtype).requires_grad_()
    piece = view(dtype)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
        out = stage.forward(x, piece)
    total = sum(size for place, size in held.items() if place not in own)
    model.dropout.step = 9  # the step of the forward pass counts
    out.square().sum().backward()
    return out.detach(), [x.grad, *(p.grad for p in model.parameters())], total


@pytest.mark.parametrize("name", ["revgcn", "revgat"])
def test_gradients_are_those_of_stored_activations(name: str) -> None:
    scores, gradients, _ = step(name, 7, recomputes=False, dtype=torch.float64)
    same, recomputed, _ = step(name, 7, recomputes=True, dtype=torch.float64)
    assert torch.equal(scores, same)
    for a, b in zip(recomputed, gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)


def test_memory_does_not_grow_with_layers() -> None:
    few, many = (step("revgcn", layers, recomputes=True, dtype=torch.float32)[2] for layers in (4, 32))
    stored = step("revgcn", 32, recomputes=False, dtype=torch.float32)[2]
    assert few == many
    assert stored > 8 * many


def test_other_models_are_refused() -> None:
    with pytest.raises(SettingsError, match="revgcn or revgat only"):
        UnitgSettings("random", model="gcn", activations="recomputed")
