# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of plans, which refuse a plan of another graph, partition or switch memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from offramp.graph.boundary import Boundary
from offramp.graph.csr import IntArray, rows_of
from offramp.switchgnn.chunks import aggregator_bytes
from offramp.switchgnn.plan import Plan
from offramp_base.settings.error import SettingsError

_SHOWN = 12


def boundary_fingerprint(boundary: Boundary) -> str:
    """SHA-256 of the cut edges and the owners of their ends, in hexadecimal."""
    vertices = boundary.vertices
    return _fingerprint(boundary.workers, boundary.cut_edges, vertices, boundary.owner[vertices].astype(np.int64))


def plan_fingerprint(plan: Plan) -> str:
    """The fingerprint of the boundary that the plan's blocks cover."""
    empty = np.zeros(0, np.int64)
    edges = [np.zeros((0, 2), np.int64)]
    for block in plan.blocks:
        pairs = np.stack([block.vertices[rows_of(block.indptr)], block.vertices[block.neighbours]], axis=1)
        edges.append(pairs[pairs[:, 0] < pairs[:, 1]])
    joined = np.concatenate(edges)
    ids = np.concatenate([empty, *(block.vertices for block in plan.blocks)])
    owners = np.concatenate([empty, *(block.owner for block in plan.blocks)])
    vertices, first = np.unique(ids, return_index=True)
    return _fingerprint(plan.workers, joined[np.lexsort(joined.T[::-1])], vertices, owners[first])


def job_fingerprint(plans: Sequence[Plan]) -> str:
    """SHA-256 of everything in the plans on which workers and switch must agree, in hexadecimal."""
    parts: list[IntArray] = []
    for plan in plans:
        parts.append(np.array([plan.workers, plan.chunks, plan.lanes, plan.aggregators, len(plan.blocks)]))
        for block in plan.blocks:
            parts += [np.array([block.block_id, len(block.vertices)]), block.vertices, block.indptr, block.neighbours]
            parts += [block.owner.astype(np.int64), block.order]
    return _digest(parts)


def require_fit(file: str, plan: Plan, boundary: Boundary, memory_bytes: int) -> None:
    """Refuse a file's plan that was not made for this graph, partition and memory.

    Raises:
        SettingsError: names the field ``plan`` and what differs.
    """
    aggregators = memory_bytes // aggregator_bytes(plan.lanes)
    if plan.aggregators != aggregators:
        made_for = f"made for a switch of {plan.aggregators} aggregators, expected {aggregators} ({memory_bytes} B)"
        raise SettingsError("plan", made_for, file)
    fingerprint, expected = plan_fingerprint(plan), boundary_fingerprint(boundary)
    if fingerprint != expected:
        difference = f"fingerprint {fingerprint[:_SHOWN]}, expected {expected[:_SHOWN]}"
        raise SettingsError("plan", f"made for another graph or partition: {difference}", file)


def _fingerprint(workers: int, edges: IntArray, vertices: IntArray, owners: IntArray) -> str:
    return _digest([np.array([workers, len(edges)]), edges, vertices, owners])


def _digest(parts: Iterable[IntArray]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(np.ascontiguousarray(part, "<i8").tobytes())
    return digest.hexdigest()
