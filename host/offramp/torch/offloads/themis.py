# SPDX-License-Identifier: Apache-2.0
"""Themis's executor: collectives in chunks, each with a separate order of the network's dimensions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from offramp.themis.executor.exact import FLOATS, INTEGERS
from offramp.themis.executor.executor import Executor
from offramp.themis.executor.mesh import Mesh
from offramp.themis.network_file import load_network
from offramp.torch.offload import OFFLOADS, CollectiveCall, CollectiveRequest, Offload, Result
from offramp.torch.place import OffloadGroup
from offramp.torch.settings import NetworkSettings
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    import torch


@OFFLOADS.register("themis")
class Themis(Offload):
    """Sums and gathers of groups that fill the network's dimensions; sums are exact in any order by default."""

    kinds = ("all_reduce", "reduce_scatter", "all_gather")
    dtypes = (*FLOATS, *INTEGERS)

    def __init__(self, settings: NetworkSettings) -> None:
        super().__init__(settings)
        if settings.dimensions is None:
            raise OfframpError("offload themis: expected dimensions, the network that ranks fill")
        self._network = load_network(settings.dimensions)
        self._ranks = math.prod(d.size for d in self._network.dimensions)
        self._executor: Executor | None = None

    def takes(self, request: CollectiveRequest) -> bool:
        """Whether the group is as large as the network."""
        return super().takes(request) and request.ranks == self._ranks

    def open(self, place: OffloadGroup) -> None:
        """Create a group for each dimension."""
        mesh, settings = Mesh(self._network, ranks=place), self.settings
        self._executor = Executor(mesh, self._network, settings.scheduler, settings.chunks, exact=settings.exact)

    def close(self) -> None:
        """End the threads."""
        if self._executor is not None:
            self._executor.close()

    def all_reduce(self, values: torch.Tensor, call: CollectiveCall) -> Result:  # noqa: ARG002
        """The sum, planned by every rank for itself; rounded once if it is exact."""
        assert self._executor is not None
        return self._executor.all_reduce(values)

    def reduce_scatter(self, values: torch.Tensor, call: CollectiveCall) -> Result:  # noqa: ARG002
        """The first half of an all-reduce."""
        assert self._executor is not None
        return self._executor.reduce_scatter(values)

    def all_gather(self, values: torch.Tensor, call: CollectiveCall) -> Result:  # noqa: ARG002
        """All-gather: the second half of an all-reduce."""
        assert self._executor is not None
        return self._executor.all_gather(values)
