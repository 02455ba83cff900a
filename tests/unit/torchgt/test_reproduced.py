# SPDX-License-Identifier: Apache-2.0
"""TorchGT's figures at sizes that take a moment."""

from __future__ import annotations

import pytest
import torch

from offramp_sim.reproduce.catalogue import find
from offramp_sim.reproduce.torchgt.motivation import _Attention
from offramp_sim.torchgt.measure import peak_bytes


def test_attention_s_time_is_that_of_the_fused_kernel_in_both_directions() -> None:
    q, k, v = (torch.randn(1, 2, 512, 16).requires_grad_() for _ in range(3))
    with _Attention() as other:
        (q @ k.transpose(2, 3)).sum().backward()
    assert other.seconds == 0
    with _Attention() as forward:
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    with _Attention() as backward:
        out.sum().backward()
    assert forward.seconds > 0
    assert backward.seconds > 0


def test_the_peak_is_of_what_runs() -> None:
    size = 256 << 20  # large beside what other tests have left to be given back meanwhile
    assert peak_bytes(lambda: bytearray(b"x") * size) == pytest.approx(size, rel=0.2)


@pytest.mark.full
@pytest.mark.parametrize("name", ["torchgt/fig4.1", "torchgt/table4.1", "torchgt/fig4.6"])
def test_small(name: str) -> None:
    reproduced = find(name)[0].reproduce(0.2, 0)
    assert reproduced.panels
    assert all(c.ours for c in reproduced.comparisons)


def test_ranks_reach_farther_and_full_attention_by_the_root() -> None:
    reproduced = find("torchgt/fig4.8")[0].reproduce(0.1, 0)
    sparse, full = (reproduced.data["longest"][name] for name in ("TorchGT", "GP-Raw"))
    assert sparse == sorted(sparse)
    assert sparse[-1] < 8 * sparse[0]  # the pattern is on every rank
    assert full[-1] / full[0] == pytest.approx(((8 + 28 * 4) / (8 + 3.5 * 4)) ** 0.5)
