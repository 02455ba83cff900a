# SPDX-License-Identifier: Apache-2.0
"""A mailbox over gloo: one thread that sends, and one that receives from each other worker."""

from __future__ import annotations

import queue
import threading
import time
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist

from offramp.workers.mailbox import END, WORDS, Key, Mailbox, parse_header
from offramp.workers.rate import TokenBucket

if TYPE_CHECKING:
    from offramp.workers.group import Group


class GlooMailbox(Mailbox):
    """Delivers messages in order for each pair of workers, each after a header with its key and length.

    With a rate, the worker's network card is emulated: sending takes the time of a link with that rate, and so does
    receiving, with messages of all workers one after the other. A thread that waits for a link sleeps, so that this
    costs no processor time.
    """

    def __init__(self, group: Group, timeout_s: float, rate_bps: float | None = None) -> None:
        super().__init__(group.rank, timeout_s)
        self._gloo = dist.new_group(backend="gloo")
        self._out = TokenBucket(rate_bps) if rate_bps else None
        self._in = TokenBucket(rate_bps) if rate_bps else None
        self._rate_bps = rate_bps
        self._queue: queue.SimpleQueue[tuple[int, torch.Tensor, torch.Tensor]] = queue.SimpleQueue()
        self._waiting = 0
        peers = [peer for peer in range(group.size) if peer != group.rank]
        self._peers = peers
        receivers = [threading.Thread(target=self._receive, args=(peer,), daemon=True) for peer in peers]
        self._threads = [threading.Thread(target=self._work, args=(len(peers),), daemon=True), *receivers]
        for thread in self._threads:
            thread.start()

    def _send(self, peer: int, key: Key, payload: torch.Tensor) -> None:
        with self._changed:
            self._waiting += 1
        self._queue.put((peer, torch.tensor([*key, len(payload)], dtype=torch.int64), payload))

    def _unsent(self) -> int:
        return self._waiting

    def close(self) -> None:
        """Send all posted messages, and wait for the others' last messages."""
        for peer in self._peers:
            header = torch.full((WORDS,), END, dtype=torch.int64)
            self._queue.put((peer, header, torch.empty(0, dtype=torch.uint8)))
        for thread in self._threads:
            thread.join(self._timeout_s)

    def _work(self, last: int) -> None:
        """Body of the sending thread, which ends after ``last`` messages that say so."""
        try:
            while last:
                peer, header, payload = self._queue.get()
                if self._out is not None and len(payload):
                    self._out.spend(len(payload), time.monotonic())
                dist.send(header, peer, self._gloo)
                if len(payload):
                    dist.send(payload, peer, self._gloo)
                if int(header[0]) == END:
                    last -= 1
                    continue
                with self._changed:
                    self._waiting -= 1
                    self._changed.notify_all()
        except BaseException as fault:
            self.fail(fault)

    def _receive(self, peer: int) -> None:
        """Body of the thread that receives from ``peer``."""
        header = torch.empty(WORDS, dtype=torch.int64)
        try:
            while True:
                dist.recv(header, peer, self._gloo)
                if int(header[0]) == END:
                    return
                key, length = parse_header(peer, header.tolist())
                payload = torch.empty(length, dtype=torch.uint8)
                if length:
                    dist.recv(payload, peer, self._gloo)
                if self._in is not None and self._rate_bps:
                    self._in.spend(length, time.monotonic() - 8 * length / self._rate_bps)
                self.deliver(peer, key, payload)
        except BaseException as fault:
            self.fail(fault)
