# SPDX-License-Identifier: Apache-2.0
"""One worker's part of an exchange under a scheme: its messages, the way of each, and what is received."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from offramp.graph.csr import IntArray
from offramp.switchgnn.local_block import boundary_of, entries_of, find
from offramp.switchgnn.pairwise import partial_ids
from offramp.switchgnn.scheme_plan import ends_of
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.switchgnn.scheme_plan import SchemePlan


@sendable
@dataclass(frozen=True, eq=False)
class WorkerExchange:
    """One worker's part, with ``b`` local boundary vertices, ``m`` messages and ``n`` rows of the switch's exchange.

    A message is a boundary vertex's feature or, pairwise, the partial sum for a remote vertex; pairwise messages are
    sorted by receiver.

    Attributes:
        messages: ``(m, b)`` int64 CSR of ones: the boundary vertices that each message sums; None: each message is one
            vertex.
        rows: number of rows, n.
        upload_rows, upload_messages: rows that are uploaded, and the message in each.
        sum_rows, sum_vertices: rows that contain sums, and the local boundary vertex of each.
        send_messages: messages for other workers, by receiver; a message may go to several.
        send_counts, receive_counts: ``(workers,)`` numbers of messages to, and from, each worker.
        received: ``(b, received)`` int64 CSR of ones: which received messages each boundary vertex adds.
        terms: ``(b,)`` number of messages in each boundary vertex's sum, whichever way they take.
        by_hosts: whether any worker sends to another one.
        peers: pairwise: senders and receivers of partial sums.
    """

    messages: sp.csr_matrix | None
    rows: int
    upload_rows: IntArray
    upload_messages: IntArray
    sum_rows: IntArray
    sum_vertices: IntArray
    send_messages: IntArray
    send_counts: IntArray
    receive_counts: IntArray
    received: sp.csr_matrix
    terms: IntArray
    by_hosts: bool
    peers: Peers | None


@sendable
@dataclass(frozen=True, eq=False)
class Peers:
    """Senders and receivers of one worker's partial sums, whichever way they take.

    Attributes:
        to: ``(workers,)`` messages for each owner, in the order of the messages.
        counts: ``(workers,)`` number of messages from each worker.
        vertices: local boundary vertex of each received message, by sender.
    """

    to: IntArray
    counts: IntArray
    vertices: IntArray


def _peers(made: SchemePlan, worker: int) -> Peers:
    boundary, workers = made.boundary, made.boundary.workers
    sender, receiver = ends_of(boundary, pairwise=True)
    incoming = _sorted(np.flatnonzero(receiver == worker), sender)
    return Peers(
        np.bincount(receiver[sender == worker], minlength=workers),
        np.bincount(sender[incoming], minlength=workers),
        np.searchsorted(own_boundary(made, worker), boundary.copies[incoming, 0]),
    )


def own_boundary(made: SchemePlan, worker: int) -> IntArray:
    """``(b,)`` boundary vertices that ``worker`` owns, ascending."""
    vertices: IntArray = made.boundary.vertices
    own: IntArray = vertices[made.boundary.owner[vertices] == worker]
    return own


def plan_worker_exchange(made: SchemePlan, worker: int) -> WorkerExchange:
    """The part of ``worker`` in ``made``."""
    boundary = made.boundary
    messages: sp.csr_matrix | None = None
    own, rows = own_boundary(made, worker), boundary_of(list(made.plan.blocks), worker)
    sender, receiver = ends_of(boundary, pairwise=made.scheme.pairwise)
    incoming = _sorted(np.flatnonzero(made.hosted & (receiver == worker)), sender)
    if made.scheme.pairwise:
        mine = _sorted(np.flatnonzero(sender == worker), receiver)
        ids = partial_ids(boundary)[mine]
        messages = _incidence(*_edges_of(made, boundary.copies[mine, 0], own), (len(mine), len(own)))
        outgoing = np.flatnonzero(made.hosted[mine])
        targets = receiver[mine[outgoing]]
        place = np.searchsorted(own, boundary.copies[incoming, 0])
        received = _incidence(place, np.arange(len(incoming)), (len(own), len(incoming)))
        terms = boundary.r
    else:
        ids = own
        pairs = _sorted(np.flatnonzero(made.hosted & (sender == worker)), receiver)
        outgoing, targets = np.searchsorted(own, boundary.copies[pairs, 0]), receiver[pairs]
        source, to = _edges_of(made, boundary.copies[incoming, 0], own)
        received = _incidence(to, source, (len(own), len(incoming)))
        terms = boundary.need
    at, uploaded = find(np.sort(ids), rows)
    by_id = np.argsort(ids)
    vertex, summed = find(own, rows)
    return WorkerExchange(
        messages=messages,
        rows=len(rows),
        upload_rows=np.flatnonzero(uploaded),
        upload_messages=by_id[at[uploaded]],
        sum_rows=np.flatnonzero(summed),
        sum_vertices=vertex[summed],
        send_messages=outgoing,
        send_counts=np.bincount(targets, minlength=boundary.workers),
        receive_counts=np.bincount(sender[incoming], minlength=boundary.workers),
        received=received,
        terms=terms[np.searchsorted(boundary.vertices, own)],
        by_hosts=bool(made.hosted.any()),
        peers=_peers(made, worker) if made.scheme.pairwise else None,
    )


def _sorted(pairs: IntArray, worker: IntArray) -> IntArray:
    """Pairs sorted by vertex id at both ends, like ``copies``, so that no index is sent."""
    return pairs[np.argsort(worker[pairs], kind="stable")]


def _edges_of(made: SchemePlan, remote: IntArray, own: IntArray) -> tuple[IntArray, IntArray]:
    """Cut edges between ``remote`` vertices and ``own`` ones, as indices into both."""
    boundary = made.boundary
    which, entries = entries_of(boundary.indptr, np.searchsorted(boundary.vertices, remote))
    place, mine = find(own, boundary.vertices[boundary.neighbours[entries]])
    return which[mine], place[mine]


def _incidence(rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(len(rows), np.int64), (rows, columns)), shape=shape)
