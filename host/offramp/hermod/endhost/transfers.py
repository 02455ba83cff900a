# SPDX-License-Identifier: Apache-2.0
"""Coflows of transfers to and from peers, and when all of a coflow has moved."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from offramp.hermod.endhost.priorities import CoflowPriority
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.hermod.endhost.rdma.port import RegisteredMemory
    from offramp.hermod.endhost.rdma.wire import RemoteMemory

Route = tuple[int, int]
"""Peer and message number: what a transfer is known by at both ends."""
Span = tuple[int, int, int]
"""Peer, and the bytes of its transfer from the second number up to the third."""


@dataclass(eq=False, slots=True)
class OutgoingBytes:
    """Bytes for a peer; ``ready`` when it waits for them; for RDMA with the memory here and there."""

    incoming: ClassVar[bool] = False
    route: Route
    view: memoryview
    coflow: CoflowTransfers
    left: int
    ready: bool = False
    registered: RegisteredMemory | None = None
    remote: RemoteMemory | None = None


@dataclass(eq=False, slots=True)
class Incoming:
    """Bytes from a peer, written where they belong; those up to ``announced`` have come or are coming."""

    incoming: ClassVar[bool] = True
    route: Route
    view: memoryview
    coflow: CoflowTransfers
    missing: int
    announced: int = 0
    registered: RegisteredMemory | None = None


@dataclass(eq=False, slots=True)
class Piece:
    """A stretch of a transfer that is sent without a look at the coflow's other transfers."""

    outgoing: OutgoingBytes
    start: int
    stop: int


@dataclass(eq=False, slots=True)
class CoflowTransfers:
    """Transfers of one collective that this host takes part in.

    Attributes:
        mark: its priority.
        number: position in the order of submission, the last tie-break.
        pieces: to send; of a coflow ``in_order`` the first only, else any.
        transfers: number of transfers that are not over; the future has its result when none is left.
        registered: memory that an RDMA device may access until then.
    """

    mark: CoflowPriority
    number: int
    in_order: bool
    transfers: int = 0
    pieces: deque[Piece] = field(default_factory=deque)
    registered: list[RegisteredMemory] = field(default_factory=list)
    future: Future[None] = field(default_factory=Future)

    @property
    def place(self) -> tuple[tuple[int, ...], int]:
        """Sort key of the coflow: the smaller goes first."""
        return self.mark.key, self.number

    def finish(self) -> None:
        """All of it has moved: its memory is its user's again."""
        self.release()
        self.future.set_result(None)

    def fail(self, failure: OfframpError) -> None:
        """It ends with a failure; nothing writes its memory any more."""
        self.release()
        self.future.set_exception(OfframpError(str(failure)))

    def release(self) -> None:
        """Take its memory from the RDMA device."""
        while self.registered:
            self.registered.pop().close()

    def cut(self, outgoing: dict[int, OutgoingBytes], spans: Iterable[Span] | None) -> None:
        """Fill in the pieces: by ``spans``, or each transfer as a whole.

        Raises:
            OfframpError: the spans are not the transfers, each byte once and in order.
        """
        if spans is None:
            self.pieces.extend(Piece(o, 0, len(o.view)) for o in outgoing.values() if len(o.view))
            return
        at = dict.fromkeys(outgoing, 0)
        for peer, start, stop in spans:
            if peer not in at or start != at[peer] or stop <= start:
                raise OfframpError(f"coflow: bytes {start} to {stop} for rank {peer} are out of order")
            at[peer] = stop
            self.pieces.append(Piece(outgoing[peer], start, stop))
        if any(at[peer] != len(o.view) for peer, o in outgoing.items()):
            raise OfframpError("coflow: its pieces are not its transfers")
