# SPDX-License-Identifier: Apache-2.0
"""Choice of the next chunk (thesis, section 5.4; specification section 5)."""

from __future__ import annotations

from bisect import insort
from collections.abc import Container

from offramp.hermod.endhost.transfers import CoflowTransfers, Piece

Lane = tuple[int, int]
"""Peer and DSCP: a connection."""


class CoflowScheduler:
    """A priority queue of coflows.

    The most urgent coflow that can send does. One below it may send only to peers that no coflow above is ready to
    send to: it takes what the others leave, at this host and at theirs.
    """

    def __init__(self) -> None:
        self._coflows: list[CoflowTransfers] = []

    def __len__(self) -> int:
        return len(self._coflows)

    def add(self, coflow: CoflowTransfers) -> None:
        """Let a coflow take part while it has pieces."""
        if coflow.pieces:
            insort(self._coflows, coflow, key=lambda c: c.place)

    def next(self, blocked: Container[Lane]) -> Piece | None:
        """The piece whose next chunk goes now; ``blocked``: connections that take nothing at the moment."""
        busy: set[int] = set()
        for coflow in self._coflows:
            for piece in (coflow.pieces[0],) if coflow.in_order else coflow.pieces:
                peer = piece.outgoing.route[0]
                if peer in busy or not piece.outgoing.ready:
                    continue
                if (peer, coflow.mark.dscp) not in blocked:
                    return piece
                busy.add(peer)
        return None

    def sent(self, piece: Piece, count: int) -> None:
        """A chunk has gone; the next one of its coflow is another peer's, if any."""
        coflow = piece.outgoing.coflow
        piece.start += count
        if piece.start == piece.stop:
            coflow.pieces.remove(piece)
            if not coflow.pieces:
                self._coflows.remove(coflow)
        elif not coflow.in_order:
            coflow.pieces.remove(piece)
            coflow.pieces.append(piece)

    def clear(self) -> None:
        """Forget all coflows."""
        self._coflows.clear()
