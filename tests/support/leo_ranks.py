# SPDX-License-Identifier: Apache-2.0
"""A rank that adds through LEO's sums; run as a process for each rank."""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist

from offramp.leo.applications.sums import LeoSums


def main(rank: int, ranks: int, file: str, out: str) -> None:
    """Sums of odd lengths."""
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=ranks)
    try:
        with LeoSums({"acc": "model:service_us=300"}) as sums:
            vectors = [torch.randn(n, generator=torch.Generator().manual_seed(rank)) for n in (1, 7, 50_001)]
            sums_found = [sums.all_reduce(v.clone()) for v in vectors]
            gathered = []
            for vector in vectors:
                parts = [torch.empty_like(vector) for _ in range(ranks)]
                dist.all_gather(parts, vector)
                gathered.append(torch.stack(parts).sum(0))
            torch.save({"found": sums_found, "expected": gathered, "by_path": sums.by_path}, out)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])
