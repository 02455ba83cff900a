# SPDX-License-Identifier: Apache-2.0
"""Program of each rank of the demo: data-parallel training on handwritten digits, in ordinary PyTorch.

``python -m offramp_cli.demo.rank STEPS SEED DIGITS``; ``DIGITS`` is the file of :func:`write_digits`, since importing
scikit-learn takes each rank as long as its training. It knows nothing about offloads. Rank 0 writes the accuracy to
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

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

import offramp.torch
from offramp.job import step, tell_progress
from offramp.job.steps import FOLDER
from offramp.workers.meeting import meet

ACCURACY: Final = "accuracy.json"
WIDTH: Final = 320
CLASSES, PIXELS = 10, 64
_IMAGES: Final = 1437
_MEASURED: Final = 5
_TESTED: Final = 5
"""Every fifth image is for the test."""


def network() -> nn.Module:
    """A network of three layers."""
    return nn.Sequential(
        nn.Linear(PIXELS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, CLASSES)
    )


def gradient_bytes() -> int:
    """Bytes that a rank sums in a step."""
    return sum(4 * each.numel() for each in network().parameters())


def compute_s(ranks: int) -> float:
    """Measured seconds of a step without its sum, for ``ranks`` that share this machine's processors."""
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


def write_digits(path: Path) -> None:
    """Write images and their classes to a file that NumPy reads.

    Raises:
        ImportError: scikit-learn, which has them, is missing.
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    np.savez(path, images=(digits.data / 16).astype(np.float32), classes=digits.target.astype(np.int64))


def _learn(model: nn.Module, images: torch.Tensor, classes: torch.Tensor) -> float:
    """Compute the gradients of a rank's own images; returns their loss."""
    loss = nn.functional.cross_entropy(model(images), classes)
    loss.backward()  # type: ignore[no-untyped-call]
    return loss.item()


def _accuracy(model: nn.Module, images: torch.Tensor, classes: torch.Tensor) -> float:
    with torch.no_grad():
        return float((model(images).argmax(1) == classes).float().mean())


def main() -> None:
    """Train, and test."""
    steps, seed = map(int, sys.argv[1:3])
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    meet()
    rank, ranks = dist.get_rank(), dist.get_world_size()
    with np.load(sys.argv[3], allow_pickle=False) as digits:
        images, classes = torch.from_numpy(digits["images"]), torch.from_numpy(digits["classes"])
    tested = torch.arange(len(images)) % _TESTED == 0
    mine_images, mine_classes = images[~tested][rank::ranks], classes[~tested][rank::ranks]
    model = network()
    optimiser = torch.optim.Adam(model.parameters(), 0.003)
    for number in range(steps):
        with step(number):
            optimiser.zero_grad()
            loss = _learn(model, mine_images, mine_classes)
            sums = torch.cat([each.grad.flatten() for each in model.parameters() if each.grad is not None])
            dist.all_reduce(sums)
            at = 0
            for each in model.parameters():
                each.grad = (sums[at : at + each.numel()] / ranks).view_as(each)
                at += each.numel()
            optimiser.step()
        if rank == 0:
            tell_progress(number, loss=loss, accuracy=_accuracy(model, images[tested], classes[tested]))
    if rank == 0:
        result = {"accuracy": _accuracy(model, images[tested], classes[tested]), "images": int(tested.sum())}
        (Path(os.environ[FOLDER]) / ACCURACY).write_text(json.dumps(result))
    sys.stdout.write(f"{offramp.torch.counters()}\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
