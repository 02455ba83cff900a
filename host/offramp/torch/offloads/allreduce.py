# SPDX-License-Identifier: Apache-2.0
"""All-reduce in the switch: every rank sends its tensor once and receives the sum once."""

from __future__ import annotations

import secrets

import torch
import torch.distributed as dist

from offramp.allreduce.reducer import AllReduceNetwork, AllReducer
from offramp.fpga.card import SCHEME
from offramp.torch.offload import OFFLOADS, CollectiveCall, CollectiveRequest, Offload, Result
from offramp.torch.place import OffloadGroup
from offramp.torch.settings import NetworkSettings
from offramp.torch.types import NUMBERS
from offramp_base.errors import OfframpError
from offramp_base.unreachable import expect_switch

_known_jobs: set[int] = set()
"""Existing jobs on the switches that groups of this process use; a job belongs to one group."""
_PARTING_S = 10.0
"""Seconds for which the end of a group waits for ranks that have not reached it."""


@OFFLOADS.register("allreduce")
class InSwitch(Offload):
    """Sums by ``p4/allreduce``: integers are exact, floating-point sums equal on all ranks, in any order of arrival."""

    kinds = ("all_reduce",)
    dtypes = NUMBERS

    def __init__(self, settings: NetworkSettings) -> None:
        super().__init__(settings)
        if not (settings.link and (settings.control or settings.job) and settings.ports):
            raise OfframpError("offload allreduce: expected link, control (or job) and ports, which locate the switch")
        self._reducer: AllReducer | None = None

    def takes(self, request: CollectiveRequest) -> bool:
        """Whether the group has at least two ranks (one has its sum already), or all ranks of an existing job."""
        least = 2 if self.settings.job is None else len(self.settings.ports)
        return super().takes(request) and max(2, least) <= request.ranks <= len(self.settings.ports)

    def expect(self) -> None:
        """Check that the switch answers; a job that exists has been deployed, and a card says nothing without one."""
        control = self.settings.control
        if control and self.settings.job is None and not control.startswith(SCHEME):
            expect_switch(control)

    def open(self, place: OffloadGroup) -> None:
        """Become a job of the switch, with a number that rank 0 draws.

        Raises:
            OfframpError: the link or a rank's port does not exist, the switch runs another program, or it has no room
                for the job.
        """
        settings, mine = self.settings, place.ranks[place.rank]
        if max(place.ranks) >= len(settings.ports):
            raise OfframpError(f"ports {list(settings.ports)}: expected one for each rank up to {max(place.ranks)}")
        ports = [settings.ports[rank] for rank in place.ranks]
        assert settings.link is not None
        link = settings.link.replace("{rank}", str(mine)).replace("{port}", str(settings.ports[mine]))
        if settings.job is not None:
            if settings.job in _known_jobs:
                raise OfframpError(f"job {settings.job}: another group of all ranks uses it")
            _known_jobs.add(settings.job)
            job, control = settings.job, ""
        else:
            drawn = torch.tensor([secrets.randbits(32)])
            dist.broadcast(drawn, group=place.control, group_src=0)
            job, control = int(drawn), settings.control or ""
        network = AllReduceNetwork(link, control, ports, pages=settings.pages, segments=settings.segments)
        self._reducer = AllReducer(network, place.rank, place.size, job, place.timeout.total_seconds())

    def close(self) -> None:
        """Leave the job together with the other ranks."""
        if self._reducer is not None:
            self._reducer.close(_PARTING_S)

    def all_reduce(self, values: torch.Tensor, call: CollectiveCall) -> Result:  # noqa: ARG002
        """The sum, with the same bits on all ranks; for bfloat16, the float32 sum rounded."""
        assert self._reducer is not None
        narrow = values.dtype is torch.bfloat16
        total = values.to(torch.float32) if narrow else values.clone()
        self._reducer.all_reduce(total.numpy())
        return total.to(torch.bfloat16) if narrow else total
