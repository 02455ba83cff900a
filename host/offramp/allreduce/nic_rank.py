# SPDX-License-Identifier: Apache-2.0
"""A rank of all-reduce whose transport is the agent: it hands over tensors, rings a doorbell, and receives sums.

The agent does here what :class:`offramp.allreduce.link_rank.LinkRank` does with frames. It answers other ranks by
itself while nothing is summed. If it dies, the job is over: what other ranks may still lack dies with it.
"""

from __future__ import annotations

import struct
import time
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from offramp.allreduce import numbers
from offramp.allreduce.endpoint import Stats
from offramp.allreduce.tensor_sum import require_in_place
from offramp.device import Status
from offramp.nic import wire
from offramp.nic.connection import AgentConnection
from offramp.nic.link import LINK_COUNTS, parse_nic_link
from offramp.nic.rings import ClientRings, Submission
from offramp_base.errors import OfframpError
from offramp_base.sealed_memory import SharedMemory
from offramp_base.transport.base import LinkStats

if TYPE_CHECKING:
    from offramp.allreduce.tensor_sum import Array

_ENTRIES: Final = 16
_ANSWER: Final = 1024
_LOOK_S: Final = 1.0
_PATIENCE_S: Final = 10.0
"""Seconds beyond its own time-out after which a silent agent is asked whether it is well."""
_STATS: Final = struct.Struct(f"<{len(fields(Stats)) + len(LINK_COUNTS)}Q")
_LEAST_MEMORY: Final = 1 << 20


class NicRank:
    """Sums tensors of one rank by way of the agent.

    Args:
        link: ``nic:SOCKET#PORT``.
        rank: this rank.
        world: number of ranks.
        job: number of the job.
        timeout_s: how long nothing new may come before a sum fails.
        pages: number of pages of slots that the job has.
        segments: number of segments in a packet.
        flight: chunks that may be on their way at once.
        retry_s: time without anything new after which what is missing is sent again.
        loss: probability of dropping an incoming frame, for tests, drawn from ``seed``.

    Raises:
        OfframpError: there is no agent or port, another has the port, or packets that do not fit its buffers.
    """

    def __init__(
        self,
        link: str,
        rank: int,
        world: int,
        job: int,
        timeout_s: float,
        *,
        pages: int = 1,
        segments: int = 1,
        flight: int = 128,
        retry_s: float = 0.25,
        loss: float = 0.0,
        seed: int = 0,
    ) -> None:
        path, port = parse_nic_link(link)
        if not 1 <= pages <= wire.MOST_PAGES or not 1 <= segments <= wire.MOST_SEGMENTS:
            raise OfframpError(
                f"all_reduce over {link}: {pages} pages, packets of {segments} segments: expected at most "
                f"{wire.MOST_PAGES} and {wire.MOST_SEGMENTS}"
            )
        self.stats, self.link = Stats(), LinkStats()
        self._name, self._world, self._timeout_s = f"rank {rank}: all_reduce", world, timeout_s
        self._number = 0
        self._running: tuple[Array, np.dtype[Any]] = np.zeros(0), np.dtype(np.float64)
        self._memory = SharedMemory(wire.queue_bytes(_ENTRIES) + 64 + _ANSWER, f"offramp-rank-{rank}")
        self._message_at = -(-wire.queue_bytes(_ENTRIES) // 64) * 64
        self._answer_at = self._message_at + 64
        self._rings = ClientRings(self._memory, 0, _ENTRIES)
        self._tensors: SharedMemory | None = None
        self._tensor_region = 0
        try:
            self._connection = AgentConnection(path)
        except OfframpError:
            self._rings.close()
            self._memory.close()
            raise
        try:
            self._region = self._connection.share(self._memory)
            number, bell = self._connection.queue(self._region, 0, _ENTRIES)
            self._rings.connect(bell)
            times = round(1e9 * retry_s), round(1e9 * timeout_s)
            body = wire.RANK.pack(number, port, rank, world, job, pages, segments, max(1, flight), *times, loss, seed)
            self._connection.ask(wire.ControlMessageType.RANK, body)
        except OfframpError:
            self.close()
            raise

    def begin(self, array: Array) -> None:
        """Start to replace ``array`` by its sum over all ranks; one at a time.

        Raises:
            OfframpError: an array that cannot be summed, or no memory for it.
        """
        require_in_place(array, f"{self._name} {self._number}")
        form = numbers.format_of(array.dtype, self._world)
        input_type, summed = numbers.carried(form)
        apart = -(-array.size * summed.itemsize // 64) * 64
        values_at = apart if input_type != summed else 0  # else in place
        view = self._room(values_at + array.size * max(input_type.itemsize, summed.itemsize))
        np.frombuffer(view, input_type, array.size, values_at)[:] = array.reshape(-1)
        message = wire.SUM.pack(form.code, self._tensor_region, array.size, values_at, 0)
        self._memory.view[self._message_at : self._message_at + len(message)] = message
        places = self._region, self._message_at, len(message), self._region, self._answer_at, _ANSWER
        self._rings.submit(Submission(self._number, wire.NicFunction.ALLREDUCE, *places))
        self._running = array, summed

    def finish(self, timeout_s: float) -> None:
        """Wait for the sums.

        Raises:
            OfframpError: as :meth:`offramp.allreduce.reducer.AllReducer.all_reduce`; the agent is gone, or hangs.
        """
        name = f"{self._name} {self._number}"
        self._number += 1
        self._wait(name, timeout_s)
        array, summed = self._running
        assert self._tensors is not None
        sums: Any = np.frombuffer(self._tensors.view, summed, array.size)
        with np.errstate(over="ignore"):  # a sum beyond the type is infinite, as it is elsewhere
            array.reshape(-1)[:] = sums.astype(array.dtype)

    def close(self) -> None:
        """Disconnect from the agent, which then forgets this rank."""
        self._connection.close()
        self._rings.ended(_PATIENCE_S)  # until then it may write to the memory
        self._rings.close()
        self._memory.close()
        if self._tensors is not None:
            self._tensors.close()

    def _room(self, size: int) -> memoryview:
        """Memory of at least ``size`` bytes that the agent maps; what was in a smaller one is gone."""
        if self._tensors is None or self._tensors.size < size:
            larger = SharedMemory(max(_LEAST_MEMORY, 2 * size), "offramp-tensors")
            try:
                self._tensor_region = self._connection.share(larger)
            except OfframpError:
                larger.close()
                raise
            if self._tensors is not None:
                self._tensors.close()
            self._tensors = larger
        return self._tensors.view

    def _wait(self, name: str, timeout_s: float) -> None:
        """Wait for the agent's answer, and count what it counted."""
        mine = timeout_s < self._timeout_s  # else the agent says when it has waited long enough
        deadline = time.monotonic() + (timeout_s if mine else timeout_s + _PATIENCE_S)
        while not (done := self._rings.completions()):
            if self._rings.gone:
                raise OfframpError(f"{name}: the agent is gone")
            if time.monotonic() > deadline:
                if mine:
                    raise OfframpError(f"{name}: not over after {timeout_s:g} s")
                self._connection.stats()  # an agent that is well answers
                deadline = time.monotonic() + _PATIENCE_S
            self._rings.wait(min(_LOOK_S, timeout_s))
        answer = bytes(self._memory.view[self._answer_at : self._answer_at + done[0].length])
        if done[0].status != Status.OK:
            raise OfframpError(
                answer.decode(errors="replace") or f"{name}: the agent refuses it with status {done[0].status}"
            )
        if len(answer) != _STATS.size:
            raise OfframpError(f"{name}: the agent answers with {len(answer)} bytes, expected {_STATS.size}")
        counted = _STATS.unpack(answer)
        own = len(fields(Stats))
        self.stats = Stats(*counted[:own])
        self.link = LinkStats(**dict(zip(LINK_COUNTS, counted[own:], strict=True)))
