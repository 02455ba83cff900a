# SPDX-License-Identifier: Apache-2.0
"""The distributed k-hop sampler: draws a batch's neighbourhood and fetches its features (specification section 7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp.dgs.minibatch import MiniBatch, SampledView
from offramp.dgs.records import SamplingRecord, decode
from offramp.dgs.rules import SAMPLERS, DrawRequest, Masked
from offramp.dgs.sampling import Numbering, SampledNeighbours, in_order
from offramp.dgs.selection import Floats, select, spread
from offramp.dgs.server import MaskServer
from offramp.dgs.wire import COUNT, ID, MASKS, PULL, SAMPLE, VALUE
from offramp.graph.csr import IntArray
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.dgs.masks import Masks
    from offramp.dgs.messenger import Messenger
    from offramp.dgs.shard import Shard

Received = Callable[[IntArray, Floats, IntArray | None], None]
"""Called with remote vertices, their values and the columns that these are of; None: all."""


class BatchSampler:
    """One worker's batches; all workers make theirs together, as each answers what others ask for."""

    def __init__(self, shard: Shard, messenger: Messenger, device: torch.device | None = None) -> None:
        """``device``: of the batches' tensors; main memory by default."""
        self._shard, self._messenger, self._device = shard, messenger, device
        self._rule = SAMPLERS.get(shard.settings.sampler)(shard)
        self._server = MaskServer(shard, self._rule)
        self._number = Numbering(len(shard.owner))
        self._row = np.full(len(shard.owner), -1, np.int64)
        self._row[shard.vertices] = np.arange(len(shard.vertices))
        self._columns: IntArray | None = None
        self._version = 0
        self._news: list[list[SamplingRecord]] = [[] for _ in range(shard.workers)]
        self._rule.prepare(messenger)

    def publish(self, version: int, masks: Masks | None, columns: IntArray | None) -> None:
        """Draw by these masks and fetch only these columns, from the next batch on.

        Other workers are told before the next request.

        Args:
            version: version of both.
            masks: masks to draw by; None leaves the draws unchanged.
            columns: ascending; None: all.
        """
        shard = self._shard
        width = shard.width
        self._version = version
        self._columns = columns if columns is not None and len(columns) < width else None
        nodes = masks.weights() if masks is not None else np.empty(0, np.float32)
        chosen = np.arange(width) if self._columns is None else self._columns
        for peer in range(shard.workers):
            shared = nodes[shard.known_to[peer]] if len(nodes) and shard.everything is None else np.empty(0, np.float32)
            self._news[peer].append(
                SamplingRecord(MASKS, shard.worker, version=version, values=shared, columns=chosen, width=width)
            )
        if masks is not None:
            assert isinstance(self._rule, Masked)
            self._rule.learn(shard.worker, shard.halo, nodes)

    def sample(self, seeds: IntArray, batch: int, dtype: torch.dtype = torch.float32) -> MiniBatch:
        """The neighbourhood of ``seeds``, own vertices, in batch number ``batch`` (from 1)."""
        frontier, views, edges = seeds, [], 0
        for layer in range(1, self._shard.settings.layers + 1):
            self._rule.begin(frontier, batch, layer, self._messenger)
            sampled = self._draw(frontier, batch, layer)
            sources, columns = self._number(frontier, sampled.neighbours)
            weights = self._rule.weights(sampled.neighbours)
            degree = self._shard.degree
            view = SampledView(sources, len(frontier), sampled, columns, degree, weights, dtype, self._device)
            views.append(view)
            edges += len(sampled.neighbours)
            frontier = sources
        return MiniBatch(seeds, views[::-1], frontier, edges)

    def _draw(self, frontier: IntArray, batch: int, layer: int) -> SampledNeighbours:
        shard = self._shard
        if shard.everything is not None:
            return self._rule.pick(DrawRequest(shard.everything, frontier, frontier, shard.worker, batch, layer))
        places = [np.flatnonzero(shard.owner[frontier] == peer) for peer in range(shard.workers)]
        requests = [
            [SamplingRecord(SAMPLE, shard.worker, layer, batch, ids=frontier[mine])] if len(mine) else []
            for mine in places
        ]
        replies = self._ask(requests, "requests")
        own = frontier[places[shard.worker]]
        drawn = [SampledNeighbours(np.empty(0, np.int64), np.empty(0, np.int64))] * shard.workers
        drawn[shard.worker] = self._rule.pick(DrawRequest(shard.rows, self._row[own], own, shard.worker, batch, layer))
        for peer, (reply,) in ((peer, peers) for peer, peers in enumerate(replies) if peers):
            assert reply.counts is not None
            assert reply.ids is not None
            drawn[peer] = SampledNeighbours(reply.counts, reply.ids)
        return in_order(drawn, np.concatenate(places))

    def features(self, sources: IntArray, batch: int, received: Received = lambda *_: None) -> Floats:
        """``(s, F)`` features of ``sources``; columns of remote ones that do not travel are 0."""
        shard = self._shard
        at = shard.owner[sources]
        x = np.zeros((len(sources), shard.width), np.float32)
        mine = np.flatnonzero(at == shard.worker)
        x[mine] = select(shard.features, self._row[sources[mine]], None)
        places = [np.flatnonzero(at == peer) if peer != shard.worker else mine[:0] for peer in range(shard.workers)]
        pulled = self.pull([sources[theirs] for theirs in places], batch, self._version, "features")
        for theirs, values in zip(places, pulled, strict=True):
            if len(theirs):
                columns = self._columns if values.shape[1] < shard.width else None
                spread(values, x, theirs, columns)
                received(sources[theirs], values, columns)
        return x

    def pull(self, ids: list[IntArray], batch: int, version: int, kind: str) -> list[Floats]:
        """Features of ``ids`` from each worker, in order; by another version than the published one: all columns.

        Args:
            ids: ids of vertices that the worker in this place owns; none for this one.
            batch: number.
            version: version of the masks to use.
            kind: kind of bytes that this counts as: ``features`` or ``explanation``.

        Raises:
            OfframpError: vertices of this worker.
        """
        shard = self._shard
        if len(ids[shard.worker]):
            raise OfframpError(
                f"worker {shard.worker}: vertex {ids[shard.worker][0]} is its own, there is no pull for it"
            )
        requests = [
            [SamplingRecord(PULL, shard.worker, batch=batch, version=version, ids=mine)] if len(mine) else []
            for mine in ids
        ]
        parts = []
        for reply in self._ask(requests, kind):
            values = reply[0].values if reply else np.empty((0, shard.width), np.float32)
            assert values is not None
            parts.append(values)
        rows = sum(map(len, ids))
        self._count("rows" if kind == "features" else "rows_explained", rows)
        return parts

    def _ask(self, requests: list[list[SamplingRecord]], kind: str) -> list[list[SamplingRecord]]:
        """Answers of each worker to requests, behind the news that others have to hear first."""
        self._count_sent(requests, kind)
        messages = self._messenger.all_to_all([[*news, *mine] for news, mine in zip(self._news, requests, strict=True)])
        self._news = [[] for _ in self._news]
        answers = [self._server.answers(message) for message in messages]
        for record in self._to_others(answers):
            if record.counts is not None:
                assert record.ids is not None
                self._count("structure", COUNT.itemsize * len(record.counts) + ID.itemsize * len(record.ids))
            elif record.values is not None:
                self._count(kind, VALUE.itemsize * record.values.size)
        return [decode(message) for message in self._messenger.all_to_all(answers)]

    def _count_sent(self, requests: list[list[SamplingRecord]], kind: str) -> None:
        for record in self._to_others(self._news):
            assert record.values is not None
            self._count("masks", -(-record.width // 8) + VALUE.itemsize * len(record.values))
        for record in self._to_others(requests):
            assert record.ids is not None
            self._count("explanation" if kind == "explanation" else "requests", ID.itemsize * len(record.ids))

    def _to_others(self, records: list[list[SamplingRecord]]) -> list[SamplingRecord]:
        return [record for peer, mine in enumerate(records) if peer != self._shard.worker for record in mine]

    def _count(self, kind: str, number: int) -> None:
        ledger = self._messenger.ledger
        setattr(ledger, kind, getattr(ledger, kind) + number)
