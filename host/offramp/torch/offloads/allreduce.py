# SPDX-License-Identifier: Apache-2.0
"""All-reduce in the switch: every rank sends its tensor once and gets the sum back once."""

from __future__ import annotations

import secrets

import torch

from offramp.allreduce.reducer import AllReduceNetwork, AllReducer
from offramp.torch.offload import OFFLOADS, Call, Offload, Request, Result
from offramp.torch.place import Place
from offramp.torch.settings import NetworkSettings
from offramp_base.errors import OfframpError

_JOB = "offramp/allreduce/job"
_known_jobs: set[int] = set()
"""Jobs, already known to the switches, that groups of this process have taken; a job belongs to one group."""
_PARTING_S = 10.0
"""How long the end of a group may wait for ranks that did not come to theirs."""


@OFFLOADS.register("allreduce")
class InSwitch(Offload):
    """Sums by ``p4/allreduce``: integers exactly, floating-point numbers alike on all ranks, whatever their order."""

    kinds = ("all_reduce",)
    dtypes = (
        *(torch.float32, torch.float64, torch.float16, torch.bfloat16),
        *(torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8),
    )

    def __init__(self, settings: NetworkSettings) -> None:
        super().__init__(settings)
        if not (settings.link and (settings.control or settings.job) and settings.ports):
            raise OfframpError(
                "offload allreduce: expected link, control (or job) and ports, which say where the switch is"
            )
        self._reducer: AllReducer | None = None

    def takes(self, request: Request) -> bool:
        """Whether the group has at least two ranks (one has its sum already), or all ranks of a job that exists."""
        least = 2 if self.settings.job is None else len(self.settings.ports)
        return super().takes(request) and max(2, least) <= request.ranks <= len(self.settings.ports)

    def open(self, place: Place) -> None:
        """Become a job of the switch, under a number that rank 0 draws.

        Raises:
            OfframpError: no such link, no port for a rank, another program on the switch, no room for the job.
        """
        settings, mine = self.settings, place.ranks[place.rank]
        if max(place.ranks) >= len(settings.ports):
            raise OfframpError(f"ports {list(settings.ports)}: expected one for each rank up to {max(place.ranks)}")
        ports = [settings.ports[rank] for rank in place.ranks]
        assert settings.link is not None
        link = settings.link.replace("{rank}", str(mine)).replace("{port}", str(settings.ports[mine]))
        if settings.job is not None:
            if settings.job in _known_jobs:
                raise OfframpError(f"job {settings.job}: another group of all ranks has it")
            _known_jobs.add(settings.job)
            job, control = settings.job, ""
        else:
            if place.rank == 0:
                place.store.set(_JOB, str(secrets.randbits(32)))
            job, control = int(place.store.get(_JOB)), settings.control or ""
        network = AllReduceNetwork(link, control, ports, pages=settings.pages, segments=settings.segments)
        self._reducer = AllReducer(network, place.rank, place.size, job, place.timeout.total_seconds())

    def close(self) -> None:
        """Leave the job together with the others."""
        if self._reducer is not None:
            self._reducer.close(_PARTING_S)

    def all_reduce(self, values: torch.Tensor, call: Call) -> Result:  # noqa: ARG002
        """The sum, with the same bits on all ranks; of bfloat16 the sum of float32, rounded."""
        assert self._reducer is not None
        narrow = values.dtype is torch.bfloat16
        total = values.to(torch.float32) if narrow else values.clone()
        self._reducer.all_reduce(total.numpy())
        return total.to(torch.bfloat16) if narrow else total
