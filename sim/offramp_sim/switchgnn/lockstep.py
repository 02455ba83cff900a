"""All workers and one switch in one process, in turns: for tests and for fast simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from offramp.errors import OfframpError
from offramp.switch.switchgnn.endpoint import Endpoint
from offramp.switch.switchgnn.plan import Plan
from offramp.wire.batch import PacketBatch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Process = Callable[[PacketBatch], PacketBatch]
Channel = Callable[[PacketBatch], PacketBatch]


def perfect(batch: PacketBatch) -> PacketBatch:
    """A channel that hands everything over as it is."""
    return batch


class Lockstep:
    """Workers joined to a switch that is a function from what arrives to what leaves.

    Args:
        plans: those that the switch has.
        ports: switch port of each worker.
        process: the switch, such as ``Switch.process`` or ``ReferenceSwitch.process``.
        window: frames that each worker sends in one turn.
        up: what becomes of frames on their way to the switch; may keep some for a later turn.
        down: the same on the way to the workers.
    """

    def __init__(
        self,
        plans: Sequence[Plan],
        ports: Sequence[int],
        process: Process,
        *,
        window: int = 1 << 20,
        up: Channel = perfect,
        down: Channel = perfect,
    ) -> None:
        self.endpoints = [Endpoint(worker, plans) for worker in range(len(ports))]
        self._ports = list(ports)
        self._process = process
        self._window = window
        self._up = up
        self._down = down

    def start(self) -> None:
        """The start barrier.

        Raises:
            OfframpError: the switch never says GO.
        """
        for endpoint in self.endpoints:
            endpoint.start()
        self._run(lambda e: not e.waiting)

    def exchange(self, plan_index: int, values: Sequence[npt.NDArray[np.int32]]) -> list[npt.NDArray[np.int64]]:
        """Each worker's sums, as ``Worker.exchange``.

        Raises:
            OfframpError: a turn in which nothing moves although something is missing.
        """
        for endpoint, value in zip(self.endpoints, values, strict=True):
            endpoint.begin(plan_index, value)
        self._run(lambda e: e.finished)
        return [endpoint.sums for endpoint in self.endpoints]

    def _run(self, done: Callable[[Endpoint], bool]) -> None:
        while True:
            sent = self._turn()
            if all(map(done, self.endpoints)) and not sent:
                return
            if not sent:
                stuck = next(e for e in self.endpoints if not done(e))
                raise OfframpError(f"worker {stuck.index}: nothing moves in {stuck.state()}")

    def _turn(self) -> bool:
        """One turn; whether anything was on its way."""
        batches = []
        for endpoint, port in zip(self.endpoints, self._ports, strict=True):
            batch = endpoint.outgoing(self._window)
            batch.ports[:] = port
            batches.append(batch)
        arrived = self._up(PacketBatch.concatenate(batches))
        departed = self._down(self._process(arrived))
        for endpoint, port in zip(self.endpoints, self._ports, strict=True):
            endpoint.incoming(departed.select(departed.ports == port))
        return any(map(len, batches)) or len(arrived) > 0 or len(departed) > 0
