# SPDX-License-Identifier: Apache-2.0
"""Inputs of parsers beside the packet: value sets, and metadata of ports."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import cast

from offramp_p4.state import ValueSetState
from offramp_p4.state.match import ANY, Exact, Match, Ternary
from offramp_p4_tools.bfrt.fields import TableSpec
from offramp_p4_tools.bfrt.stores.base import TableStore
from offramp_p4_tools.bfrt.values import EntryData, Key, exists, not_found, only


class ValueSetStore(TableStore):
    """The members of a parser value set, which have no data."""

    def __init__(self, spec: TableSpec, state: ValueSetState) -> None:
        super().__init__(spec)
        self._state = state

    def canonical(self, key: Key) -> Key:
        """Values with the bits set to 0 that their masks ignore."""
        return tuple(
            (Ternary(p.value & p.mask, p.mask) if p.mask else ANY) if isinstance(p, Ternary) else p for p in key
        )

    def insert(self, key: Key, data: EntryData) -> None:
        """Add a member."""
        del data  # there is none
        member = cast("tuple[Match, ...]", self.canonical(key))
        if member in self._state.members:
            raise exists(self.spec)
        self._state.set([*self._state.members, member])

    def delete(self, key: Key) -> None:
        """Remove a member."""
        removed = self._find(key)
        self._state.set([m for m in self._state.members if m != removed])

    def clear(self) -> None:
        """Remove all members."""
        self._state.set([])

    def get(self, key: Key) -> EntryData:
        """A member; it has no data."""
        self._find(key)
        return EntryData()

    def keys(self) -> Iterator[Key]:
        """All members."""
        return iter(list(self._state.members))

    def _find(self, key: Key) -> tuple[Match, ...]:
        wanted = cast("tuple[Match, ...]", self.canonical(key))
        if wanted not in self._state.members:
            raise not_found(self.spec)
        return wanted


class PortMetadataStore(TableStore):
    """Port metadata, which a parser finds behind the intrinsic metadata; every port has it, zeros at first."""

    def __init__(self, spec: TableSpec, state: MutableMapping[int, bytes], octets: int) -> None:
        super().__init__(spec)
        self._state, self._octets = state, octets

    def insert(self, key: Key, data: EntryData) -> None:
        """Set the fields of a port, like :meth:`modify`."""
        self.modify(key, data)

    def modify(self, key: Key, data: EntryData) -> None:
        """Change the fields that are given."""
        port = only(key)
        now = {**self.get(key).values, **data.values}
        number, width = 0, 0
        for f in self.spec.data:
            number, width = number << f.width | cast("int", now[f.name]), width + f.width
        self._state[port] = (number << 8 * self._octets - width).to_bytes(self._octets, "big")

    def delete(self, key: Key) -> None:
        """Set a port's metadata to zeros."""
        self._state.pop(only(key), None)

    def clear(self) -> None:
        """Zeros for all ports."""
        self._state.clear()

    def get(self, key: Key) -> EntryData:
        """The metadata of a port."""
        port = only(key)
        number = int.from_bytes(self._state.get(port, b"").ljust(self._octets, b"\0"), "big")
        left, values = 8 * self._octets, {}
        for f in self.spec.data:
            left -= f.width
            values[f.name] = number >> left & (1 << f.width) - 1
        return EntryData(None, values)

    def keys(self) -> Iterator[Key]:
        """The ports whose metadata was written."""
        return iter([(Exact(port),) for port in self._state])
