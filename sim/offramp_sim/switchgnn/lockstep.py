# SPDX-License-Identifier: Apache-2.0
"""All workers and one switch in one process, taking turns: for tests and for fast simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from offramp.switchgnn.endpoint import SwitchGnnEndpoint
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.recovery import Recovery
from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch

if TYPE_CHECKING:
    import numpy.typing as npt

Process = Callable[[PacketBatch], PacketBatch]
Channel = Callable[[PacketBatch], PacketBatch]
Stalls = Callable[[int, int], bool]
"""Whether a worker does nothing in a turn: ``stalls(worker, turn)``."""


def perfect(batch: PacketBatch) -> PacketBatch:
    """A channel that delivers everything unchanged."""
    return batch


class Lockstep:
    """Workers joined to a switch that is a function from what arrives to what leaves.

    Args:
        plans: those loaded on the switch.
        ports: switch port of each worker.
        process: the switch, such as ``Switch.process`` or ``ReferenceSwitch.process``.
        window: frames that each worker sends in one turn.
        up: transforms frames on their way to the switch; may keep some for a later turn.
        down: the same on the way to the workers.
        recovery: recovery from loss, with a turn as a second; None if nothing is lost.
        stalls: which workers do nothing in a turn; arrivals wait for them.
        racks: the leaf of each worker; empty with a single switch.
        busy: whether frames are in flight inside ``process``, which is then also called without arrivals.
        patience: turns without any progress after which a run with recovery fails.
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
        self.endpoints = [SwitchGnnEndpoint(worker, plans, recovery, racks) for worker in range(len(ports))]
        self._ports = list(ports)
        self._process = process
        self._window = window
        self._up = up
        self._down = down
        self._recovers = recovery is not None
        self._stalls = stalls
        self._busy = busy
        self._patience = patience if self._recovers else 0
        self._worker_of = {port: worker for worker, port in enumerate(ports)}
        self._waiting: list[list[PacketBatch]] = [[] for _ in ports]

    def start(self) -> None:
        """Pass the start barrier.

        Raises:
            OfframpError: the switch never says GO.
        """
        for endpoint in self.endpoints:
            endpoint.start()
        self._run(lambda e: not e.waiting)

    def exchange(self, plan_index: int, values: Sequence[npt.NDArray[np.int32]]) -> list[npt.NDArray[np.int64]]:
        """Run an exchange; returns each worker's sums, as ``Worker.exchange``.

        Raises:
            OfframpError: something is missing and there is no progress (with recovery: for too long).
        """
        for endpoint, value in zip(self.endpoints, values, strict=True):
            endpoint.begin(plan_index, value)
        self._run(lambda e: e.finished)
        return [endpoint.sums for endpoint in self.endpoints]

    def _run(self, done: Callable[[SwitchGnnEndpoint], bool]) -> None:
        progress, since = -1, self.turn
        while True:
            sent = self._turn()
            if not sent and self._recovers:
                self._skip_silence()
            finished = all(map(done, self.endpoints))
            if finished and (self._recovers or not sent):
                return
            now = sum(endpoint.progress for endpoint in self.endpoints)
            if now != progress or (sent and not self._recovers):
                progress, since = now, self.turn
            elif self.turn - since > self._patience:
                stuck = next(e for e in self.endpoints if not done(e))
                raise OfframpError(f"worker {stuck.index}: nothing moves in {stuck.state()}")

    def _skip_silence(self) -> None:
        """Skip to the turn before the next timeout, if all workers wait for one and nothing is in flight."""
        dues = [e.due_s for e in self.endpoints if not self._waiting[e.index] and self._is_awake(e)]
        if len(dues) == len(self.endpoints) and None not in dues:
            self.turn = max(self.turn, math.ceil(min(due for due in dues if due is not None)) - 1)

    def _is_awake(self, endpoint: SwitchGnnEndpoint) -> bool:
        return self._stalls is None or not self._stalls(endpoint.index, self.turn)

    def _turn(self) -> bool:
        """Take one turn; returns whether anything was in flight."""
        self.turn += 1
        awake = [e for e in self.endpoints if self._is_awake(e)]
        batches = []
        for endpoint in awake:
            batch = endpoint.outgoing(self._window)
            if len(batch):
                batch.ports[:] = self._ports[endpoint.index]
                batches.append(batch)
        arrived = self._up(PacketBatch.concatenate(batches) if batches else _NOTHING)
        busy = self._busy()
        departed = self._down(self._process(arrived) if len(arrived) or busy else arrived)
        if len(departed):
            for port in self._worker_of.keys() & set(departed.ports.tolist()):
                came = departed.select(np.equal(departed.ports, port))
                self._waiting[self._worker_of[port]].append(came)
        for endpoint in awake:
            if self._waiting[endpoint.index]:
                endpoint.incoming(PacketBatch.concatenate(self._waiting[endpoint.index]))
                self._waiting[endpoint.index] = []
            if self._recovers:
                endpoint.tick(self.turn)
        return busy or bool(batches) or len(arrived) > 0 or len(departed) > 0


_NOTHING = PacketBatch.empty()
