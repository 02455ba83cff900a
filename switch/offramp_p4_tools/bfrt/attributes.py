# SPDX-License-Identifier: Apache-2.0
"""Attributes of tables: idle time, scope of entries, and what is accepted without effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from offramp_base.bfrt.schema import bf
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime.entities.base import invalid
from offramp_p4_tools.bfrt.stores.base import TableStore
from offramp_p4_tools.bfrt.stores.idle import IdleSettings, IdleTable
from offramp_p4_tools.bfrt.stores.match import MatchStore

_NAMES = {
    "idle_table": "IdleTimeout",
    "entry_scope": "EntryScope",
    "dyn_key_mask": "DynamicKeyMask",
    "dyn_hashing": "DynamicHashing",
    "byte_count_adj": "MeterByteCountAdjust",
    "port_status_notify": "port_status_notif_cb",
    "intvl_ms": "poll_intvl_ms",
    "pre_device_config": "pre_device_config",
    "selector_update_notify": "SelectorUpdate",
}
"""The attribute that each field of a TableAttribute is, as ``bf-rt.json`` calls it."""
_REFUSED = frozenset({"dyn_key_mask", "dyn_hashing", "selector_update_notify"})
_LONGEST_MS = 0x7FFFFFFF


class Attributes:
    """The attributes of one program's tables.

    Args:
        store: the table with an id.
        now_us: the device's clock.
    """

    def __init__(self, store: Callable[[int], TableStore], now_us: Callable[[], int]) -> None:
        self._store, self._now_us = store, now_us
        self._kept: dict[tuple[int, str], Any] = {}  # what was written, by table and field

    def wants_port_changes(self, port_table: int) -> bool:
        """Whether clients subscribed to ports that come up or go down."""
        setting = self._kept.get((port_table, "port_status_notify"))
        return setting is not None and bool(setting.port_status_notify.enable)

    def write(self, attribute: Any, *, reset: bool = False) -> None:
        """Change an attribute, or bring its first value back.

        Raises:
            RpcError: the table has no such attribute, or it cannot have this value.
        """
        store, kind = self._checked(attribute)
        value = None if reset else attribute
        if kind == "idle_table":
            self._idle(store, attribute.idle_table)
        elif kind == "entry_scope":
            _check_scope(store, attribute.entry_scope)
        if value is None:
            self._kept.pop((store.spec.id, kind), None)
        else:
            copied = bf.TableAttribute()
            copied.CopyFrom(attribute)
            self._kept[store.spec.id, kind] = copied

    def read(self, attribute: Any) -> Any:
        """The TableAttribute message for the attribute that is asked for.

        Raises:
            RpcError: the table has no such attribute.
        """
        store, kind = self._checked(attribute)
        reply = bf.TableAttribute(table_id=store.spec.id)
        if kind == "idle_table" and isinstance(store, MatchStore) and store.idle is not None:
            settings = store.idle.settings
            reply.idle_table.enable = settings.enable
            reply.idle_table.idle_table_mode = int(settings.notify)
            if settings.notify:
                reply.idle_table.ttl_query_interval, reply.idle_table.max_ttl = settings.interval, settings.longest
                reply.idle_table.min_ttl = settings.shortest
        elif (store.spec.id, kind) in self._kept:
            reply.CopyFrom(self._kept[store.spec.id, kind])
        else:
            getattr(reply, kind).SetInParent()
        if kind == "entry_scope" and reply.entry_scope.pipe_scope.WhichOneof("scope") is None:
            reply.entry_scope.pipe_scope.predef = bf.Mode.ALL
        return reply

    def _checked(self, attribute: Any) -> tuple[TableStore, str]:
        store, kind = self._store(attribute.table_id), attribute.WhichOneof("attribute")
        if kind is None:
            raise invalid(f"table {store.spec.name}: the attribute is missing")
        scoped = kind == "entry_scope" and not store.spec.name.startswith("$")  # p4c lists it for some kinds only
        if _NAMES[kind] not in store.spec.attributes and not scoped:
            raise invalid(f"table {store.spec.name} has no attribute {_NAMES[kind]}")
        if kind in _REFUSED:
            raise RpcError(Code.UNIMPLEMENTED, f"table {store.spec.name}: attribute {_NAMES[kind]} is not supported")
        return store, kind

    def _idle(self, store: TableStore, wanted: Any) -> None:
        assert isinstance(store, MatchStore)
        assert isinstance(store.idle, IdleTable)
        if max(wanted.ttl_query_interval, wanted.max_ttl, wanted.min_ttl) > _LONGEST_MS:
            raise invalid(f"table {store.spec.name}: idle times of more than {_LONGEST_MS} ms")
        if wanted.idle_table_mode not in {0, 1}:
            raise invalid(f"table {store.spec.name}: idle_table_mode {wanted.idle_table_mode}: expected 0 or 1")
        first = IdleSettings()
        settings = IdleSettings(
            bool(wanted.enable),
            wanted.idle_table_mode == bf.IdleTable.IDLE_TABLE_NOTIFY_MODE,
            wanted.ttl_query_interval or first.interval,
            wanted.max_ttl or first.longest,
            wanted.min_ttl or first.shortest,
        )
        store.idle.settings = settings
        if settings.enable:
            for entry in store.state.entries:
                store.idle.start(entry, self._now_us())


def _check_scope(store: TableStore, scope: Any) -> None:
    """Entries of one pipe alone would need tables of their own for each pipe."""
    if scope.HasField("pipe_scope") and scope.pipe_scope.WhichOneof("scope") == "user_defined":
        raise RpcError(Code.UNIMPLEMENTED, f"table {store.spec.name}: entries have all pipes of the program as scope")
    for name in ("pipe_scope", "gress_scope", "prsr_scope"):
        if getattr(scope, name).predef not in {0, 1}:
            raise invalid(f"table {store.spec.name}: {name} {getattr(scope, name).predef}: expected ALL or SINGLE")
