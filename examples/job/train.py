# SPDX-License-Identifier: Apache-2.0
"""A program of torch.distributed as any other; who carries out its sums is the job's business."""

import torch
import torch.distributed as dist

import offramp.torch
from offramp.job import step

dist.init_process_group("offramp")
for number in range(5):
    gradients = torch.ones(2_500_000)
    with step(number):
        dist.all_reduce(gradients)
    assert gradients[0] == dist.get_world_size()
print(offramp.torch.counters())
dist.destroy_process_group()
