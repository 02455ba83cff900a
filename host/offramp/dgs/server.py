# SPDX-License-Identifier: Apache-2.0
"""Answers of a worker to others: neighbours drawn of its vertices, features of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from offramp.dgs.records import SamplingRecord, decode
from offramp.dgs.rules import DrawRequest, Masked
from offramp.dgs.selection import answer
from offramp.dgs.wire import MASKS, NEIGHBOURS, PULL, SAMPLE
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.dgs.rules import Rule
    from offramp.dgs.shard import Shard
    from offramp.graph.csr import IntArray


class MaskServer:
    """Answers requests by the latest masks that the requester has sent."""

    def __init__(self, shard: Shard, rule: Rule) -> None:
        self._shard, self._rule = shard, rule
        self._versions = [0] * shard.workers
        self._columns: list[IntArray | None] = [None] * shard.workers

    def answers(self, message: bytes) -> list[SamplingRecord]:
        """Answers to the requests of one message, in order.

        Raises:
            OfframpError: a request names data that this worker lacks.
        """
        replies = []
        for record in decode(message):
            if record.kind == MASKS:
                self._learn(record)
            elif record.kind == SAMPLE:
                replies.append(self._neighbours(record))
            elif record.kind == PULL:
                replies.append(self.rows(record))
        return replies

    def rows(self, request: SamplingRecord) -> SamplingRecord:
        """The ROWS that answer a PULL: the requester's columns, or all where its version is not known here."""
        shard, source = self._shard, request.source
        version, columns = self._versions[source], self._columns[source]
        return answer(request, shard.features, shard.vertices, columns, version, shard.worker)

    def _learn(self, masks: SamplingRecord) -> None:
        source = masks.source
        assert masks.values is not None
        self._versions[source] = masks.version
        whole = masks.columns is None or len(masks.columns) == masks.width
        self._columns[source] = None if whole else masks.columns
        if len(masks.values):
            if len(masks.values) != len(self._shard.drawn_for[source]):
                raise OfframpError(
                    f"masks of worker {source}: expected {len(self._shard.drawn_for[source])} values, "
                    f"got {len(masks.values)}"
                )
            assert isinstance(self._rule, Masked)
            self._rule.learn(source, self._shard.drawn_for[source], masks.values)

    def _neighbours(self, request: SamplingRecord) -> SamplingRecord:
        shard, ids = self._shard, request.ids
        assert ids is not None
        if (shard.owner[ids] != shard.worker).any():
            stranger = ids[shard.owner[ids] != shard.worker][0]
            raise OfframpError(f"worker {shard.worker}: vertex {stranger} is not here")
        rows = np.searchsorted(shard.vertices, ids)
        sampled = self._rule.pick(DrawRequest(shard.rows, rows, ids, request.source, request.batch, request.layer))
        return SamplingRecord(
            NEIGHBOURS,
            shard.worker,
            layer=request.layer,
            batch=request.batch,
            ids=sampled.neighbours,
            counts=sampled.counts,
        )
