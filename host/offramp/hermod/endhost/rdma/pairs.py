# SPDX-License-Identifier: Apache-2.0
"""An endpoint's queue pairs: how they come about over control connections, and memory for its coflows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import replace
from typing import TYPE_CHECKING

from offramp.hermod.endhost.rdma.lanes import IncomingQueuePair, OutgoingQueuePair
from offramp.hermod.endhost.rdma.wire import QueuePairAddress
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.hermod.endhost.ledger import TransferLedger
    from offramp.hermod.endhost.priorities import CoflowPriority
    from offramp.hermod.endhost.rdma.port import RdmaPort
    from offramp.hermod.endhost.transfers import CoflowTransfers, Incoming, OutgoingBytes


class QueuePairs:
    """Queue pairs with all peers, made when a class is used for the first time.

    Args:
        port: port of this endpoint.
        hosts: the ranks' addresses.
        mtus: largest packets of the ranks' ports (:attr:`RdmaPort.mtu`).
        dead_s: seconds after which a silent host counts as dead.
    """

    def __init__(self, port: RdmaPort, hosts: Sequence[str], mtus: Sequence[int], dead_s: float) -> None:
        self._port, self._hosts, self._mtus, self._dead_s = port, hosts, mtus, dead_s
        self._lock = threading.Lock()
        self._answers: dict[tuple[int, int], Future[QueuePairAddress]] = {}
        self._incoming: set[tuple[int, int]] = set()
        self._failure: OfframpError | None = None

    def dial(self, peer: int, mark: CoflowPriority, offer: Callable[[bytes], None]) -> OutgoingQueuePair:
        """Make a queue pair to a peer with a class, and wait for its end.

        Args:
            peer: rank.
            mark: the class.
            offer: tells the peer this end's address.

        Raises:
            OfframpError: the device has no more, or the peer does not answer.
        """
        pair = self._port.queue_pair()
        try:
            answer = self._expect(peer, mark.dscp)
            offer(pair.address(mark).pack())
            other = answer.result(self._dead_s)
            self._connect(peer, pair.connect, replace(other, level=mark.queue))
        except FutureTimeoutError:
            pair.close()
            raise OfframpError(f"rank {peer}: no queue pair within {self._dead_s:g} s") from None
        except BaseException:
            pair.close()
            raise
        return OutgoingQueuePair(pair, self._port.most)

    def accept(self, peer: int, raw: bytes, ledger: TransferLedger) -> tuple[IncomingQueuePair, bytes]:
        """The other end for a peer's queue pair, and the answer to it.

        Raises:
            OfframpError: no queue pair, the second one of its class, or the device has no more.
        """
        other = QueuePairAddress.unpack(raw, peer)
        if (peer, other.dscp) in self._incoming:
            raise OfframpError(f"rank {peer} offers a second queue pair for DSCP {other.dscp}")
        self._incoming.add((peer, other.dscp))
        pair = self._port.queue_pair()
        try:
            self._connect(peer, pair.connect, other)
        except BaseException:
            pair.close()
            raise
        return IncomingQueuePair(pair, peer, other.dscp, ledger), pair.address(other.mark).pack()

    def _expect(self, peer: int, dscp: int) -> Future[QueuePairAddress]:
        with self._lock:
            if self._failure is not None:
                raise OfframpError(str(self._failure))
            answer = self._answers[peer, dscp] = Future()
            return answer

    def answered(self, peer: int, raw: bytes) -> None:
        """A peer has answered with its end.

        Raises:
            OfframpError: that is none, or nobody asked for it.
        """
        other = QueuePairAddress.unpack(raw, peer)
        with self._lock:
            answer = self._answers.pop((peer, other.dscp), None)
        if answer is None:
            raise OfframpError(f"rank {peer} answers with a queue pair that nobody asked for")
        answer.set_result(other)

    def register(self, coflow: CoflowTransfers, outs: Iterable[OutgoingBytes], ins: Iterable[Incoming]) -> None:
        """Register a coflow's memory until it is over.

        Raises:
            OfframpError: the system allows no more.
        """
        transfers: list[OutgoingBytes | Incoming] = [*outs, *ins]
        try:
            for transfer in transfers:
                if len(transfer.view):
                    writable = transfer.incoming
                    transfer.registered = self._port.register(transfer.view, writable=writable)
                    coflow.registered.append(transfer.registered)
        except BaseException:
            coflow.release()
            raise

    def fail(self, failure: OfframpError) -> None:
        """End what waits for answers."""
        with self._lock:
            self._failure = failure
            answers, self._answers = list(self._answers.values()), {}
        for answer in answers:
            answer.set_exception(OfframpError(str(failure)))

    def close(self) -> None:
        """Close the port, after its queue pairs."""
        self._port.close()

    def _connect(self, peer: int, connect: Callable[..., None], other: QueuePairAddress) -> None:
        connect(self._hosts[peer], other, min(self._mtus[peer], self._port.mtu), self._dead_s)
