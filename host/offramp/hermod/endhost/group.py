# SPDX-License-Identifier: Apache-2.0
"""An endpoint for the ranks of a torch.distributed group, and its point-to-point operations."""

from __future__ import annotations

import torch.distributed as dist

from offramp.hermod.endhost.endpoint import Endpoint
from offramp.hermod.endhost.priorities import Priorities
from offramp.hermod.endhost.rdma.port import RdmaPort
from offramp.hermod.endhost.tuning import Tuning
from offramp.workers.messages import introduce
from offramp_base.errors import OfframpError
from offramp_base.listening import Token


def endpoint_of(
    group: dist.ProcessGroup | None = None,
    priorities: Priorities | None = None,
    *,
    where: str | None = None,
    tuning: Tuning | None = None,
    token: Token | None = None,
    insecure: bool = False,
    rdma: bool = False,
) -> Endpoint:
    """This rank's endpoint among a group's ranks, which all call this; the group, of any kind, only introduces them.

    ``rdma``: whether data go over the RoCE v2 device that has the address.

    Raises:
        OfframpError: torch.distributed is not initialised, this rank is not in the group, or as
            :class:`~offramp.hermod.endhost.endpoint.Endpoint` and :class:`~offramp.hermod.endhost.rdma.port.RdmaPort`.
    """
    if not dist.is_initialized():
        raise OfframpError("endpoint: expected torch.distributed to be initialised")
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    if rank < 0:
        raise OfframpError("endpoint: this rank is not in the group")

    def tell(row: bytes) -> list[bytes]:
        return introduce(row, group)

    port = RdmaPort if rdma else None
    return Endpoint(rank, size, tell, priorities, where=where, tuning=tuning, token=token, insecure=insecure, rdma=port)
