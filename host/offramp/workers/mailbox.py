# SPDX-License-Identifier: Apache-2.0
"""Asynchronous messages between workers: posted without waiting, and available once they have arrived."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, NamedTuple

from offramp.workers.accelerator import to_host
from offramp.workers.traffic import Timers, Traffic, count_messages
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import torch


class PeerLostError(OfframpError):
    """Another worker is gone; the worker that saw it go knows the cause."""


class Key(NamedTuple):
    """Key of a message: the pass over the graph, the state's number, its gradient or itself, the sender's bin."""

    step: int
    layer: int
    backward: bool
    bin: int


END: Final = -1
"""Step in a header that announces the end of messages."""

WORDS: Final = len(Key._fields) + 1
"""Integers in a header: a message's key and length."""

MOST_BYTES: Final = 1 << 32
"""Largest message in bytes."""


def parse_header(peer: int, words: list[int]) -> tuple[Key, int]:
    """Key and length in bytes of a message that another worker announces.

    Raises:
        OfframpError: the numbers are not those of a message.
    """
    step, layer, backward, number, length = words
    if min(words) < 0 or length > MOST_BYTES or backward > 1:
        raise OfframpError(f"worker {peer} announces a message of {length} bytes: its header is not valid")
    return Key(step, layer, bool(backward), number), length


Label = tuple[int, Key]
"""Sender and key of a message."""


class Mailbox(ABC):
    """One worker's messages to and from the others, each of a few megabytes at most, as bytes.

    Attributes:
        traffic: messages posted and received, in packets of a host-based exchange.
        timers: seconds spent in :meth:`wait` and :meth:`flush`, under ``communication``.
    """

    def __init__(self, rank: int, timeout_s: float) -> None:
        """``timeout_s``: seconds without any message after which :meth:`wait` gives up."""
        self.rank = rank
        self.traffic = Traffic()
        self.timers = Timers()
        self._timeout_s = timeout_s
        self._inbox: dict[Label, torch.Tensor] = {}
        self._changed = threading.Condition()
        self._fault: BaseException | None = None

    def begin_epoch(self) -> None:
        """Reset the timers to zero."""
        self.timers.reset()

    def post(self, peer: int, key: Key, payload: torch.Tensor) -> None:
        """Send ``payload`` (uint8, on a GPU or not) to ``peer``; it must not be changed afterwards."""
        count_messages(self.traffic, up=[len(payload)])
        self._send(peer, key, to_host(payload))

    @abstractmethod
    def _send(self, peer: int, key: Key, payload: torch.Tensor) -> None: ...

    @abstractmethod
    def _unsent(self) -> int:
        """Number of messages that have not been sent yet."""

    def flush(self) -> None:
        """Wait until everything posted has been sent.

        Raises:
            OfframpError: sending makes no progress; RuntimeError: another worker is gone.
        """
        self._until(lambda: not self._unsent(), "can send nothing")

    def take(self, label: Label) -> torch.Tensor | None:
        """The message, if it has arrived; it is kept until :meth:`drop` or :meth:`forget`."""
        with self._changed:
            return self._inbox.get(label)

    def drop(self, label: Label) -> None:
        """Forget a message that was taken."""
        with self._changed:
            del self._inbox[label]

    def wait(self, labels: Iterable[Label]) -> None:
        """Wait until one of the messages has arrived.

        Raises:
            OfframpError: none arrives in time; RuntimeError: another worker is gone.
        """
        wanted = list(labels)
        peers = ", ".join(map(str, sorted({peer for peer, _ in wanted})))
        self._until(lambda: any(label in self._inbox for label in wanted), f"hears nothing from workers {peers}")

    def forget(self, before: int, kept: int | None = None) -> None:
        """Drop the messages of passes earlier than ``before``, other than those of the pass ``kept``."""
        with self._changed:
            self._inbox = {
                label: payload
                for label, payload in self._inbox.items()
                if label[1].step >= before or label[1].step == kept
            }

    def deliver(self, peer: int, key: Key, payload: torch.Tensor) -> None:
        """Accept a message that has arrived; may be called from any thread."""
        with self._changed:
            self._inbox[peer, key] = payload
            count_messages(self.traffic, down=[len(payload)])
            self._changed.notify_all()

    def put_back(self, label: Label, payload: torch.Tensor) -> None:
        """Hold a message that an earlier run has received."""
        with self._changed:
            self._inbox[label] = payload

    def fail(self, fault: BaseException) -> None:
        """Record that nothing will arrive any more; may be called from any thread."""
        with self._changed:
            self._fault = self._fault or fault
            self._changed.notify_all()

    def start_sum(self, values: torch.Tensor) -> Callable[[], object] | None:  # noqa: ARG002
        """Start an element-wise sum over workers, in place, beside the messages; complete after the returned call.

        None if sums are not sent like messages.
        """
        return None

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Send all posted messages and stop."""

    def _until(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + self._timeout_s
        with self.timers("communication"), self._changed:
            while not done():
                if self._fault is not None:
                    raise self._fault
                if not self._changed.wait(deadline - time.monotonic()) and time.monotonic() > deadline:
                    raise OfframpError(f"worker {self.rank} {what} for {self._timeout_s:g} s (timeout)")


class NoMailbox(Mailbox):
    """The mailbox of a single worker."""

    def __init__(self, timeout_s: float) -> None:
        super().__init__(0, timeout_s)

    def _send(self, peer: int, key: Key, payload: torch.Tensor) -> None:  # noqa: ARG002
        raise AssertionError(f"no worker {peer}")

    def _unsent(self) -> int:
        return 0


class MemoryMailbox(Mailbox):
    """Mailbox of a worker that is a thread; its messages arrive at once, or when ``transport`` delivers them.

    Args:
        rank: rank of this worker.
        boxes: mailboxes of all workers by rank; this one adds itself.
        timeout_s: see :class:`Mailbox`.
        transport: called with a function that delivers a message, which it calls now or later, from any thread.
    """

    def __init__(
        self,
        rank: int,
        boxes: dict[int, Mailbox],
        timeout_s: float,
        transport: Callable[[Callable[[], None]], None] = lambda deliver: deliver(),
    ) -> None:
        super().__init__(rank, timeout_s)
        self._boxes, self._transport = boxes, transport
        boxes[rank] = self

    def _send(self, peer: int, key: Key, payload: torch.Tensor) -> None:
        self._transport(lambda: self._boxes[peer].deliver(self.rank, key, payload))

    def _unsent(self) -> int:
        return 0
