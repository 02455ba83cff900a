# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel's gradients as DP coflows.

gradients = Gradients(endpoint, model.parameters(), layers=32, micro_batches=8)
model.register_comm_hook(gradients, average_gradients)
"""

from collections.abc import Iterable

import torch
import torch.distributed as dist

from offramp.hermod.endhost.all_reduce import AllReduce
from offramp.hermod.endhost.endpoint import Endpoint
from offramp.hermod.factors import CType, Factors
from offramp.workers.ddp import mean_of
from offramp_base.errors import OfframpError


class Gradients:
    """The state of the hook: which layer a bucket of gradients belongs to.

    Args:
        endpoint: among the replicas.
        parameters: of the model, from its first layer on.
        layers: of the model; parameters are shared among them evenly unless ``layer_of`` says otherwise.
        micro_batches: of an iteration; DP carries the last one.
        layer_of: the layer of each parameter.

    Raises:
        OfframpError: no layer or microbatch.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        parameters: Iterable[torch.nn.Parameter],
        layers: int,
        micro_batches: int,
        layer_of: dict[torch.nn.Parameter, int] | None = None,
    ) -> None:
        if layers < 1 or micro_batches < 1:
            raise OfframpError(f"layers {layers}, micro_batches {micro_batches}: expected at least 1")
        every = list(parameters)
        self.layer_of = layer_of or {p: k * layers // len(every) for k, p in enumerate(every)}
        self.micro_batches = micro_batches
        self.ranks = endpoint.size
        self.sums = AllReduce(endpoint, "gradients")

    def factors(self, parameters: Iterable[torch.nn.Parameter]) -> Factors:
        """Factors of a bucket, whose earliest layer is needed first."""
        return Factors(self.micro_batches - 1, CType.DP, min(self.layer_of.get(p, 0) for p in parameters))

    def close(self) -> None:
        """End the thread that adds."""
        self.sums.close()


def average_gradients(
    gradients: Gradients,
    bucket: dist.GradBucket,  # type: ignore[name-defined]  # defined in C++
) -> torch.futures.Future[torch.Tensor]:
    """A communication hook: the mean of a bucket over the replicas, while the backward pass goes on."""
    started = gradients.sums.start(bucket.buffer(), gradients.factors(bucket.parameters()))
    return mean_of(started, gradients.ranks)
