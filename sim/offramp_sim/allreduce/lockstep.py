# SPDX-License-Identifier: Apache-2.0
"""All ranks and their switches in one process, taking turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from offramp.allreduce.rank_endpoint import RankEndpoint
from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch

Channel = Callable[[PacketBatch], PacketBatch]


def perfect(batch: PacketBatch) -> PacketBatch:
    """A channel that delivers everything unchanged."""
    return batch


class AllReduceLockstep:
    """Ranks joined to a switch, or to several, that is a function from what arrives to what leaves.

    Args:
        endpoints: the ranks; their time-outs count turns.
        ports: ports of each of them.
        process: the switch.
        burst: frames that each rank sends in one turn.
        up: transforms frames on their way to the switch; may keep some for a later turn.
        down: the same on the way to the ranks.
        patience: turns without any progress after which a run fails.
    """

    def __init__(
        self,
        endpoints: Sequence[RankEndpoint],
        ports: Sequence[int],
        process: Channel,
        *,
        burst: int = 16,
        up: Channel = perfect,
        down: Channel = perfect,
        patience: int = 2000,
    ) -> None:
        self.endpoints, self.turn = list(endpoints), 0
        self.ports = list(ports)
        self._process, self._burst, self._up, self._down = process, burst, up, down
        self._patience = patience

    def all_reduce(self, arrays: Sequence[npt.NDArray[Any]]) -> None:
        """Sum one array of each rank, in place.

        Raises:
            OfframpError: a rank failed, or there is no progress.
        """
        for endpoint, array in zip(self.endpoints, arrays, strict=True):
            endpoint.begin(array)
        self.run()

    def run(self) -> None:
        """Run until all ranks have finished what they began.

        Raises:
            OfframpError: a rank failed, or there is no progress.
        """
        progress, since = -1, self.turn
        while not all(endpoint.idle for endpoint in self.endpoints):
            self.step()
            now = sum(endpoint.progress for endpoint in self.endpoints)
            if now != progress:
                progress, since = now, self.turn
            elif self.turn - since > self._patience:
                raise OfframpError(next(e for e in self.endpoints if not e.idle).state())

    def step(self) -> None:
        """Take one turn of all ranks and the switch."""
        self.turn += 1
        batches = []
        for endpoint, port in zip(self.endpoints, self.ports, strict=True):
            while len(batch := endpoint.outgoing(self._burst)):
                batches.append(PacketBatch(np.full(len(batch), port, np.int32), batch.lengths, batch.data.copy()))
                if sum(map(len, batches)) > self._burst * len(self.ports):
                    break
        arrived = self._up(PacketBatch.concatenate(batches))
        departed = self._down(self._process(arrived) if len(arrived) else arrived)
        for endpoint, port in zip(self.endpoints, self.ports, strict=True):
            if len(departed):
                endpoint.incoming(departed.select(np.equal(departed.ports, port)))
            endpoint.tick(self.turn)
