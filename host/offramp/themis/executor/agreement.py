# SPDX-License-Identifier: Apache-2.0
"""Agreement before a collective: all ranks compare what they are about to do (paper section 4.6)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import torch
import torch.distributed as dist

from offramp_base.errors import OfframpError

_SCALE = 1e15
"""Factor by which seconds per byte are sent, as femtoseconds."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """Result of the exchange, equal on all ranks: the largest exponent, and each dimension's slowest pace in s/byte."""

    top: int
    pace: tuple[float, ...]


def agree(digest: bytes, sequence: int, top: int, pace: list[float], group: dist.ProcessGroup) -> Agreed:
    """Exchange the digest of the plan, the number of the collective, the tensor's exponent and measured paces.

    Raises:
        OfframpError: ranks differ in the plan, or in how many collectives they have started.
    """
    words = [sequence, *struct.unpack("<4q", digest), top, *(round(p * _SCALE) for p in pace)]
    mine = torch.tensor(words, dtype=torch.int64)
    rows = [torch.empty_like(mine) for _ in range(dist.get_world_size(group))]
    dist.all_gather(rows, mine, group=group)
    for what, columns in (("the number of collectives that they started", slice(0, 1)), ("the plan", slice(1, 5))):
        differ = [rank for rank, row in enumerate(rows) if not torch.equal(row[columns], rows[0][columns])]
        if differ:
            raise OfframpError(f"ranks {', '.join(map(str, differ))} differ from rank 0 in {what}")
    table = torch.stack(rows).max(dim=0).values.tolist()
    return Agreed(int(table[5]), tuple(value / _SCALE for value in table[6:]))
