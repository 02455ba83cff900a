# SPDX-License-Identifier: Apache-2.0
"""The program of every rank of a calibration: ``python -m offramp.job.calibrate BYTES BYTES WAY…``.

The bytes are those of an all-reduce and of an all-to-all; 0: there is none. Each way has a group of its own, of the
description ``calibrate-WAY``; gloo is the group without an offload. They take turns, so that what else a machine does
falls on all. Rank 0 writes the seconds of each turn but the first, of its slowest rank, into ``calibration.json`` of
the job's folder; a way that another carried out in its place is not in it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import Final

FILE: Final = "calibration.json"
_REPEATS: Final = 5


def description(way: str) -> str:
    """Description of the group that measures a way; that of gloo matches no offload."""
    return f"calibrate-{way}"


def main() -> None:
    """Measure, and write."""
    import torch
    import torch.distributed as dist

    from offramp.torch.api import counters
    from offramp.workers.meeting import meet

    size, exchanged, ways = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    torch.set_num_threads(1)
    meet()
    ranks = list(range(dist.get_world_size()))
    times: dict[str, list[float]] = {}
    groups = {way: dist.new_group(ranks, group_desc=description(way)) for way in ways}
    weights = torch.ones(max(1, size // 4), requires_grad=True)
    batch = torch.ones(-(-exchanged // (4 * len(ranks))) * len(ranks))
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(_REPEATS + 1):  # the first one makes connections
        for way, group in groups.items():
            dist.barrier()
            begun = time.perf_counter()
            if size:
                _in_backward(weights, partial(dist.all_reduce, torch.ones(weights.numel()), group=group))
            if exchanged:
                dist.all_to_all_single(torch.empty_like(batch), batch, group=group)
            took = torch.tensor([time.perf_counter() - begun])
            dist.all_reduce(took, dist.ReduceOp.MAX)
            seconds[way].append(float(took))
    for way, group in groups.items():
        carried = counters(group).get(way, {}).values()
        if way == "gloo" or sum(each.get("calls", 0) for each in carried) > _REPEATS:
            times[way] = seconds[way][1:]
    if dist.get_rank() == 0:
        (Path(os.environ["OFFRAMP_JOB_FOLDER"]) / FILE).write_text(json.dumps(times))
    dist.destroy_process_group()


def _in_backward(weights: object, sum_up: object) -> None:
    """Call it where gradients are summed, which is all that lossy sums are for."""
    import torch

    assert isinstance(weights, torch.Tensor)

    def hook(gradient: torch.Tensor) -> torch.Tensor:
        sum_up()  # type: ignore[operator]
        return gradient

    handle = weights.register_hook(hook)  # type: ignore[no-untyped-call]
    weights[:1].sum().backward()  # type: ignore[no-untyped-call]
    handle.remove()


if __name__ == "__main__":
    main()
