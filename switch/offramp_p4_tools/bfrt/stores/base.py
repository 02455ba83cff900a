# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: ARG002 (what a table does not offer it refuses whatever it is given)
"""Operations that every kind of BF-RT table may support."""

from __future__ import annotations

from collections.abc import Iterator

from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime.entities.base import invalid
from offramp_p4_tools.bfrt.fields import TableSpec
from offramp_p4_tools.bfrt.values import EntryData, Key, Value


class TableStore:
    """One table; what a kind of table does not offer is refused with UNIMPLEMENTED.

    All methods raise :class:`~offramp_base.p4rt.status.RpcError` or :class:`~offramp_p4.state.StateError`, and have
    changed nothing then.
    """

    def __init__(self, spec: TableSpec) -> None:
        self.spec = spec
        self._counts = [f.name for f in spec.data if f.name.startswith("$COUNTER_SPEC")]
        self._synced: dict[Key, dict[str, Value]] = {}

    def seen(self, key: Key, data: EntryData, *, from_hw: bool) -> EntryData:
        """An entry as a client sees it: with the counts of the last operation that brought them up to date.

        A read ``from_hw`` is such an operation.
        """
        if not self._counts:
            return data
        if from_hw:
            self._synced[key] = {name: data.values[name] for name in self._counts if name in data.values}
            return data
        known = self._synced.get(key, {})
        return EntryData(data.action, {**data.values, **{name: known.get(name, 0) for name in self._counts}})

    def written(self, key: Key, data: EntryData) -> None:
        """Record the counts of an entry that a client has written, and so knows."""
        counts = {name: data.values[name] for name in self._counts if name in data.values}
        if counts:
            key = self.canonical(key)
            self._synced[key] = {**self._synced.get(key, {}), **counts}

    def forget(self, key: Key | None) -> None:
        """Forget the counts of an entry that a client has removed or reset; of all entries if ``key`` is None."""
        if key is None:
            self._synced.clear()
        else:
            self._synced.pop(self.canonical(key), None)

    def sync(self) -> None:
        """Bring the counts that clients see up to date."""
        for key in self.keys():
            self.seen(key, self.get(key), from_hw=True)

    def insert(self, key: Key, data: EntryData) -> None:
        """Add an entry."""
        raise self.refusal("no entries can be added")

    def modify(self, key: Key, data: EntryData) -> None:
        """Change the given fields of an entry."""
        raise self.refusal("no entries can be changed")

    def change_lists(self, key: Key, data: EntryData, *, remove: bool) -> None:
        """Add to the lists of an entry, or remove from them."""
        raise self.refusal("its entries have no lists")

    def delete(self, key: Key) -> None:
        """Remove an entry."""
        raise self.refusal("no entries can be removed")

    def reset(self, key: Key) -> None:
        """Give an entry that always exists its first value again."""
        raise self.refusal("entries cannot be reset")

    def clear(self) -> None:
        """Remove all entries, or reset those that always exist."""
        raise self.refusal("it cannot be cleared")

    def get(self, key: Key) -> EntryData:
        """An entry."""
        raise self.refusal("it cannot be read")

    def keys(self) -> Iterator[Key]:
        """The keys of all entries."""
        raise self.refusal("it cannot be read")

    def usage(self) -> int:
        """Number of entries."""
        return sum(1 for _ in self.keys())

    def set_default(self, data: EntryData) -> None:
        """Change the default entry."""
        raise self.refusal("it has no default entry")

    def reset_default(self) -> None:
        """Bring the program's default entry back."""
        raise self.refusal("it has no default entry")

    def get_default(self) -> EntryData | None:
        """The default entry; None if there is none."""
        raise self.refusal("it has no default entry")

    def canonical(self, key: Key) -> Key:
        """The stored form of a key."""
        return key

    def refusal(self, what: str) -> RpcError:
        """The UNIMPLEMENTED error for an operation that this table does not offer."""
        return RpcError(Code.UNIMPLEMENTED, f"table {self.spec.name}: {what}")

    def wrong(self, what: str) -> RpcError:
        """The INVALID_ARGUMENT error for wrong input."""
        return invalid(f"table {self.spec.name}: {what}")
