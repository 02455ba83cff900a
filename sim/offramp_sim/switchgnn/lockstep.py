"""All workers and one switch in one process, in turns: for tests and for fast simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from offramp.errors import OfframpError
from offramp.switch.switchgnn.endpoint import Endpoint
from offramp.switch.switchgnn.plan import Plan
from offramp.switch.switchgnn.recovery import Recovery
from offramp.wire.batch import PacketBatch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Process = Callable[[PacketBatch], PacketBatch]
Channel = Callable[[PacketBatch], PacketBatch]
Stalls = Callable[[int, int], bool]
"""Whether a worker does nothing in a turn: ``stalls(worker, turn)``."""


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
        recovery: what workers do about loss, a second being a turn; None where nothing is lost.
        stalls: which workers do nothing in a turn; what comes meanwhile waits for them.
        racks: the leaf of each worker; empty where there is one switch.
        busy: whether frames are on their way inside ``process``, which then is called without any too.
        patience: turns in which nobody learns anything until a run with recovery fails.
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
        recovery: Recovery | None = None,
        stalls: Stalls | None = None,
        patience: int = 1000,
        racks: Sequence[int] = (),
        busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self.turn = 0
        self.endpoints = [Endpoint(worker, plans, recovery, racks) for worker in range(len(ports))]
        self._ports = list(ports)
        self._process = process
        self._window = window
        self._up = up
        self._down = down
        self._recovers = recovery is not None
        self._stalls = stalls
        self._busy = busy
        self._patience = patience if self._recovers else 0
        self._waiting = [PacketBatch.empty() for _ in ports]

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
            OfframpError: something is missing, and nothing moves (with recovery: for too long).
        """
        for endpoint, value in zip(self.endpoints, values, strict=True):
            endpoint.begin(plan_index, value)
        self._run(lambda e: e.finished)
        return [endpoint.sums for endpoint in self.endpoints]

    def _run(self, done: Callable[[Endpoint], bool]) -> None:
        progress, since = -1, self.turn
        while True:
            sent = self._turn()
            finished = all(map(done, self.endpoints))
            if finished and (self._recovers or not sent):
                return
            now = sum(endpoint.progress for endpoint in self.endpoints)
            if now != progress or (sent and not self._recovers):
                progress, since = now, self.turn
            elif self.turn - since > self._patience:
                stuck = next(e for e in self.endpoints if not done(e))
                raise OfframpError(f"worker {stuck.index}: nothing moves in {stuck.state()}")

    def _turn(self) -> bool:
        """One turn; whether anything was on its way."""
        self.turn += 1
        awake = [e for e in self.endpoints if self._stalls is None or not self._stalls(e.index, self.turn)]
        batches = []
        for endpoint in awake:
            batch = endpoint.outgoing(self._window)
            batch.ports[:] = self._ports[endpoint.index]
            batches.append(batch)
        arrived = self._up(PacketBatch.concatenate(batches))
        busy = self._busy()
        departed = self._down(self._process(arrived) if len(arrived) or busy else arrived)
        if len(departed):
            for worker, port in enumerate(self._ports):
                came = departed.select(departed.ports == port)
                self._waiting[worker] = PacketBatch.concatenate([self._waiting[worker], came])
        for endpoint in awake:
            if len(self._waiting[endpoint.index]):
                endpoint.incoming(self._waiting[endpoint.index])
                self._waiting[endpoint.index] = PacketBatch.empty()
            if self._recovers:
                endpoint.tick(self.turn)
        return busy or any(map(len, batches)) or len(arrived) > 0 or len(departed) > 0
