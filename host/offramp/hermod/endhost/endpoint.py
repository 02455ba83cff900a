# SPDX-License-Identifier: Apache-2.0
"""This rank's end of the connections to its peers: coflows in, in strict order out."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from types import TracebackType
from typing import TYPE_CHECKING, Self

from offramp.hermod.endhost.control import ControlChannel, Gathering, words
from offramp.hermod.endhost.introductions import Introduction, PortOpening, Rendezvous, introductions
from offramp.hermod.endhost.ledger import NumberInUse, TransferLedger
from offramp.hermod.endhost.offers import Offers
from offramp.hermod.endhost.priorities import CoflowPriority, Priorities
from offramp.hermod.endhost.rdma.pairs import QueuePairs
from offramp.hermod.endhost.rdma.wire import RemoteMemory
from offramp.hermod.endhost.receiver import FrameReceiver
from offramp.hermod.endhost.sender import ChunkSender, OutgoingSocket
from offramp.hermod.endhost.sockets import Address, dial, keep_alive, listen, set_mark
from offramp.hermod.endhost.transfers import CoflowTransfers, Incoming, OutgoingBytes, Span
from offramp.hermod.endhost.tuning import Tuning
from offramp.hermod.endhost.wire import MOST_TEXT, MOST_WORDS, FrameHeader, FrameType, RankHello
from offramp.hermod.factors import Factors
from offramp.workers.address import local_address
from offramp.workers.rate import TokenBucket
from offramp_base.errors import OfframpError
from offramp_base.listening import Access, Greeting, Token, parse_address

if TYPE_CHECKING:
    from offramp.hermod.endhost.rdma.port import RdmaPort

_LOG = logging.getLogger(__name__)


class Endpoint:
    """Connections of one rank over one NIC; a process with several NICs makes one for each.

    Every pair of ranks has a control connection, and each rank one to each peer for each DSCP that it has sent
    with. A failure ends everything on all ranks, with the same line.

    Args:
        rank, size: this process's rank, and the number of ranks.
        rendezvous: how ranks find each other.
        priorities: the job's priorities; none by default.
        where: interface or address; by default GLOO_SOCKET_IFNAME, or the way to MASTER_ADDR.
        tuning: tuning of the connections.
        token: token that ranks prove to each other on every connection; by default that of OFFRAMP_TOKEN_FILE.
        insecure: do without one though other machines reach the address.
        rdma: opens the RDMA port at this host's address, which then carries the data; on all ranks or none.

    Attributes:
        rank, size, priorities, tuning: as above.
        offers: messages that peers have begun to send (:meth:`offer`).
        redialled: attempts to connect that a peer turned away before it answered, and that were made again.

    Raises:
        OfframpError: no such interface, no token where one is needed, or a peer does not connect.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        rendezvous: Rendezvous,
        priorities: Priorities | None = None,
        *,
        where: str | None = None,
        tuning: Tuning | None = None,
        token: Token | None = None,
        insecure: bool = False,
        rdma: Callable[[str], RdmaPort] | None = None,
    ) -> None:
        self.rank, self.size = rank, size
        self.priorities, self.tuning = priorities or Priorities.off(), tuning or Tuning()
        self._lock = threading.Lock()
        self._submitted = 0
        self._dialling = threading.Lock()
        self._ledger, self._gathering = TransferLedger(), Gathering(size)
        self.offers = Offers()
        self._controls: dict[int, ControlChannel] = {}
        self._connected = threading.Condition()
        self._greeted: set[tuple[int, int | None]] = set()
        self._leaving: dict[int, int] = {}  # of peers that have taken leave: how many connections they had sent over
        self._ended: Counter[int] = Counter()  # of those, how many have ended
        self._sockets: list[socket.socket] = []
        self._closing = False
        self._here = local_address(where)
        self._token = token or Token.from_environment()
        self.redialled = 0
        access = Access(self._token, insecure=insecure)
        with contextlib.ExitStack() as opened:
            _check_access(access, self._here)
            listener = listen(self._here, access, self.priorities.control, self.tuning)
            opened.callback(listener.close)
            card = None if rdma is None else opened.enter_context(PortOpening(rdma, self._here))
            port = listener.sock.getsockname()[1]
            rows = introductions(Introduction.of(self._here, port, card), rendezvous, size)
            opened.pop_all()
        self._peers: list[Address] = [(row.host, row.port) for row in rows]
        self._session: str = rows[0].session
        self._pairs: QueuePairs | None = None
        if card is not None:
            hosts, mtus = [row.host for row in rows], [row.mtu for row in rows]
            self._pairs = QueuePairs(card.port, hosts, mtus, self.tuning.dead_s)
        self._receiver = FrameReceiver(listener, self._ledger, self)
        rate = TokenBucket(self.tuning.rate_bps, burst_s=0.0) if self.tuning.rate_bps else None
        self._sender = ChunkSender(self._ledger, self.tuning.chunk, self._cannot_send, rate)
        try:
            for peer in range(rank):
                self._receiver.add_control(self._dial_control(peer), peer)
            self._receiver.start()
            self._await_peers()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def sent_bytes(self) -> dict[int, int]:
        """Bytes sent by DSCP: headers of frames count, those of packets do not."""
        return dict(self._sender.counts)

    @property
    def refused(self) -> int:
        """Connections that were not of a peer."""
        return self._receiver.refused

    @property
    def failure(self) -> OfframpError | None:
        """The error after which nothing works any more."""
        return self._ledger.failure

    def exchange(
        self,
        message: int,
        outgoing: Mapping[int, memoryview],
        incoming: Mapping[int, memoryview],
        factors: Factors | None = None,
        order: Iterable[Span] | None = None,
    ) -> Future[None]:
        """Start a coflow: bytes to and from peers, without copies.

        The first one to a peer with a priority waits for a connection, so no callback of another's end may start it.

        Args:
            message: the same number at both ends of each transfer, and no other's between the two at that time.
            outgoing: by peer.
            incoming: by peer; of one size at both ends.
            factors: its priority; None: the last.
            order: order of sending; by default all transfers at once, a chunk of each in turn.

        Raises:
            OfframpError: a factor outside the job, pieces that are not the transfers, or the endpoint has failed.
        """
        mark = self.priorities.mark(factors)
        with self._lock:
            self._submitted += 1
            coflow = CoflowTransfers(mark, self._submitted, in_order=order is not None)
        outs = {p: OutgoingBytes((p, message), view, coflow, len(view)) for p, view in outgoing.items()}
        ins = [Incoming((p, message), view, coflow, len(view)) for p, view in incoming.items()]
        for peer in (*outgoing, *incoming):
            if not 0 <= peer < self.size or peer == self.rank:
                raise OfframpError(f"rank {peer}: expected another of the {self.size} ranks than {self.rank}")
        coflow.cut(outs, order)
        try:
            if self._pairs is not None:
                self._pairs.register(coflow, outs.values(), ins)
            for peer, out in outs.items():
                if out.left:
                    self._connect(peer, mark)
            self._ledger.submit(coflow, outs.values(), ins)
        except NumberInUse:
            coflow.release()
            raise
        except OfframpError as error:
            coflow.release()
            self.fail(str(error))
            raise
        self._sender.wake()
        for i in ins:
            self._tell(i.route[0], *_ready(i))
        return coflow.future

    def offer(self, peer: int, message: int) -> None:
        """Tell a peer of a message that this rank has begun to send, for a receive from any rank.

        A peer that waited for it may have taken it and left meanwhile. Its connections say if it has gone without it.
        """
        with contextlib.suppress(OSError):
            self._controls[peer].send(FrameHeader(FrameType.OFFER, 0, message))

    @property
    def waiting(self) -> str:
        """The ranks that transfers wait for, as a phrase for people."""
        return self._ledger.waiting

    def gather(self, message: int, row: bytes) -> list[bytes]:
        """All-gather a few bytes with the priority of control; returns those of all ranks, in rank order.

        Raises:
            OfframpError: a rank does not speak in time, or the endpoint has failed.
        """
        if len(row) > MOST_WORDS:
            raise OfframpError(f"gather of {len(row)} bytes, expected at most {MOST_WORDS}")
        future = self._gathering.wait_for(message)
        self._gathering.add(self.rank, message, row)
        header, payload = words(message, row)
        for peer in range(self.size):
            if peer != self.rank:
                self._tell(peer, header, payload)
        try:
            return future.result(self.tuning.timeout_s)
        except FutureTimeoutError:
            silent = ", ".join(map(str, self._gathering.missing(message)))
            raise self.fail(f"no word from rank {silent} in {self.tuning.timeout_s:g} s") from None

    def fail(self, text: str) -> OfframpError:
        """End everything here and at the peers; returns the error that operations now raise."""
        if self._end(text):
            payload = text.encode()[:MOST_TEXT]
            for peer in list(self._controls):
                with contextlib.suppress(OSError):
                    self._controls[peer].send(FrameHeader(FrameType.ABORT, len(payload)), payload)
        failure = self.failure
        assert failure is not None
        return OfframpError(str(failure))

    def close(self) -> None:
        """Leave the other ranks; operations that are not over fail. Peers may go on among themselves."""
        if self._closing:
            return
        self._closing = True
        if self._pairs is not None:
            self._sender.close()  # its last frames have come before peers hear of the leave
        for peer, control in list(self._controls.items()):
            with contextlib.suppress(OSError):
                control.send(FrameHeader(FrameType.BYE, 0, total=self._sender.connections_to(peer)))
        self._end("the endpoint was closed")
        self._sender.close()
        self._receiver.close()
        for sock in self._sockets:
            sock.close()
        if self._pairs is not None:
            self._pairs.close()

    def greeted(self, greeting: Greeting) -> tuple[RankHello, socket.socket]:
        """A connection came in (for the receiver).

        Raises:
            OfframpError: the greeting is for other endpoints, from this rank itself, the second of its kind, for
                control but from a lower rank, or for data in the class of control.
            OSError: the connection is gone.
        """
        hello = RankHello.check(greeting.content, self._session, self.size)
        control = self.priorities.control.dscp
        if hello.rank == self.rank or (hello.rank, hello.dscp) in self._greeted:
            raise OfframpError("greeting: a connection that exists already")
        if hello.dscp is None and hello.rank < self.rank:
            raise OfframpError("greeting: control connections come from higher ranks")
        if self._pairs is not None and hello.dscp is not None:
            raise OfframpError("greeting: data come by RDMA")
        if control and hello.dscp == control:
            raise OfframpError(f"greeting: DSCP {control} is of control")
        sock = greeting.accept()
        self._greeted.add((hello.rank, hello.dscp))
        if hello.dscp is None:
            self._add_control(hello.rank, sock)
        else:
            set_mark(
                sock, CoflowPriority((), hello.dscp, 0)
            )  # acknowledgements go by the class of what they acknowledge
        return hello, sock

    def heard(self, peer: int, header: FrameHeader, payload: bytes) -> None:
        """A control frame came in (for the receiver).

        Raises:
            OfframpError: it contradicts what was agreed.
        """
        rdma = self._pairs
        if header.kind in (FrameType.WRITABLE, FrameType.PAIR, FrameType.PAIRED) and rdma is None:
            raise OfframpError(f"rank {peer} sent {header.kind.name}, and this rank has no RDMA")
        if header.kind is FrameType.READY:
            if header.total and rdma is not None:
                raise OfframpError(f"rank {peer} waits for data by TCP, and this rank has RDMA")
            self._ledger.ready((peer, header.message), header.total)
            self._sender.wake()
        elif header.kind is FrameType.WRITABLE:
            self._ledger.ready((peer, header.message), header.total, RemoteMemory.unpack(payload, peer))
            self._sender.wake()
        elif header.kind is FrameType.PAIR and rdma is not None:
            connection, answer = rdma.accept(peer, payload, self._ledger)
            self._receiver.add(connection)
            self._tell(peer, FrameHeader(FrameType.PAIRED, len(answer)), answer)
        elif header.kind is FrameType.PAIRED and rdma is not None:
            rdma.answered(peer, payload)
        elif header.kind is FrameType.WORDS:
            self._gathering.add(peer, header.message, payload)
        elif header.kind is FrameType.OFFER:
            self.offers.add(peer, header.message)
        elif header.kind is FrameType.ABORT:
            self._end(_printable(payload.decode(errors="replace")))
        else:
            self._leaving[peer] = header.total
            self._check_left(peer)

    def ended(self, peer: int) -> None:
        """A peer has closed a connection behind its last frame (for the receiver)."""
        self._ended[peer] += 1
        self._check_left(peer)

    def _check_left(self, peer: int) -> None:
        """Fail if a peer has left, all its bytes are here, and transfers still wait for it."""
        left = peer in self._leaving and self._ended[peer] >= self._leaving[peer]
        if left and not self._closing and self._ledger.expects(peer):
            self._left_early(peer)

    def _left_early(self, peer: int) -> None:
        self.fail(f"rank {peer} left before its transfers were over")

    def _cannot_send(self, peer: int, error: OSError) -> None:
        if peer in self._leaving and not self._closing:
            self._left_early(peer)
        else:
            self.lost(peer, error)

    def lost(self, peer: int, error: Exception, *, control: bool = False) -> None:
        """A peer's connection broke or carries nonsense (for the receiver)."""
        if self._closing or self.failure is not None:
            return
        if peer in self._leaving:
            self._ended[peer] += not control  # what else it sent is still on its way
            self._check_left(peer)
        elif isinstance(error, OfframpError):
            self.fail(str(error))
        elif isinstance(error, EOFError):
            self.fail(f"rank {peer} is gone: it closed its connection")
        else:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self.fail(f"rank {peer} is gone: {reason}")

    def _end(self, text: str) -> bool:
        failure = OfframpError(text)
        first = self._ledger.fail(failure)
        if first:
            self._gathering.fail(failure)
            self.offers.fail(failure)
            if self._pairs is not None:
                self._pairs.fail(failure)
            with self._connected:
                self._connected.notify_all()
        return first

    def _tell(self, peer: int, header: FrameHeader, payload: bytes = b"") -> None:
        try:
            self._controls[peer].send(header, payload)
        except OSError as error:
            self.lost(peer, error, control=True)
            failure = self.failure
            if failure is None:  # it has taken its leave
                failure = self.fail(f"rank {peer} has left")
            raise OfframpError(str(failure)) from None

    def _connect(self, peer: int, mark: CoflowPriority) -> None:
        """See to a connection to a peer with a DSCP."""
        lane = (peer, mark.dscp)
        with self._dialling:
            if lane in self._sender:
                return
            if self._pairs is None:
                self._sender.add(lane, OutgoingSocket(self._dial(peer, mark, mark.dscp)))
                return

            def offer(end: bytes) -> None:
                self._tell(peer, FrameHeader(FrameType.PAIR, len(end)), end)

            self._sender.add(lane, self._pairs.dial(peer, mark, offer))

    def _dial_control(self, peer: int) -> socket.socket:
        sock = self._dial(peer, self.priorities.control, None)
        self._sockets.append(sock)
        self._add_control(peer, sock)
        return sock

    def _dial(self, peer: int, mark: CoflowPriority, dscp: int | None) -> socket.socket:
        attempts = 0

        def dialled() -> None:
            nonlocal attempts
            attempts += 1
            if attempts > 1:
                self.redialled += 1
            if attempts == 2:
                _LOG.warning("rank %d closed a connection before it answered; dialling again", peer)

        hello = RankHello(self.rank, dscp).greeting(self._session, self.size)
        try:
            return dial(self._here, self._peers[peer], mark, self.tuning, self._token, hello, dialled)
        except OSError as error:
            raise OfframpError(f"rank {peer}: no connection: {error.strerror or error}") from None
        except OfframpError as error:
            raise OfframpError(f"rank {peer}: no connection: {error}") from None

    def _add_control(self, peer: int, sock: socket.socket) -> None:
        set_mark(sock, self.priorities.control)
        keep_alive(sock, self.tuning.dead_s)
        with self._connected:
            self._controls[peer] = ControlChannel(sock, self.tuning.dead_s)
            self._connected.notify_all()

    def _await_peers(self) -> None:
        end = time.monotonic() + self.tuning.dead_s
        with self._connected:
            while len(self._controls) < self.size - 1 and self.failure is None:
                if not self._connected.wait(end - time.monotonic()):
                    missing = sorted(set(range(self.size)) - {self.rank} - set(self._controls))
                    ranks = ", ".join(map(str, missing))
                    raise OfframpError(f"endpoint: rank {ranks} did not connect within {self.tuning.dead_s:g} s")
        if self.failure is not None:
            raise OfframpError(str(self.failure))


def _check_access(access: Access, host: str) -> None:
    address = parse_address(f"[{host}]:0" if ":" in host else f"{host}:0")
    if not (address.local or access.token or access.insecure):
        raise OfframpError(
            f"endpoint on {host}: other machines reach this address; it needs a token (offramp token, "
            "OFFRAMP_TOKEN_FILE), or insecure=True where every machine that reaches it is trusted"
        )


def _ready(incoming: Incoming) -> tuple[FrameHeader, bytes]:
    """The frame that says that a transfer is waited for, with its payload."""
    message, memory = incoming.route[1], incoming.registered
    if memory is None:
        return FrameHeader(FrameType.READY, 0, message, 0, len(incoming.view)), b""
    payload = RemoteMemory(memory.address, memory.remote_key).pack()
    return FrameHeader(FrameType.WRITABLE, len(payload), message, 0, len(incoming.view)), payload


def _printable(line: str) -> str:
    """A peer's message as one line without characters that a terminal would act on."""
    return "".join(c if c.isprintable() else "?" for c in line)
