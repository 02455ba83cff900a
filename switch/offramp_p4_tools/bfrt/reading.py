# SPDX-License-Identifier: Apache-2.0
"""Entities of a ReadRequest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from offramp_base.bfrt.schema import bf
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime.entities.base import invalid
from offramp_p4_tools.bfrt.attributes import Attributes
from offramp_p4_tools.bfrt.stores.base import TableStore
from offramp_p4_tools.bfrt.stores.match import DEFAULT_HANDLE, MatchStore
from offramp_p4_tools.bfrt.tables import BfrtTables
from offramp_p4_tools.bfrt.values import EntryData, Key, action_of, decode_key, encode_data, encode_key, wanted_fields


class TableReader:
    """Reads the tables of one program."""

    def __init__(self, tables: BfrtTables, attributes: Attributes) -> None:
        self._tables, self._attributes = tables, attributes

    def read(self, entity: Any, target: Any) -> Iterator[Any]:
        """The Entity messages that answer one of a request.

        Raises:
            RpcError: it names what there is not.
        """
        kind = entity.WhichOneof("entity")
        match kind:
            case "table_entry":
                yield from self._entries(entity.table_entry, target)
            case "table_usage":
                store = self._tables.store(entity.table_usage.table_id)
                usage = bf.TableUsage(table_id=store.spec.id, usage=store.usage())
                yield bf.Entity(table_usage=usage)
            case "table_attribute":
                yield bf.Entity(table_attribute=self._attributes.read(entity.table_attribute))
            case "handle":
                yield self._handle(entity.handle)
            case "object_id":
                yield self._object(entity.object_id)
            case _:
                raise RpcError(Code.UNIMPLEMENTED, f"a read of {kind or 'nothing'} is not supported")

    def _entries(self, wanted: Any, target: Any) -> Iterator[Any]:
        store = self._tables.store(wanted.table_id)
        fields = wanted_fields(store.spec, wanted.data)
        if wanted.is_default_entry or not store.spec.key:
            default = store.get_default()
            if default is not None:
                entry = bf.TableEntry(table_id=store.spec.id, is_default_entry=True)
                entry.data.CopyFrom(encode_data(store.spec, default, fields))
                yield bf.Entity(table_entry=entry)
            return
        key_only = wanted.table_flags.key_only or wanted.table_read_flag.key_only
        from_hw = wanted.table_flags.from_hw or wanted.table_read_flag.from_hw
        if wanted.HasField("handle_id"):
            if not isinstance(store, MatchStore):
                raise invalid(f"table {store.spec.name}: its entries have no handles")
            if wanted.handle_id == DEFAULT_HANDLE:
                entry = bf.TableEntry(table_id=store.spec.id)
                default = store.get_default()
                entry.data.CopyFrom(encode_data(store.spec, EntryData() if default is None else default, fields))
                yield bf.Entity(table_entry=entry)
                return
            key = store.key_of(wanted.handle_id)
            data = None if key_only else store.seen(key, store.get(key), from_hw=from_hw)
            yield self._entry(store, key, data, fields, wanted, target)
        elif wanted.HasField("key"):
            key = decode_key(store.spec, wanted.key)
            data = store.get(key)
            action = action_of(store.spec, wanted.data.action_id)
            if action is not None and data.action is not None and action.id != data.action.id:
                raise invalid(
                    f"table {store.spec.name}: the entry runs {data.action.name}, not {action.name}, whose fields"
                    " are asked for"
                )
            key = store.canonical(key)
            yield self._entry(store, key, store.seen(key, data, from_hw=from_hw), fields, wanted, target)
        else:
            for key in list(store.keys()):
                try:
                    data = store.get(key)
                except RpcError:  # it has gone since
                    continue
                data = store.seen(key, data, from_hw=from_hw)
                yield self._entry(store, key, None if key_only else data, fields, wanted, target)

    def _entry(
        self,
        store: TableStore,
        key: Key,
        data: EntryData | None,
        fields: frozenset[str] | None,
        wanted: Any,
        target: Any,
    ) -> Any:
        entry = bf.TableEntry(table_id=store.spec.id, key=encode_key(store.spec, key))
        entry.table_flags.key_only = wanted.table_flags.key_only
        if data is not None:
            entry.data.CopyFrom(encode_data(store.spec, data, fields))
        if wanted.HasField("entry_tgt") or (data is None and wanted.HasField("handle_id")):
            entry.entry_tgt.CopyFrom(wanted.entry_tgt if wanted.HasField("entry_tgt") else target)
        return bf.Entity(table_entry=entry)

    def _handle(self, wanted: Any) -> Any:
        store = self._tables.store(wanted.table_id)
        if not isinstance(store, MatchStore) or not wanted.HasField("key"):
            raise invalid(f"table {store.spec.name}: a handle is asked for with the key of an entry that matches")
        handle = store.handle(decode_key(store.spec, wanted.key))
        return bf.Entity(handle=bf.HandleId(table_id=store.spec.id, handle_id=handle))

    def _object(self, wanted: Any) -> Any:
        """The id of a table, an action, a field, or a digest, by name."""
        reply = bf.ObjectId()
        reply.CopyFrom(wanted)
        kind = wanted.WhichOneof("object")
        if kind == "learn_object":
            name = wanted.learn_object.learn_name
            digest = self._tables.program.digests.get(name)
            if digest is None:
                raise RpcError(Code.NOT_FOUND, f"no digest {name[:80]!r}")
            reply.id = digest.id
            field = wanted.learn_object.data_field_name.field
            if field:
                reply.id = _by_name({f.name: f.id for f in digest.fields}, field)
            return bf.Entity(object_id=reply)
        name = wanted.table_object.table_name
        specs = {store.spec.name: store.spec for store in self._tables.stores.values()}
        if kind is None or name not in specs:
            raise RpcError(Code.NOT_FOUND, f"no table {name[:80]!r}")
        spec, names = specs[name], wanted.table_object
        actions = {a.name: a for a in spec.actions or ()}
        match names.WhichOneof("names"):
            case None:
                reply.id = spec.id
            case "action_name":
                reply.id = _by_name({n: a.id for n, a in actions.items()}, names.action_name.action)
            case "key_field_name":
                reply.id = _by_name({f.name: f.id for f in spec.key}, names.key_field_name.field)
            case _:
                action = actions.get(names.data_field_name.action)
                reply.id = _by_name(
                    {f.name: number for number, f in spec.fields(action).items()}, names.data_field_name.field
                )
        return bf.Entity(object_id=reply)


def _by_name(known: dict[str, int], name: str) -> int:
    if name not in known:
        raise RpcError(Code.NOT_FOUND, f"no {name[:80]!r}; there is {', '.join(known) or 'none'}")
    return known[name]
