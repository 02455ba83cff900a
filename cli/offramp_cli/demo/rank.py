# SPDX-License-Identifier: Apache-2.0
"""What each rank of the demo runs: data-parallel training on handwritten digits, an ordinary program of PyTorch.

``python -m offramp_cli.demo.rank STEPS SEED``. It knows nothing of offloads. Rank 0 leaves the accuracy in
``accuracy.json`` of the job's folder.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from statistics import median
from typing import Final

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn

import offramp.torch
from offramp.job.meeting import meet
from offramp.job.steps import FOLDER, step

ACCURACY: Final = "accuracy.json"
WIDTH: Final = 320
CLASSES, PIXELS = 10, 64
_IMAGES: Final = 1437
_MEASURED: Final = 5
_TESTED: Final = 5
"""Each fifth image is for the test."""


def network() -> nn.Module:
    """A network of three layers."""
    return nn.Sequential(
        nn.Linear(PIXELS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, CLASSES)
    )


def gradient_bytes() -> int:
    """What a rank sums in a step."""
    return sum(4 * each.numel() for each in network().parameters())


def compute_s(ranks: int) -> float:
    """Seconds of a step but for its sum, of ``ranks`` that share this machine's processors; measured."""
    images, classes = torch.rand(_IMAGES // ranks, PIXELS), torch.zeros(_IMAGES // ranks, dtype=torch.int64)
    torch.set_num_threads(1)
    model = network()
    optimiser = torch.optim.Adam(model.parameters(), 0.003)
    seconds = []
    for _ in range(_MEASURED):
        begun = time.perf_counter()
        optimiser.zero_grad()
        _learn(model, images, classes)
        optimiser.step()
        seconds.append(time.perf_counter() - begun)
    return median(seconds) * max(1.0, ranks / len(os.sched_getaffinity(0)))


def _learn(model: nn.Module, images: torch.Tensor, classes: torch.Tensor) -> None:
    """Gradients of a rank's own images."""
    loss = nn.functional.cross_entropy(model(images), classes)
    loss.backward()  # type: ignore[no-untyped-call]


def main() -> None:
    """Train, and test."""
    steps, seed = map(int, sys.argv[1:])
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    meet()
    rank, ranks = dist.get_rank(), dist.get_world_size()
    digits = load_digits()
    images, classes = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    tested = torch.arange(len(images)) % _TESTED == 0
    mine_images, mine_classes = images[~tested][rank::ranks], classes[~tested][rank::ranks]
    model = network()
    optimiser = torch.optim.Adam(model.parameters(), 0.003)
    for number in range(steps):
        with step(number):
            optimiser.zero_grad()
            _learn(model, mine_images, mine_classes)
            sums = torch.cat([each.grad.flatten() for each in model.parameters() if each.grad is not None])
            dist.all_reduce(sums)
            at = 0
            for each in model.parameters():
                each.grad = (sums[at : at + each.numel()] / ranks).view_as(each)
                at += each.numel()
            optimiser.step()
    if rank == 0:
        right = model(images[tested]).argmax(1) == classes[tested]
        found = {"accuracy": float(right.float().mean()), "images": int(tested.sum())}
        (Path(os.environ[FOLDER]) / ACCURACY).write_text(json.dumps(found))
    sys.stdout.write(f"{offramp.torch.counters()}\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
