# SPDX-License-Identifier: Apache-2.0
"""One worker's part of an exchange under a scheme: its messages, the route of each, and what it receives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

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
class ExchangePlan:
    """One worker's part of the exchanges of one width.

    It has ``b`` local boundary vertices, ``m`` messages and ``n`` rows of the switch's plan. A message is a boundary
    vertex's feature or, pairwise, the partial sum for a remote vertex; pairwise messages are sorted by receiver.

    Attributes:
        index: index of the switch's plan among all that the switch has.
        width: features that the switch's plan carries at once; 0: nothing goes through the switch.
        messages: ``(m, b)`` int64 CSR of ones: the boundary vertices that each message sums; None: each message is one
            vertex.
        rows: number of rows, n.
        upload_rows, upload_messages: rows that are uploaded, and the message in each.
        sum_rows, sum_vertices: rows that contain sums, and the local boundary vertex of each.
        terms: ``(b,)`` number of messages in each boundary vertex's sum, whichever way they take.
        direct: whether the switch's rows are the boundary vertices, in order, and nothing else is to be added.
        hosts: messages from worker to worker; None: no worker sends any.
        peers: pairwise: senders and receivers of partial sums.
    """

    index: int
    width: int
    messages: sp.csr_matrix | None
    rows: int
    upload_rows: IntArray
    upload_messages: IntArray
    sum_rows: IntArray
    sum_vertices: IntArray
    terms: IntArray
    direct: bool
    hosts: HostMessages | None = None
    peers: Peers | None = None

    @classmethod
    def of_rows(cls, rows: int, index: int, width: int) -> Self:
        """The plan of ``rows`` that all go through the switch, in its order."""
        every = np.arange(rows)
        return cls(index, width, None, rows, every, every, every, every, np.zeros(rows, np.int64), direct=True)


@sendable
@dataclass(frozen=True, eq=False)
class HostMessages:
    """One worker's messages to and from the others.

    Attributes:
        sent: messages for other workers, by receiver; a message may go to several.
        send_counts, receive_counts: ``(workers,)`` numbers of messages to, and from, each worker.
        received: ``(b, received)`` int64 CSR of ones: which received messages each boundary vertex adds.
    """

    sent: IntArray
    send_counts: IntArray
    receive_counts: IntArray
    received: sp.csr_matrix


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


def _peers(scheme_plan: SchemePlan, worker: int) -> Peers:
    boundary, workers = scheme_plan.boundary, scheme_plan.boundary.workers
    sender, receiver = ends_of(boundary, pairwise=True)
    incoming = _sorted(np.flatnonzero(receiver == worker), sender)
    return Peers(
        np.bincount(receiver[sender == worker], minlength=workers),
        np.bincount(sender[incoming], minlength=workers),
        np.searchsorted(own_boundary(scheme_plan, worker), boundary.copies[incoming, 0]),
    )


def own_boundary(scheme_plan: SchemePlan, worker: int) -> IntArray:
    """``(b,)`` boundary vertices that ``worker`` owns, ascending."""
    vertices: IntArray = scheme_plan.boundary.vertices
    own: IntArray = vertices[scheme_plan.boundary.owner[vertices] == worker]
    return own


def plan_exchange(scheme_plan: SchemePlan, worker: int, index: int = 0) -> ExchangePlan:
    """The part of ``worker``; ``index`` of the switch's plan among all that the switch has."""
    boundary = scheme_plan.boundary
    messages: sp.csr_matrix | None = None
    own, rows = own_boundary(scheme_plan, worker), boundary_of(list(scheme_plan.plan.blocks), worker)
    sender, receiver = ends_of(boundary, pairwise=scheme_plan.scheme.pairwise)
    incoming = _sorted(np.flatnonzero(scheme_plan.hosted & (receiver == worker)), sender)
    if scheme_plan.scheme.pairwise:
        mine = _sorted(np.flatnonzero(sender == worker), receiver)
        ids = partial_ids(boundary)[mine]
        messages = _incidence(*_edges_of(scheme_plan, boundary.copies[mine, 0], own), (len(mine), len(own)))
        outgoing = np.flatnonzero(scheme_plan.hosted[mine])
        targets = receiver[mine[outgoing]]
        place = np.searchsorted(own, boundary.copies[incoming, 0])
        received = _incidence(place, np.arange(len(incoming)), (len(own), len(incoming)))
        terms = boundary.r
    else:
        ids = own
        pairs = _sorted(np.flatnonzero(scheme_plan.hosted & (sender == worker)), receiver)
        outgoing, targets = np.searchsorted(own, boundary.copies[pairs, 0]), receiver[pairs]
        source, to = _edges_of(scheme_plan, boundary.copies[incoming, 0], own)
        received = _incidence(to, source, (len(own), len(incoming)))
        terms = boundary.need
    at, uploaded = find(np.sort(ids), rows)
    by_id = np.argsort(ids)
    vertex, summed = find(own, rows)
    upload_rows, upload_messages = np.flatnonzero(uploaded), by_id[at[uploaded]]
    sum_rows, sum_vertices = np.flatnonzero(summed), vertex[summed]
    hosts = None
    if scheme_plan.hosted.any():
        send_counts = np.bincount(targets, minlength=boundary.workers)
        receive_counts = np.bincount(sender[incoming], minlength=boundary.workers)
        hosts = HostMessages(outgoing, send_counts, receive_counts, received)
    every = np.arange(len(rows))
    of_messages, of_sums = np.arange(len(ids)), np.arange(len(own))
    in_order = [(upload_rows, every), (upload_messages, of_messages), (sum_rows, every), (sum_vertices, of_sums)]
    through_switch = scheme_plan.through_switch
    return ExchangePlan(
        index=index,
        width=scheme_plan.plan.width if through_switch else 0,
        messages=messages,
        rows=len(rows),
        upload_rows=upload_rows,
        upload_messages=upload_messages,
        sum_rows=sum_rows,
        sum_vertices=sum_vertices,
        terms=terms[np.searchsorted(boundary.vertices, own)],
        direct=through_switch and hosts is None and all(np.array_equal(*pair) for pair in in_order),
        hosts=hosts,
        peers=_peers(scheme_plan, worker) if scheme_plan.scheme.pairwise else None,
    )


def _sorted(pairs: IntArray, worker: IntArray) -> IntArray:
    """Pairs sorted by vertex id at both ends, like ``copies``, so that no index is sent."""
    return pairs[np.argsort(worker[pairs], kind="stable")]


def _edges_of(scheme_plan: SchemePlan, remote: IntArray, own: IntArray) -> tuple[IntArray, IntArray]:
    """Cut edges between ``remote`` vertices and ``own`` ones, as indices into both."""
    boundary = scheme_plan.boundary
    which, entries = entries_of(boundary.indptr, np.searchsorted(boundary.vertices, remote))
    place, mine = find(own, boundary.vertices[boundary.neighbours[entries]])
    return which[mine], place[mine]


def _incidence(rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(len(rows), np.int64), (rows, columns)), shape=shape)
