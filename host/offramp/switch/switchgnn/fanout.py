"""Entries of ``v2agg``: from a vertex and a hop to a neighbour's aggregator (specification section 5.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from offramp.graph.csr import IntArray, rows_of
from offramp.switch.switchgnn.plan import Plan
from offramp.switch.switchgnn.rows import Rows
from offramp.switch.switchgnn.target import V1MODEL, Target

TABLE = "SwitchGnnIngress.fanout.v2agg"
AGGREGATE = "SwitchGnnIngress.fanout.aggregate"
DELIVER = "SwitchGnnIngress.fanout.deliver"


def fanout_rows(plans: Sequence[Plan], ports: Sequence[int], target: Target = V1MODEL) -> list[Rows]:
    """One entry for each directed cut edge of each block: those that aggregate, those that deliver at once.

    Args:
        plans: with disjoint Block_ids.
        ports: switch port of each worker.
        target: the program that they are for.
    """
    port_of = np.asarray(ports, np.int64)
    columns: list[list[IntArray]] = []
    for plan in plans:
        for block in plan.blocks:
            source, neighbour = rows_of(block.indptr), block.neighbours
            hop = np.arange(len(neighbour)) - block.indptr[source]
            columns.append(
                [
                    np.full(len(neighbour), block.block_id),
                    block.vertices[source],
                    hop,
                    target.bases(neighbour, plan.chunks),
                    block.need[neighbour],
                    port_of[block.owner[neighbour]],
                    block.vertices[neighbour],
                    (hop == block.need[source] - 1).astype(np.int64),
                ]
            )
    block_id, src_id, hop, base, need, port, dst_id, last = (
        [np.concatenate(column) for column in zip(*columns, strict=True)] if columns else [np.zeros(0, np.int64)] * 8
    )
    keys = {"block_id": block_id, "src_id": src_id, "hop": hop}
    reply = {"port": port, "dst_id": dst_id, "last": last}
    shared = need > 1
    table = target.full(TABLE)
    return [
        _pick(table, AGGREGATE, keys, {"base": base, "need": need, **reply}, np.flatnonzero(shared)),
        _pick(table, DELIVER, keys, reply, np.flatnonzero(~shared)),
    ]


def _pick(table: str, action: str, keys: dict[str, IntArray], params: dict[str, IntArray], which: IntArray) -> Rows:
    return Rows(table, action, {k: v[which] for k, v in keys.items()}, {k: v[which] for k, v in params.items()})
