# SPDX-License-Identifier: Apache-2.0
"""The transfers that an endpoint still has to send and to receive; sender, receiver and users share them."""

from __future__ import annotations

import threading
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Final

from offramp.hermod.endhost.scheduler import CoflowScheduler, Lane
from offramp.hermod.endhost.transfers import CoflowTransfers, Incoming, OutgoingBytes, Piece, Route
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.hermod.endhost.rdma.wire import RemoteMemory

_MOST_EARLY: Final = 1 << 20
"""Transfers that peers wait for and this host has not been given."""


class NumberInUse(OfframpError):
    """A message of this number is not over; nothing has changed."""


class TransferLedger:
    """All transfers that are not over, behind one lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._scheduler = CoflowScheduler()
        self._outgoing: dict[Route, OutgoingBytes] = {}
        self._incoming: dict[Route, Incoming] = {}
        self._early: dict[Route, tuple[int, RemoteMemory | None]] = {}
        self._failure: OfframpError | None = None

    @property
    def failure(self) -> OfframpError | None:
        """The error after which nothing works any more."""
        return self._failure

    def submit(self, coflow: CoflowTransfers, outgoing: Iterable[OutgoingBytes], incoming: Iterable[Incoming]) -> None:
        """Take in a coflow.

        Raises:
            NumberInUse: a transfer with the same peer has the number.
            OfframpError: the endpoint has failed, or a peer waits for another size.
        """
        with self._lock:
            if self._failure is not None:
                raise OfframpError(str(self._failure))
            outs, ins = list(outgoing), list(incoming)
            for table, transfers in ((self._outgoing, outs), (self._incoming, ins)):
                for transfer in transfers:
                    if transfer.route in table:
                        raise NumberInUse(f"message {transfer.route[1]:#x}: is on its way already")
            coflow.transfers = len(outs) + len(ins)
            for i in ins:
                self._incoming[i.route] = i
            for o in outs:
                self._outgoing[o.route] = o
            self._scheduler.add(coflow)
            done = [i.coflow for i in ins if not i.missing and self._over(self._incoming, i)]
            done += [o.coflow for o in outs if o.route in self._early and self._begin(o, *self._early.pop(o.route))]
            if not coflow.transfers and not done:
                done.append(coflow)
        for finished in done:
            finished.finish()

    def ready(self, route: Route, total: int, remote: RemoteMemory | None = None) -> None:
        """A peer waits for ``total`` bytes; ``remote``: where RDMA writes them.

        Raises:
            OfframpError: the transfer has another size.
        """
        with self._lock:
            outgoing = self._outgoing.get(route)
            if outgoing is None:
                if len(self._early) >= _MOST_EARLY:
                    raise OfframpError(f"rank {route[0]} waits for more than {_MOST_EARLY} transfers")
                self._early[route] = total, remote
                return
            done = self._begin(outgoing, total, remote)
        if done:
            outgoing.coflow.finish()

    def _begin(self, outgoing: OutgoingBytes, total: int, remote: RemoteMemory | None) -> bool:
        """Whether that ends the coflow."""
        if total != len(outgoing.view):
            peer, message = outgoing.route
            text = f"rank {peer} expects {total} bytes in message {message:#x}, it gets {len(outgoing.view)}"
            raise OfframpError(text)
        outgoing.ready, outgoing.remote = True, remote
        return not outgoing.left and self._over(self._outgoing, outgoing)

    def next(self, blocked: Container[Lane]) -> tuple[Piece, Lane] | None:
        """The next piece to send, and its lane; None: there is none on a lane that is not blocked."""
        with self._lock:
            piece = self._scheduler.next(blocked)
            if piece is None:
                return None
            return piece, (piece.outgoing.route[0], piece.outgoing.coflow.mark.dscp)

    def sent(self, piece: Piece, count: int) -> None:
        """``count`` bytes of a piece have been handed to the kernel."""
        outgoing = piece.outgoing
        with self._lock:
            if self._failure is not None:
                return
            self._scheduler.sent(piece, count)
            outgoing.left -= count
            done = not outgoing.left and self._over(self._outgoing, outgoing)
        if done:
            outgoing.coflow.finish()

    def target(self, route: Route, offset: int, length: int, total: int) -> memoryview:
        """The memory for arriving bytes.

        Raises:
            OfframpError: no transfer waits for them.
        """
        with self._lock:
            incoming = self._incoming.get(route)
            # A transfer's bytes come in order: were they to overlap, it would be over before all of them are here.
            fits = incoming is not None and total == len(incoming.view) and offset + length <= total
            if incoming is None or not fits or offset != incoming.announced:
                raise OfframpError(f"rank {route[0]} sent bytes that were not asked for")
            incoming.announced += length
            return incoming.view[offset : offset + length]

    def arrived(self, route: Route, count: int) -> None:
        """``count`` bytes are where they belong."""
        with self._lock:
            incoming = self._incoming.get(route)
            if incoming is None:
                return  # the endpoint has failed meanwhile
            incoming.missing -= count
            done = not incoming.missing and self._over(self._incoming, incoming)
        if done:
            incoming.coflow.finish()

    @property
    def waiting(self) -> str:
        """The peers for which transfers wait, for people; empty if there are none."""
        with self._lock:
            ranks = sorted({route[0] for routes in (self._outgoing.keys(), self._incoming.keys()) for route in routes})
        return f", waiting for rank {', '.join(map(str, ranks))}" if ranks else ""

    def expects(self, peer: int) -> bool:
        """Whether something must still come from a peer: bytes, or word that it waits for some."""
        with self._lock:
            bytes_missing = any(route[0] == peer for route in self._incoming)
            return bytes_missing or any(o.route[0] == peer and not o.ready for o in self._outgoing.values())

    def fail(self, failure: OfframpError) -> bool:
        """End every coflow; whether this is the first failure."""
        with self._lock:
            if self._failure is not None:
                return False
            self._failure = failure
            coflows = {o.coflow for o in self._outgoing.values()} | {i.coflow for i in self._incoming.values()}
            self._outgoing.clear()
            self._incoming.clear()
            self._early.clear()
            self._scheduler.clear()
        for coflow in coflows:
            coflow.fail(failure)
        return True

    def _over(
        self, table: dict[Route, OutgoingBytes] | dict[Route, Incoming], transfer: OutgoingBytes | Incoming
    ) -> bool:
        """Strike a transfer out; whether it was the last of its coflow."""
        del table[transfer.route]
        transfer.coflow.transfers -= 1
        return transfer.coflow.transfers == 0
