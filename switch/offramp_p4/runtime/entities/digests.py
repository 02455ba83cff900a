# SPDX-License-Identifier: Apache-2.0
"""Digests: their configuration, and the lists that are sent (sections 9.8 and 16.3)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime.entities.base import DELETE, INSERT, ById, copied, invalid
from offramp_p4.runtime.entities.p4data import encode_value

if TYPE_CHECKING:
    from offramp_p4.switch import Digest
    from offramp_p4.types import Type

Values = tuple[int, ...]


@dataclass
class _Channel:
    """Buffered and sent messages of one digest; times in nanoseconds.

    ``sent`` is the specification's cache: what a list not yet acknowledged holds is not sent again.
    """

    config: Any
    buffer: dict[Values, None] = field(default_factory=dict)
    since: int = 0
    sent: dict[Values, tuple[int, int]] = field(default_factory=dict)

    @property
    def due_ns(self) -> int:
        """Time at which the buffered messages are sent, in nanoseconds."""
        full = 0 < self.config.max_list_size <= len(self.buffer)
        return self.since if full else self.since + int(self.config.max_timeout_ns)


class DigestHandler:
    """DigestEntry, and the messages themselves; a digest without a configuration is not sent."""

    def __init__(self, names: ById[str], types: dict[str, Type], errors: list[str]) -> None:
        self._names = names
        self._ids = {name: number for number, name in names.objects.items()}
        self._types = types
        self._errors = errors
        self._channels: dict[int, _Channel] = {}
        self._lists = 0

    def write(self, kind: int, entry: Any) -> None:
        """Enable, change or disable a digest."""
        name = self._names.get(entry.digest_id)
        exists = entry.digest_id in self._channels
        if kind == INSERT and exists:
            raise RpcError(Code.ALREADY_EXISTS, f"digest {name} is configured")
        if kind != INSERT and not exists:
            raise RpcError(Code.NOT_FOUND, f"digest {name} is not configured")
        if kind == DELETE:
            del self._channels[entry.digest_id]
            return
        wanted = entry.config
        if min(wanted.max_timeout_ns, wanted.max_list_size, wanted.ack_timeout_ns) < 0:
            raise invalid(f"digest {name}: time-outs and list size are not negative")
        config = copied(wanted)
        self._channels.setdefault(entry.digest_id, _Channel(config)).config = config

    def read(self, wanted: Any) -> Iterator[Any]:
        """The configuration of one digest or of all."""
        for identifier, _ in self._names.select(wanted.digest_id):
            if identifier in self._channels:
                config = self._channels[identifier].config
                yield v1.Entity(digest_entry=v1.DigestEntry(digest_id=identifier, config=config))

    def collect(self, digest: Digest, now_ns: int) -> None:
        """A message of the data plane."""
        channel = self._channels.get(self._ids.get(digest.name, 0))
        if channel is None or digest.values in channel.buffer:
            return
        _expire(channel, now_ns)
        if digest.values in channel.sent:
            return
        if not channel.buffer:
            channel.since = now_ns
        channel.buffer[digest.values] = None

    def due(self, now_ns: int) -> Iterator[Any]:
        """The DigestList messages to send now."""
        for identifier, channel in self._channels.items():
            size = channel.config.max_list_size
            while channel.buffer and channel.due_ns <= now_ns:
                batch = list(channel.buffer)[: size or None]
                for values in batch:
                    del channel.buffer[values]
                yield self._message(identifier, channel, batch, now_ns)

    @property
    def next_ns(self) -> int | None:
        """The time at which :meth:`due` has something to give; None: there is nothing to wait for."""
        return min((c.due_ns for c in self._channels.values() if c.buffer), default=None)

    def acknowledge(self, ack: Any) -> None:
        """A DigestListAck.

        Raises:
            RpcError: no digest has this id.
        """
        self._names.get(ack.digest_id)
        channel = self._channels.get(ack.digest_id)
        if channel is not None:
            channel.sent = {v: s for v, s in channel.sent.items() if s[0] != ack.list_id}

    def _message(self, identifier: int, channel: _Channel, batch: list[Values], now_ns: int) -> Any:
        self._lists += 1
        if channel.config.ack_timeout_ns:
            channel.sent.update(dict.fromkeys(batch, (self._lists, now_ns)))
        element = self._types[self._names.objects[identifier]]
        return v1.DigestList(
            digest_id=identifier,
            list_id=self._lists,
            data=[encode_value(element, iter(values), self._errors) for values in batch],
            timestamp=time.time_ns(),
        )


def _expire(channel: _Channel, now_ns: int) -> None:
    limit = now_ns - channel.config.ack_timeout_ns
    while channel.sent:
        first = next(iter(channel.sent))
        if channel.sent[first][1] > limit:
            break
        del channel.sent[first]
