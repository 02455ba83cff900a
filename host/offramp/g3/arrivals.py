# SPDX-License-Identifier: Apache-2.0
"""Bins in the order in which what they need has arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import torch

    from offramp.workers.mailbox import Label, Mailbox


class Arrivals:
    """The messages that one layer waits for.

    Args:
        mailbox: the mailbox in which they arrive.
        labels: labels of the messages, by number.
        accept: called with the number and the bytes of each.
        last: whether nobody needs them again, so that the mailbox may drop each.
    """

    def __init__(
        self,
        mailbox: Mailbox,
        labels: Sequence[Label],
        accept: Callable[[int, torch.Tensor], None],
        *,
        last: bool = False,
    ) -> None:
        self._mailbox = mailbox
        self._missing = dict(enumerate(labels))
        self._accept, self._last = accept, last

    def bins(self, needs: Sequence[Sequence[int]], *, eager: bool) -> Iterator[int]:
        """Each bin once, the first that is ready first.

        Args:
            needs: needs for each bin the numbers of the messages that it needs.
            eager: whether a bin is ready once its own messages have arrived, rather than all messages.

        Raises:
            OfframpError: a message does not come.
        """
        todo = list(range(len(needs)))
        while todo:
            self.collect()
            ready = (n for n in todo if not self._missing or (eager and self._missing.keys().isdisjoint(needs[n])))
            number = next(ready, None)
            if number is None:
                self._mailbox.wait(self._missing.values())
                continue
            todo.remove(number)
            yield number

    def all(self) -> None:
        """Wait for all of them."""
        self.collect()
        while self._missing:
            self._mailbox.wait(self._missing.values())
            self.collect()

    def collect(self) -> None:
        """Accept what has arrived."""
        for number, label in list(self._missing.items()):
            payload = self._mailbox.take(label)
            if payload is not None:
                del self._missing[number]
                if self._last:
                    self._mailbox.drop(label)
                self._accept(number, payload)
