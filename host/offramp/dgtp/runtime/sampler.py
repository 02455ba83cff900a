# SPDX-License-Identifier: Apache-2.0
"""A sampler: it draws the neighbourhoods of its seeds at the stores, and makes mini-batches of what they send."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from offramp.dgs.records import SamplingRecord, decode
from offramp.dgs.sampling import Numbering, SampledNeighbours, in_order
from offramp.dgs.wire import PULL, SAMPLE
from offramp.dgtp.runtime.batch import DrawnBatch, SampledBatch, draw_batch, seeds_of
from offramp.dgtp.runtime.job import ProcessOutcome
from offramp.dgtp.runtime.parts import TaskProcess
from offramp.dgtp.runtime.wire import read_message, send_message
from offramp_base.wire.objects import pack

if TYPE_CHECKING:
    from offramp.dgtp.runtime.inbox import TaskInbox
    from offramp.dgtp.runtime.job import ProcessJob
    from offramp.dgtp.runtime.links import Links
    from offramp.graph.csr import IntArray

AHEAD: Final = 4
"""Iterations that a sampler draws ahead of its task: more than one flow of each pair waits all the time."""


class SamplerProcess(TaskProcess):
    """Draws ahead in a thread; what it draws depends on the seed alone, not on where its vertices are."""

    def __init__(self, job: ProcessJob, links: Links, inbox: TaskInbox) -> None:
        super().__init__(job, links, inbox)
        assert job.sampler is not None
        self._content = job.sampler
        self._number = Numbering(len(self._content.owner))
        self._room = threading.Semaphore(AHEAD)
        self._bytes = 0
        (task,) = job.tasks
        self._from_stores = self.inputs(task, "store")
        (self._to_worker,) = self.outputs(task, "worker")

    def threads(self) -> list[Callable[[], None]]:
        """The one that draws."""
        return [self._draw_all]

    def prepare(self) -> None:
        """Wait for the first batch that is drawn; section III does not count draws among the tasks."""
        self.inbox.expect(("drawn", 0))

    def _draw_all(self) -> None:
        for iteration in range(self.job.iterations):
            self._room.acquire()
            self.inbox.put(("drawn", iteration), self._drawn(self.job.first + iteration))

    def _drawn(self, iteration: int) -> DrawnBatch:
        """A batch, whose features the stores have been asked for."""
        content, settings, batch = self._content, self.job.settings, iteration + 1
        places = seeds_of(settings, self.job.index, iteration, len(content.train))
        seeds, labels = content.train[places], content.labels[places]

        def draw(frontier: IntArray, hop: int) -> SampledNeighbours:
            parts = self._of_stores(frontier)
            for store, mine in enumerate(parts):
                if len(mine):
                    asked = frontier[mine]
                    self._say(store, SamplingRecord(SAMPLE, self.job.index, layer=hop, batch=batch, ids=asked))
            drawn = [self._answer(store) if len(mine) else _NONE for store, mine in enumerate(parts)]
            return in_order(drawn, np.concatenate(parts))

        drawn = draw_batch(seeds, labels, settings.layers, self._number, draw)
        for store, mine in enumerate(self._of_stores(drawn.sources)):
            self._say(store, SamplingRecord(PULL, self.job.index, batch=batch, ids=drawn.sources[mine]))
        return drawn

    def _of_stores(self, vertices: IntArray) -> list[IntArray]:
        """Places of the vertices of each store."""
        at = self._content.owner[vertices]
        return [np.flatnonzero(at == store) for store in range(len(self.links.structure))]

    def _say(self, store: int, record: SamplingRecord) -> None:
        message = record.encode()
        self._bytes += len(message)
        send_message(self.links.structure[store], message, f"store {store}")

    def _answer(self, store: int) -> SampledNeighbours:
        message = read_message(self.links.structure[store], f"store {store}")
        self._bytes += len(message)
        (record,) = decode(message)
        assert record.counts is not None
        assert record.ids is not None
        return SampledNeighbours(record.counts, record.ids)

    def perform(self, task: int, iteration: int) -> None:  # noqa: ARG002
        """Put the features into their rows, and pack the batch for the worker."""
        drawn: DrawnBatch = self.inbox.take(("drawn", iteration))
        self._room.release()
        features = np.empty((len(drawn.sources), self._content.features), np.float32)
        parts = self._of_stores(drawn.sources)
        for edge, mine in zip(self._from_stores, parts, strict=True):
            (record,) = decode(bytes(self.arrived(edge, iteration)))
            features[mine] = record.values
        self.leave(self._to_worker, iteration, pack(drawn.with_features(features), SampledBatch))

    def outcome(self) -> ProcessOutcome:
        """The bytes of requests and answers about neighbours."""
        return ProcessOutcome(structure_bytes=self._bytes)


_NONE: Final = SampledNeighbours(np.empty(0, np.int64), np.empty(0, np.int64))
