# SPDX-License-Identifier: Apache-2.0
"""A mailbox over Hermod's end-host scheduler: what the next layer waits for goes before what can wait.

A layer's rows, or their gradients, are a coflow (EP of the thesis' table 5.4), by place in the pass: forward through
the layers, then back. Sums of weight gradients are needed at the end of the epoch only: a DP coflow, which any rows
overtake.
"""

from __future__ import annotations

import queue
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import torch

from offramp.hermod.endhost.all_reduce import AllReduce
from offramp.hermod.endhost.endpoint import Endpoint
from offramp.hermod.endhost.messages import Messages
from offramp.hermod.endhost.priorities import Priorities
from offramp.hermod.endhost.tuning import Tuning
from offramp.hermod.factors import CType, Factors
from offramp.workers.mailbox import END, WORDS, Key, Mailbox, PeerLostError, parse_header
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from offramp.hermod.endhost.handle import Handle
    from offramp.workers.group import Group

CHUNK: Final = 1 << 15
"""Bytes after which a more urgent coflow takes over: 3 ms at 100 Mb/s."""

_HEADERS, _PAYLOADS = 0, 1  # tags


class CoflowMailbox(Mailbox):
    """Messages behind a header of their key and length; the n-th payload to a worker belongs to the n-th header.

    With a rate, what a worker sends takes its time on an emulated network card, the sums of weight gradients too; what
    it receives does not.
    """

    def __init__(
        self, group: Group, timeout_s: float, layers: int, *, by_priority: bool, rate_bps: float | None = None
    ) -> None:
        """Args: group: the workers; layers: of the model; by_priority: else first come, first served.

        Raises:
            OfframpError: a worker does not connect.
        """
        super().__init__(group.rank, timeout_s)
        self._layers = layers
        # Twice the layers and as much for their sums; one microbatch.
        priorities = Priorities.of_job(1, 2 * layers + 2) if by_priority else Priorities.off()
        tuning = Tuning(chunk=CHUNK, unsent=CHUNK, rate_bps=rate_bps, timeout_s=timeout_s)
        self._endpoint = Endpoint(group.rank, group.size, group.introduce, priorities, tuning=tuning, token=group.token)
        self._messages = Messages(self._endpoint)
        self._sums = AllReduce(self._endpoint)
        self._sum_count = 0
        self._waiting = 0
        self._peers = [peer for peer in range(group.size) if peer != group.rank]
        self._open = set(self._peers)
        self._events: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="mailbox", daemon=True)
        self._thread.start()
        for peer in self._peers:
            self._events.put(lambda peer=peer: self._listen(peer))  # type: ignore[misc]

    def begin_epoch(self) -> None:
        """Count time anew; sums are those of the epoch."""
        super().begin_epoch()
        self._sum_count = 0

    def start_sum(self, values: torch.Tensor) -> Callable[[], object]:
        """A sum in rank order; the later of an epoch, of the layers before, the less urgent."""
        with self._blaming_peers():
            future = self._sums.start(values, Factors(0, CType.DP, min(self._sum_count, 2 * self._layers + 1)))
        self._sum_count += 1

        def finish() -> None:
            with self._blaming_peers():
                values.copy_(future.result(self._timeout_s))

        return finish

    def _send(self, peer: int, key: Key, payload: torch.Tensor) -> None:
        with self._changed:
            self._waiting += 1
        place = 2 * self._layers - key.layer if key.backward else key.layer
        factors = Factors(0, CType.EP, place)
        self._announce(peer, [*key, len(payload)], factors)
        if not len(payload):
            self._sent(None)
            return
        with self._blaming_peers():
            handle = self._messages.isend(payload, peer, _PAYLOADS, factors)
        handle.when_done(lambda: self._events.put(lambda: self._sent(handle)))

    def _announce(self, peer: int, words: list[int], factors: Factors | None = None) -> Handle[None]:
        with self._blaming_peers():
            return self._messages.isend(torch.tensor(words, dtype=torch.int64), peer, _HEADERS, factors)

    @contextmanager
    def _blaming_peers(self) -> Iterator[None]:
        """What the endpoint refuses is the end of another worker, whose own account, or death, says more."""
        try:
            yield
        except OfframpError as error:
            raise PeerLostError(f"worker {self.rank}: {error}") from None

    def _sent(self, handle: Handle[None] | None) -> None:
        if handle is not None:
            handle.wait()
        with self._changed:
            self._waiting -= 1
            self._changed.notify_all()

    def _unsent(self) -> int:
        return self._waiting

    def close(self) -> None:
        """Send all posted messages, and wait for the others' last messages."""
        try:
            self.flush()
            for end in [self._announce(peer, [END] * WORDS) for peer in self._peers]:
                end.wait()
            self._until(lambda: not self._open, "hears no end")
        finally:
            self._events.put(None)
            self._thread.join(self._timeout_s)
            self._sums.close()
            self._endpoint.close()

    def _run(self) -> None:
        """The thread that reacts to transfers that have ended."""
        try:
            with self._blaming_peers():
                while (react := self._events.get()) is not None:
                    react()
        except BaseException as fault:
            self.fail(fault)

    def _listen(self, peer: int) -> None:
        header = torch.empty(WORDS, dtype=torch.int64)
        handle = self._messages.irecv(header, peer, _HEADERS)
        handle.when_done(lambda: self._events.put(lambda: self._announced(peer, header, handle)))

    def _announced(self, peer: int, header: torch.Tensor, handle: Handle[None]) -> None:
        handle.wait()
        if int(header[0]) == END:
            with self._changed:
                self._open.discard(peer)
                self._changed.notify_all()
            return
        key, length = parse_header(peer, header.tolist())
        payload = torch.empty(length, dtype=torch.uint8)
        if length:
            arriving = self._messages.irecv(payload, peer, _PAYLOADS)
            arriving.when_done(lambda: self._events.put(lambda: self._arrived(peer, key, payload, arriving)))
        else:
            self.deliver(peer, key, payload)
        self._listen(peer)

    def _arrived(self, peer: int, key: Key, payload: torch.Tensor, handle: Handle[Any]) -> None:
        handle.wait()
        self.deliver(peer, key, payload)
