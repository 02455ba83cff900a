# SPDX-License-Identifier: Apache-2.0
"""Learning as bmv2's: samples of digests gather in buffers, which are published and kept back until acknowledged."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from offramp_p4_tools.dropin.thrift.services import RequestRefused

if TYPE_CHECKING:
    from offramp_p4.records import Digest
    from offramp_p4.runtime.pipeline import Pipeline
    from offramp_p4_tools.dropin.thrift.catalogue import LearnListInfo

_NOTICE: Final = struct.Struct("<4sQIiQI")
"""Head of a notification: topic, device, context, list, buffer, number of samples."""
_INVALID_LIST: Final = 1
FIRST_TIMEOUT_MS: Final = 1000
"""bmv2's values until they are changed: samples leave one by one, and after a second at the latest."""
MAX_UNACKNOWLEDGED: Final = 1 << 16
"""Samples of a list that are remembered until they are acknowledged; the oldest buffers are forgotten first."""


@dataclass
class LearnList:
    """The samples of one list; the same sample is published once until it is acknowledged.

    Attributes:
        sizes: octets of each field.
        most: samples in a buffer.
        timeout_ns: time that a sample waits for others; 0: for ever.
    """

    number: int
    sizes: tuple[int, ...]
    most: int = 1
    timeout_ns: int = FIRST_TIMEOUT_MS * 1_000_000
    _buffer: int = 0
    _waiting: list[bytes] = field(default_factory=list)
    _since: int = 0
    _sent: dict[int, list[bytes]] = field(default_factory=dict)
    _known: set[bytes] = field(default_factory=set)

    def add(self, values: tuple[int, ...], now_ns: int) -> None:
        """Take a sample, unless it is known and not acknowledged."""
        sample = b"".join(value.to_bytes(size, "big") for value, size in zip(values, self.sizes, strict=True))
        if sample in self._known:
            return
        if not self._waiting:
            self._since = now_ns
        self._known.add(sample)
        self._waiting.append(sample)
        while len(self._known) > MAX_UNACKNOWLEDGED and self._sent:
            self._known.difference_update(self._sent.pop(next(iter(self._sent))))

    @property
    def due_ns(self) -> int | None:
        """The time at which the present buffer is published; None: it waits for more samples."""
        if not self._waiting:
            return None
        if len(self._waiting) >= self.most:
            return self._since
        return self._since + self.timeout_ns if self.timeout_ns else None

    def take(self) -> tuple[int, list[bytes]]:
        """The number and the samples of the buffer that is published now."""
        number, samples = self._buffer, self._waiting[: self.most]
        self._sent[number], self._waiting = samples, self._waiting[self.most :]
        self._buffer += 1
        return number, samples

    def acknowledge(self, buffer: int, samples: list[int] | None = None) -> None:
        """Let samples of a buffer, or all, be learnt anew; what is acknowledged already is passed over."""
        sent = self._sent.get(buffer)
        if sent is None:
            return
        chosen = range(len(sent)) if samples is None else [n for n in samples if 0 <= n < len(sent)]
        for n in chosen:
            self._known.discard(sent[n])
        if not self._known.intersection(sent):
            del self._sent[buffer]

    def reset(self) -> None:
        """Forget every sample."""
        self._buffer, self._waiting = 0, []
        self._sent.clear()
        self._known.clear()


class LearnLists:
    """The learn lists of the program that runs: an observer of the device, and the methods that clients call.

    Args:
        device_id: stands in every notification.
        now_ns: the device's time, nanoseconds.
        lists_of: the learn lists of the program that runs.
        publish: sends a notification.
    """

    def __init__(
        self,
        device_id: int,
        now_ns: Callable[[], int],
        lists_of: Callable[[], list[LearnListInfo]],
        publish: Callable[[bytes], None],
    ) -> None:
        self._device_id, self._now_ns, self._lists_of, self._publish = device_id, now_ns, lists_of, publish
        self._pipeline: Pipeline | None = None
        self._lists: dict[int, LearnList] = {}
        self._names: dict[str, int] = {}

    # --- what the device tells ------------------------------------------------------------------------------------

    def digest(self, pipeline: Pipeline, digest: Digest) -> None:
        """Take a sample; what is due is published with the device's other notices."""
        self._follow(pipeline)
        number = self._names.get(digest.name)
        if number is not None and len(self._lists[number].sizes) == len(digest.values):
            self._lists[number].add(digest.values, self._now_ns())

    def next_ns(self, pipeline: Pipeline) -> int | None:
        """The time at which the next buffer is published."""
        if pipeline is not self._pipeline:
            return None
        return min((due for each in self._lists.values() if (due := each.due_ns) is not None), default=None)

    def send(self, pipeline: Pipeline, now_ns: int) -> None:
        """Publish the buffers that are due."""
        if pipeline is not self._pipeline:
            return
        for each in self._lists.values():
            while (due := each.due_ns) is not None and due <= now_ns:
                buffer, samples = each.take()
                head = _NOTICE.pack(b"LEA|", self._device_id, 0, each.number, buffer, len(samples))
                self._publish(head + b"".join(samples))

    def links_changed(self) -> None:
        """Nothing: learning does not depend on links."""

    def _follow(self, pipeline: Pipeline) -> None:
        """Begin anew if another program runs."""
        if pipeline is self._pipeline:
            return
        lists = self._lists_of()
        self._pipeline = pipeline
        self._lists = {each.number: LearnList(each.number, each.sizes) for each in lists}
        self._names = {each.name: each.number for each in reversed(lists)}

    # --- what clients call ----------------------------------------------------------------------------------------

    def methods(self, pipeline: Pipeline) -> Iterator[tuple[str, Callable[..., None]]]:
        """The methods of bmv2's service for the lists of ``pipeline``."""
        yield "bm_learning_ack", partial(self._acknowledge, pipeline)
        yield "bm_learning_ack_buffer", partial(self._acknowledge, pipeline)
        yield "bm_learning_set_timeout", partial(self._set_timeout, pipeline)
        yield "bm_learning_set_buffer_size", partial(self._set_buffer_size, pipeline)

    def reset(self) -> None:
        """Forget the samples of all lists."""
        for each in self._lists.values():
            each.reset()

    def _acknowledge(
        self, pipeline: Pipeline, list_id: int, buffer_id: int, sample_ids: list[int] | None = None
    ) -> None:
        self._list(pipeline, list_id).acknowledge(buffer_id, sample_ids)

    def _set_timeout(self, pipeline: Pipeline, list_id: int, timeout_ms: int) -> None:
        self._list(pipeline, list_id).timeout_ns = max(0, timeout_ms) * 1_000_000

    def _set_buffer_size(self, pipeline: Pipeline, list_id: int, nb_samples: int) -> None:
        self._list(pipeline, list_id).most = max(1, nb_samples)

    def _list(self, pipeline: Pipeline, number: int) -> LearnList:
        self._follow(pipeline)
        if number not in self._lists:
            raise RequestRefused(_INVALID_LIST, f"there is no learn list {number}")
        return self._lists[number]
