# SPDX-License-Identifier: Apache-2.0
"""A mixture of experts whose tokens travel by Hermod's all-to-all, as coflows with a priority.

Each rank has one expert (they multiply by 1 and by 2); the router sends even tokens to rank 0 and odd ones to rank 1.
The factors of a coflow (microbatch, kind, layer) say how urgent it is.

    rank 0: [0.0, 2.0, 2.0, 6.0]
    rank 1: [10.0, 22.0, 12.0, 26.0]
"""

import torch
import torch.distributed as dist
from ranks import run

from offramp.hermod import CType, Factors
from offramp.hermod.endhost import Priorities, endpoint_of
from offramp.hermod.operator import AllToAll, combine, dispatch


def work() -> None:
    """The work of each rank."""
    rank = dist.get_rank()
    tokens = torch.arange(4.0).reshape(4, 1) + 10 * rank
    to = torch.arange(4) % 2  # the router's choice
    order = to.argsort(stable=True)
    factors = Factors(mid=0, ctype=CType.EP, lid=3)
    priorities = Priorities.of_job(micro_batches=8, layers=32)
    with endpoint_of(None, priorities, where="lo") as endpoint, AllToAll(endpoint=endpoint) as operator:
        sent = dispatch(operator, tokens[order], to.bincount(minlength=2).tolist(), factors)  # returns at once
        rows = sent.wait() * (rank + 1)  # this rank's expert
        back = combine(operator, rows, sent, factors).wait()
    answers = torch.empty_like(tokens)
    answers[order] = back
    for each in range(2):
        dist.barrier()
        if each == rank:
            print(f"rank {rank}: {answers.flatten().tolist()}", flush=True)


if __name__ == "__main__":
    run(work, "gloo")
