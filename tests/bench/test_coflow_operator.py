# SPDX-License-Identifier: Apache-2.0
"""The all-to-all operator over gloo and over sockets beside plain gloo, on the loopback, in one run."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402

from offramp.hermod.endhost import Priorities  # noqa: E402
from offramp.hermod.endhost.group import endpoint_of  # noqa: E402
from offramp.hermod.factors import CType, Factors  # noqa: E402
from offramp.hermod.operator import AllToAll  # noqa: E402
from offramp.workers.group import Group  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402

pytestmark = pytest.mark.bench
REPEATS = 9
NEVER = 1 << 60
SIZES = (1 << 20, 8 << 20, 32 << 20)


def work(group: Group, ranks: int, _: Callable[[Any], None]) -> dict[tuple[str, int], float]:
    """Seconds of the fastest exchange of each way, the slowest rank's; the ways take turns."""
    best: dict[tuple[str, int], float] = {}
    with (
        endpoint_of(None, Priorities.of_job(8, 32), where="127.0.0.1") as endpoint,
        AllToAll(plain_below=NEVER) as group_plain,
        AllToAll(quantum=0, plain_below=1) as group_cut,
        AllToAll(endpoint=endpoint, plain_below=NEVER, name="plain") as sockets_plain,
        AllToAll(endpoint=endpoint, quantum=0, plain_below=1, name="cut") as sockets_cut,
    ):
        factors = Factors(0, CType.EP, 0)
        ways: dict[str, Callable[..., Any]] = {
            "gloo's all_to_all_single": dist.all_to_all_single,
            "operator over gloo, all at once": group_plain.all_to_all_single,
            "operator over gloo, sub-phases": group_cut.all_to_all_single,
            "operator over sockets, all at once": partial(sockets_plain.all_to_all_single, factors=factors),
            "operator over sockets, sub-phases": partial(sockets_cut.all_to_all_single, factors=factors),
        }
        for size in SIZES:
            rows = np.random.default_rng(size).integers(size // 2, size * 3 // 2, (ranks, ranks))
            np.fill_diagonal(rows, 0)
            send, receive = rows[group.rank].tolist(), rows[:, group.rank].tolist()
            given, came = torch.ones(sum(send), dtype=torch.uint8), torch.empty(sum(receive), dtype=torch.uint8)
            for repeat in range(REPEATS + 1):
                for name, way in ways.items():
                    group.sum(torch.zeros(1))
                    start = time.perf_counter()
                    way(came, given, receive, send)
                    seconds = torch.tensor([time.perf_counter() - start])
                    group.max(seconds)
                    if repeat:  # the first one makes connections
                        best[name, size] = min(best.get((name, size), float("inf")), float(seconds))
            moved = int(max(rows.sum(0).max(), rows.sum(1).max()))
            best["bytes", size] = moved
    return best


@pytest.mark.parametrize("ranks", [2, 4])
def test_bandwidth_on_the_loopback(ranks: int) -> None:
    best = run_workers(work, [ranks] * ranks, lambda _: None)
    names = [name for name, size in best if size == SIZES[0] and name != "bytes"]
    for name in names:
        rates = [best["bytes", size] / best[name, size] / 1e6 for size in SIZES]
        print(f"{ranks} ranks, {name:36}" + "".join(f"{rate:8.0f} MB/s" for rate in rates))  # noqa: T201
    for size in SIZES[1:]:
        assert best["operator over sockets, all at once", size] < 3 * best["gloo's all_to_all_single", size]
