# SPDX-License-Identifier: Apache-2.0
"""A worker of SwitchGNN whose transport is the agent: it hands over tensors, rings a doorbell, and receives sums.

The agent does here what :class:`offramp.switchgnn.worker.Worker` does with frames. Plans, features, sums and a journal
lie in memory of this process. If the agent dies, the worker waits up to its time-out for one to come back at the same
socket, and the new one resumes where the journal says.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from dataclasses import astuple, fields
from typing import TYPE_CHECKING, Final

import numpy as np

from offramp.device import Status
from offramp.graph.csr import IntArray
from offramp.nic import wire
from offramp.nic.connection import AgentConnection
from offramp.nic.link import LINK_COUNTS, parse_nic_link
from offramp.nic.rings import ClientRings, Submission
from offramp.switchgnn import worker_plans
from offramp.switchgnn.exchange import require_values
from offramp.switchgnn.local_block import PlanShare
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.stats import LinkCounts, WorkerStats
from offramp_base.errors import OfframpError
from offramp_base.sealed_memory import SharedMemory
from offramp_base.transport.base import LinkStats

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp_base.transport.faulty import FaultRates

LINE_BPS: Final = 100e9
_ENTRIES: Final = 16
_ANSWER: Final = 4096
_AGAIN_S: Final = 0.05
_STATS: Final = struct.Struct(f"<{8 + len(fields(WorkerStats)) - 2 + len(LINK_COUNTS)}Q")


class NicWorker:
    """Exchanges boundary features of one worker through the switch, by way of the agent.

    Args:
        index: this worker.
        plans: the switch's plans, in the same order for every worker.
        link: ``nic:SOCKET#PORT``.
        timeout_s: seconds without anything new, or without an agent, after which an exchange fails.
        window, gap_s, recovery, racks: as for :class:`offramp.switchgnn.worker.Worker`.
        faults: loss and duplication that the agent injects in both directions, drawn from ``seed``.
        line_bps: most bits per second sent.

    Raises:
        OfframpError: there is no agent or port, or the agent refuses the plans.
    """

    def __init__(
        self,
        index: int,
        plans: Sequence[Plan],
        link: str,
        timeout_s: float = 10.0,
        *,
        window: int = 256,
        gap_s: float = 0.0,
        recovery: Recovery | None = None,
        racks: Sequence[int] = (),
        faults: FaultRates | None = None,
        seed: int = 0,
        line_bps: float = LINE_BPS,
    ) -> None:
        self.index = index
        self.stats = WorkerStats(LinkCounts(), LinkCounts())
        self.link = LinkStats()
        self._path, self._port = parse_nic_link(link)
        self._timeout_s = timeout_s
        self._window, self._gap_s, self._line_bps, self._seed = window, gap_s, line_bps, seed
        self._recovery = recovery or Recovery()
        self._faults = (faults.loss, faults.duplication) if faults else (0.0, 0.0)
        self._plans = list(plans)
        shares = [PlanShare(plan, index, racks) for plan in plans]
        self.boundaries = [each.boundary for each in shares]
        self._lay_out(worker_plans.write(shares), shares)
        self._number = 0
        self._counted = [0] * (len(_STATS.unpack(bytes(_STATS.size))))
        try:
            self._connect(resume=False)
        except OfframpError:
            self._memory.close()
            raise

    def boundary(self, plan_index: int) -> IntArray:
        """``(n,)`` vertices, ascending, whose features an exchange takes and whose sums it returns."""
        return self.boundaries[plan_index]

    def start(self) -> None:
        """Wait until all workers are ready.

        Raises:
            OfframpError: they were not ready within the time-out, or the agent is gone.
        """
        self._request(wire.NicFunction.SWITCHGNN_START, b"")

    def exchange(self, plan_index: int, values: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Sum the features of the remote neighbours of each boundary vertex, over all blocks of a plan.

        Args:
            plan_index: position in ``plans``.
            values: ``(n, F)`` int32 rows of :meth:`boundary`.

        Returns:
            ``(n, F)`` int64 sums.

        Raises:
            OfframpError: the values do not fit the plan, nothing new arrives within the time-out, or the agent stays
                away.
        """
        require_values(self.index, self._plans, self.boundaries, plan_index, values)
        self._number += 1
        shape = values.shape
        np.frombuffer(self._memory.view, "<i4", values.size, self._values_at).reshape(shape)[:] = values
        message = wire.EXCHANGE.pack(
            plan_index, shape[1], self._number, 0, self._values_at, self._sums_at, self._scratch_at
        )
        self._request(wire.NicFunction.SWITCHGNN_EXCHANGE, message)
        return np.frombuffer(self._memory.view, "<i8", values.size, self._sums_at).reshape(shape).copy()

    def close(self) -> None:
        """Disconnect from the agent."""
        self._rings.close()
        self._connection.close()
        self._memory.close()

    def _lay_out(self, text: bytes, shares: Sequence[PlanShare]) -> None:
        """Lay out one region: rings, journal, message, answer, plans, values, sums, scratch."""
        cells = max((len(each.boundary) * each.plan.width for each in shares), default=0)
        sizes = [wire.queue_bytes(_ENTRIES), 64, 64, _ANSWER, len(text), 4 * cells, 8 * cells]
        sizes.append(worker_plans.scratch_bytes(shares))
        places = [0]
        for size in sizes:
            places.append(places[-1] + -(-size // 64) * 64)
        self._journal_at, self._message_at, self._answer_at, self._text_at = places[1:5]
        self._values_at, self._sums_at, self._scratch_at, end = places[5:]
        self._text_length = len(text)
        self._memory = SharedMemory(end, f"offramp-worker-{self.index}")
        self._memory.view[self._text_at : self._text_at + len(text)] = text

    def _connect(self, *, resume: bool) -> None:
        rings = ClientRings(self._memory, 0, _ENTRIES)
        connection = AgentConnection(self._path)
        try:
            region = connection.share(self._memory)
            number, bell = connection.queue(region, 0, _ENTRIES)
            rings.connect(bell)
            recovery = self._recovery
            flags = wire.Flag.ACKS * recovery.acks | wire.Flag.REUPLOAD * recovery.reupload
            flags |= wire.Flag.RESUME * resume
            times = recovery.timeout_s, recovery.cap_s, self._timeout_s, self._gap_s
            body = wire.TRANSPORT.pack(
                number,
                self._port,
                self.index,
                flags,
                region,
                self._window,
                self._text_at,
                self._text_length,
                self._journal_at,
                *(round(1e9 * seconds) for seconds in times),
                self._line_bps,
                *self._faults,
                self._seed,
            )
            connection.ask(wire.ControlMessageType.TRANSPORT, body)
        except OfframpError:
            connection.close()
            raise
        self._region, self._rings, self._connection = region, rings, connection

    def _request(self, function: wire.NicFunction, message: bytes) -> None:
        """Send a request to the agent; if it dies, another agent finishes it."""
        self._memory.view[self._message_at : self._message_at + len(message)] = message
        away_since: float | None = None
        while True:
            if self._rings.gone:
                now = time.monotonic()
                away_since = away_since or now
                if not self._back(now - away_since):
                    continue
                away_since = None
            entry = Submission(
                self._number,
                function,
                self._region,
                self._message_at,
                len(message),
                self._region,
                self._answer_at,
                _ANSWER,
            )
            self._rings.submit(entry)
            while not (done := self._rings.completions()) and not self._rings.gone:
                self._rings.wait(1.0)
            if done:
                break
        self._finish(done[0].status, bytes(self._memory.view[self._answer_at : self._answer_at + done[0].length]))

    def _back(self, away_s: float) -> bool:
        """Whether an agent is there again within ``away_s`` seconds."""
        try:
            self._rings.close()
            self._connection.close()
            self._connect(resume=True)
        except OfframpError as error:
            if away_s > self._timeout_s:
                raise OfframpError(f"worker {self.index}: the agent is gone for {away_s:.1f} s: {error}") from None
            time.sleep(_AGAIN_S)
            return False
        self._counted = [0] * len(self._counted)
        return True

    def _finish(self, status: int, answer: bytes) -> None:
        if status != Status.OK:
            raise OfframpError(
                f"worker {self.index}: nothing new for {self._timeout_s:g} s in {answer.decode(errors='replace')}; "
                "check that every worker runs, that its port is on the port in the plan, "
                "and that the switch still has its plan"
            )
        numbers = list(_STATS.unpack(answer))
        news = [now - before for now, before in zip(numbers, self._counted, strict=True)]
        self._counted = numbers
        links = len(LINK_COUNTS)
        up, down, rest, link = news[:4], news[4:8], news[8:-links], news[-links:]
        self.stats.up = LinkCounts(*_added(astuple(self.stats.up), up))
        self.stats.down = LinkCounts(*_added(astuple(self.stats.down), down))
        for field, more in zip(fields(WorkerStats)[2:], rest, strict=True):
            setattr(self.stats, field.name, getattr(self.stats, field.name) + more)
        for name, more in zip(LINK_COUNTS, link, strict=True):
            setattr(self.link, name, getattr(self.link, name) + more)


def _added(before: Sequence[int], more: Sequence[int]) -> list[int]:
    return [a + b for a, b in zip(before, more, strict=True)]
