# SPDX-License-Identifier: Apache-2.0
"""A graph store: it draws neighbours of its vertices, and sends their features to samplers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from offramp.dgs.records import SamplingRecord, decode
from offramp.dgs.rules import SAMPLERS
from offramp.dgs.selection import answer
from offramp.dgs.server import MaskServer
from offramp.dgs.wire import PULL
from offramp.dgtp.runtime.parts import Payload, TaskProcess
from offramp.dgtp.runtime.wire import read_message, send_message

if TYPE_CHECKING:
    from offramp.dgtp.runtime.inbox import TaskInbox
    from offramp.dgtp.runtime.job import ProcessJob
    from offramp.dgtp.runtime.links import Links


class GraphStoreProcess(TaskProcess):
    """Serves one iteration after the other; features are gathered when their flow starts, so they take no memory."""

    def __init__(self, job: ProcessJob, links: Links, inbox: TaskInbox) -> None:
        super().__init__(job, links, inbox)
        assert job.store is not None
        shard = self._shard = job.store
        self._server = MaskServer(shard, SAMPLERS.get(shard.settings.sampler)(shard))
        self._draws = threading.Lock()
        self._pulls: dict[tuple[int, int], SamplingRecord] = {}
        self._samplers = {edge: int(self.placed.target[edge]) for edge in self.outputs(job.tasks[0], "sampler")}
        first = min(self._samplers.values(), default=0)
        self._sampler_of = {edge: task - first for edge, task in self._samplers.items()}

    def threads(self) -> list[Callable[[], None]]:
        """One for each sampler's requests."""
        return [partial(self._serve, sampler) for sampler in self.links.structure]

    def _serve(self, sampler: int) -> None:
        sock, who = self.links.structure[sampler], f"sampler {sampler}"
        while True:
            message = read_message(sock, who)
            records = decode(message)
            if any(record.kind == PULL for record in records):
                (pull,) = records
                self.inbox.put(("pull", sampler, pull.batch), pull)
                continue
            with self._draws:
                answers = self._server.answers(message)
            send_message(sock, b"".join(record.encode() for record in answers), who)

    def perform(self, task: int, iteration: int) -> None:  # noqa: ARG002
        """Wait until all samplers have said what they need."""
        begun = time.monotonic()
        number = self.job.first + iteration + 1
        for edge, sampler in self._sampler_of.items():
            self._pulls[edge, iteration] = self.inbox.take(("pull", sampler, number))
        self.waited_s = time.monotonic() - begun

    def payload(self, edge: int, iteration: int) -> Payload:
        """The features that a sampler has asked for."""
        pull, shard = self._pulls.pop((edge, iteration)), self._shard
        return answer(pull, shard.features, shard.vertices, None, pull.version, shard.worker).encode()
