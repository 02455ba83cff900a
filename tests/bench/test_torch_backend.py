# SPDX-License-Identifier: Apache-2.0
"""The backend for torch.distributed beside gloo, in turns in the same processes, without an offload."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch_ranks  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402

pytestmark = pytest.mark.bench


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ("all_reduce", [64, 4096, 65536, 1 << 20, 16 << 20]),
        ("all_to_all", [4096, 1 << 20, 16 << 20]),
        ("ddp", [1 << 16, 1 << 20, 16 << 20]),
    ],
)
def test_without_an_offload_it_is_as_fast_as_gloo(kind, sizes):
    paces = run_workers(torch_ranks.paces, [(kind, sizes, 60)] * 4, lambda _: None)
    for size, (gloo, ours) in paces.items():
        print(  # noqa: T201 - the figures are what the test is for
            f"{kind} of {size} bytes: gloo {gloo * 1e3:.3f} ms, offramp {ours * 1e3:.3f} ms, {gloo / ours:.2f}"
        )
    assert all(gloo / ours > 0.8 for gloo, ours in paces.values())
