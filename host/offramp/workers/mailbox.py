# SPDX-License-Identifier: Apache-2.0
"""Messages on their way between workers: posted and forgotten, found when they have arrived."""

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
    """Another worker is gone; the process that saw it end knows more."""


class Key(NamedTuple):
    """What a message is: the pass over the graph, the state's number, its gradient or itself, the sender's bin."""

    step: int
    layer: int
    backward: bool
    bin: int


END: Final = -1
"""The step of a header behind which no message follows."""

WORDS: Final = len(Key._fields) + 1
"""Integers of a header: a message's key and bytes."""

MOST_BYTES: Final = 1 << 32
"""Largest message in bytes."""


def parse_header(peer: int, words: list[int]) -> tuple[Key, int]:
    """Key and bytes of a message that another worker announces.

    Raises:
        OfframpError: numbers that no message has.
    """
    step, layer, backward, number, length = words
    if min(words) < 0 or length > MOST_BYTES or backward > 1:
        raise OfframpError(f"worker {peer} announces a message of {length} bytes: its header is not valid")
    return Key(step, layer, bool(backward), number), length


Label = tuple[int, Key]
"""Who sent it, and what it is."""


class Mailbox(ABC):
    """One worker's messages to and from the others, each of a few megabytes at most, as bytes.

    Attributes:
        traffic: what was posted and has arrived, in packets of a host-based exchange.
        timers: seconds that :meth:`wait` and :meth:`flush` took, under ``communication``.
    """

    def __init__(self, rank: int, timeout_s: float) -> None:
        """``timeout_s``: without news until :meth:`wait` gives up."""
        self.rank = rank
        self.traffic = Traffic()
        self.timers = Timers()
        self._timeout_s = timeout_s
        self._inbox: dict[Label, torch.Tensor] = {}
        self._changed = threading.Condition()
        self._fault: BaseException | None = None

    def begin_epoch(self) -> None:
        """Set the timers back to zero."""
        self.timers.reset()

    def post(self, peer: int, key: Key, payload: torch.Tensor) -> None:
        """Send ``payload`` (uint8, of a GPU or not) to ``peer``; it must not change any more."""
        count_messages(self.traffic, up=[len(payload)])
        self._send(peer, key, to_host(payload))

    @abstractmethod
    def _send(self, peer: int, key: Key, payload: torch.Tensor) -> None: ...

    @abstractmethod
    def _unsent(self) -> int:
        """Messages that have not left yet."""

    def flush(self) -> None:
        """Wait until all that was posted has left.

        Raises:
            OfframpError: nothing leaves any more; RuntimeError: another worker is gone.
        """
        self._until(lambda: not self._unsent(), "can send nothing")

    def take(self, label: Label) -> torch.Tensor | None:
        """The message, if it has arrived; it stays until :meth:`forget`."""
        with self._changed:
            return self._inbox.get(label)

    def wait(self, labels: Iterable[Label]) -> None:
        """Wait until one of the messages has arrived.

        Raises:
            OfframpError: none does; RuntimeError: another worker is gone.
        """
        wanted = list(labels)
        peers = ", ".join(map(str, sorted({peer for peer, _ in wanted})))
        self._until(lambda: any(label in self._inbox for label in wanted), f"hears nothing from workers {peers}")

    def forget(self, before: int) -> None:
        """Drop the messages of passes before ``before``."""
        with self._changed:
            self._inbox = {label: payload for label, payload in self._inbox.items() if label[1].step >= before}

    def deliver(self, peer: int, key: Key, payload: torch.Tensor) -> None:
        """A message has arrived: called from any thread."""
        with self._changed:
            self._inbox[peer, key] = payload
            count_messages(self.traffic, down=[len(payload)])
            self._changed.notify_all()

    def fail(self, fault: BaseException) -> None:
        """Nothing will arrive any more: called from any thread."""
        with self._changed:
            self._fault = self._fault or fault
            self._changed.notify_all()

    def start_sum(self, values: torch.Tensor) -> Callable[[], object] | None:  # noqa: ARG002
        """Element-wise sum over workers beside the messages, in place, done when what this returns has been called.

        None: sums do not take the messages' way.
        """
        return None

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Send what is posted and stop."""

    def _until(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + self._timeout_s
        with self.timers("communication"), self._changed:
            while not done():
                if self._fault is not None:
                    raise self._fault
                if not self._changed.wait(deadline - time.monotonic()) and time.monotonic() > deadline:
                    raise OfframpError(f"worker {self.rank} {what} for {self._timeout_s:g} s (timeout)")


class NoMailbox(Mailbox):
    """The mailbox of a worker that is alone."""

    def __init__(self, timeout_s: float) -> None:
        super().__init__(0, timeout_s)

    def _send(self, peer: int, key: Key, payload: torch.Tensor) -> None:  # noqa: ARG002
        raise AssertionError(f"no worker {peer}")

    def _unsent(self) -> int:
        return 0


class MemoryMailbox(Mailbox):
    """Mailbox of a worker that is a thread: what it posts arrives at once, or when ``transport`` says.

    Args:
        rank: of this worker.
        boxes: everyone's, by rank; this one enters itself.
        timeout_s: as of :class:`Mailbox`.
        transport: called with what delivers a message; calls it, now or later, from any thread.
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
