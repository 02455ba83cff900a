# SPDX-License-Identifier: Apache-2.0
"""Updates of a WriteRequest, under each kind of atomicity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from offramp_base.bfrt.schema import bf
from offramp_base.errors import OfframpError
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime.entities.base import as_rpc_error, invalid
from offramp_p4_tools.bfrt.attributes import Attributes
from offramp_p4_tools.bfrt.stores.base import TableStore
from offramp_p4_tools.bfrt.stores.match import MatchStore
from offramp_p4_tools.bfrt.tables import BfrtTables
from offramp_p4_tools.bfrt.values import Key, decode_data, decode_key

_UPDATE = bf.Update
_KINDS = {
    _UPDATE.INSERT, _UPDATE.MODIFY, _UPDATE.MODIFY_INC, _UPDATE.DELETE, _UPDATE.INSERT_OR_MODIFY, _UPDATE.RESET,
}  # fmt: skip
_OPERATIONS = frozenset({"Sync", "SyncCounters", "SyncRegisters", "UpdateHitState"})
Undo = Callable[[], None]


class TableUpdater:
    """Applies updates to the tables of one program."""

    def __init__(self, tables: BfrtTables, attributes: Attributes) -> None:
        self._tables, self._attributes = tables, attributes

    def each(self, updates: Sequence[Any]) -> list[OfframpError | None]:
        """Apply every update regardless of the others; returns the error of each, or None."""
        errors: list[OfframpError | None] = []
        for update in updates:
            try:
                self._apply(update)
                errors.append(None)
            except OfframpError as error:
                errors.append(error)
        return errors

    def all(self, updates: Sequence[Any]) -> list[OfframpError | None]:
        """Do all updates or, if one fails, none; the others then are ABORTED."""
        undo: list[Undo] = []
        for position, update in enumerate(updates):
            try:
                back = self._opposite(update)
                self._apply(update)
            except OfframpError as error:
                for step in reversed(undo):
                    step()
                aborted = RpcError(Code.ABORTED, f"undone because update {position} failed")
                return [error if at == position else aborted for at in range(len(updates))]
            undo.append(back)
        return [None] * len(updates)

    def _apply(self, update: Any) -> None:
        kind = update.entity.WhichOneof("entity")
        if update.type not in _KINDS:
            raise invalid("the update has no type")
        if kind == "table_attribute":
            self._attributes.write(update.entity.table_attribute, reset=update.type == _UPDATE.RESET)
        elif kind == "table_operation":
            self._operate(update.entity.table_operation)
        elif kind == "table_entry":
            self._write(update.type, update.entity.table_entry)
        else:
            raise RpcError(Code.UNIMPLEMENTED, f"a write of {kind or 'nothing'} is not supported")

    def _operate(self, operation: Any) -> None:
        store, name = self._tables.store(operation.table_id), operation.table_operations_type
        spec = store.spec
        if name not in spec.operations or name not in _OPERATIONS:
            known = ", ".join(spec.operations) or "none"
            raise invalid(f"table {spec.name}: no operation {name[:40]!r}; it has {known}")
        store.sync()

    def _write(self, kind: int, entry: Any) -> None:
        store = self._tables.store(entry.table_id)
        if entry.is_default_entry or not store.spec.key:
            self._write_default(store, kind, entry)
            return
        key = self._key(store, entry)
        if key is None:
            if kind not in {_UPDATE.DELETE, _UPDATE.RESET}:
                raise invalid(f"table {store.spec.name}: the key is missing")
            store.clear()
            store.forget(None)
            return
        if kind == _UPDATE.DELETE:
            store.delete(key)
            store.forget(key)
        elif kind == _UPDATE.RESET:
            store.reset(key)
            store.forget(key)
        else:
            self._put(store, kind, key, entry)

    def _put(self, store: TableStore, kind: int, key: Key, entry: Any) -> None:
        data = decode_data(store.spec, entry.data)
        if kind == _UPDATE.INSERT:
            store.insert(key, data)
            store.written(key, data)
        elif kind == _UPDATE.MODIFY_INC:
            remove = entry.table_mod_inc_flag.type == bf.TableModIncFlag.MOD_INC_DELETE or entry.table_flags.mod_del
            store.change_lists(key, data, remove=remove)
        elif kind == _UPDATE.INSERT_OR_MODIFY and not _exists(store, key):
            store.insert(key, data)
            store.written(key, data)
        else:
            store.modify(key, data)
            store.written(key, data)
            if entry.table_flags.reset_ttl and isinstance(store, MatchStore):
                store.restart(key)

    def _write_default(self, store: TableStore, kind: int, entry: Any) -> None:
        if kind in {_UPDATE.RESET, _UPDATE.DELETE}:
            store.reset_default()
        else:
            store.set_default(decode_data(store.spec, entry.data))

    def _key(self, store: TableStore, entry: Any) -> Key | None:
        """The key of an entry; None if it has none, which means all entries."""
        if entry.HasField("handle_id"):
            if not isinstance(store, MatchStore):
                raise invalid(f"table {store.spec.name}: its entries have no handles")
            return store.key_of(entry.handle_id)
        return decode_key(store.spec, entry.key) if entry.HasField("key") else None

    # --- undoing

    def _opposite(self, update: Any) -> Undo:
        """A function that undoes an update that is about to be made."""
        if update.entity.WhichOneof("entity") != "table_entry":
            return lambda: None
        entry = update.entity.table_entry
        store = self._tables.store(entry.table_id)
        if entry.is_default_entry or not store.spec.key:
            old = store.get_default()
            return lambda: None if old is None else store.set_default(old)
        key = self._key(store, entry)
        keys = [key] if key is not None else list(store.keys())
        before = [(one, store.get(one) if _exists(store, one) else None) for one in keys]

        def back() -> None:
            for one, data in before:
                if data is None:
                    store.delete(one)
                elif _exists(store, one):
                    store.modify(one, data)
                else:
                    store.insert(one, data)

        return back


def _exists(store: TableStore, key: Key) -> bool:
    try:
        store.get(key)
    except OfframpError as error:
        if as_rpc_error(error).code == Code.NOT_FOUND:
            return False
        raise
    return True
