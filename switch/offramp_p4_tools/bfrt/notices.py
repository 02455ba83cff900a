# SPDX-License-Identifier: Apache-2.0
"""Notifications to clients: digests, entries that become idle, ports that come up or go down."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from offramp_base.bfrt.schema import bf
from offramp_p4.ports.panel import FrontPanel
from offramp_p4.state import TableEntry
from offramp_p4.state.match import Exact
from offramp_p4_tools.bfrt import fixed
from offramp_p4_tools.bfrt.clients import Clients
from offramp_p4_tools.bfrt.stores.match import MatchStore
from offramp_p4_tools.bfrt.tables import BfrtTables
from offramp_p4_tools.bfrt.values import encode_data, encode_key, encode_value

if TYPE_CHECKING:
    from offramp_p4.records import Digest
    from offramp_p4.runtime.pipeline import Pipeline

_MOST_WAITING = 1 << 16
"""Digests that are kept between two batches of packets; further ones are lost."""


class Notices:
    """An observer of a device (:class:`offramp_p4.runtime.device.DeviceObserver`).

    Args:
        tables_of: the tables of a pipeline; None where BF-RT does not serve it.
        current: the tables that clients see; None: there are none.
    """

    def __init__(
        self,
        clients: Clients,
        panel: FrontPanel,
        tables_of: Callable[[Pipeline], BfrtTables | None],
        ports_wanted: Callable[[], bool],
        current: Callable[[], BfrtTables | None],
    ) -> None:
        self._clients, self._panel, self._tables_of, self._ports_wanted = clients, panel, tables_of, ports_wanted
        self._current = current
        self._waiting: list[Digest] = []
        self._lists = 0
        self._up: dict[int, bool] = {}

    def digest(self, pipeline: Pipeline, digest: Digest) -> None:
        """The program has sent a digest."""
        del pipeline
        if len(self._waiting) < _MOST_WAITING:
            self._waiting.append(digest)

    def next_ns(self, pipeline: Pipeline) -> int | None:
        """Time at which :meth:`send` has something to do, in nanoseconds; None: never."""
        if self._waiting:
            return 0
        tables = self._tables_of(pipeline)
        times = [] if tables is None else [s.idle.next_us for s in tables.match_tables if s.idle is not None]
        return min((time * 1000 for time in times if time is not None), default=None)

    def send(self, pipeline: Pipeline, now_ns: int) -> None:
        """Send the clients all pending notifications."""
        tables = self._tables_of(pipeline)
        waiting, self._waiting = self._waiting, []
        if tables is None:
            return
        by_name: dict[str, list[Digest]] = {}
        for digest in waiting:
            by_name.setdefault(digest.name, []).append(digest)
        for name, digests in by_name.items():
            self._send_digests(tables, name, digests)
        for store in tables.match_tables:
            if store.idle is not None and (store.idle.next_us or 0) * 1000 <= now_ns and store.idle.settings.enable:
                for entry, idle in store.idle.changes(now_ns // 1000):
                    self._send_idle(store, entry, idle)

    def links_changed(self) -> None:
        """Some link has come up or gone down."""
        now = {number: self._panel.links.up(number) for number in self._panel.ports}
        before, self._up = self._up, now
        tables = self._current()
        if tables is not None:
            tables.ports.links_changed()
        if not self._ports_wanted():
            return
        spec = fixed.chip().tables[fixed.PORT]
        for number, up in now.items():
            if before.get(number, True) != up:
                entry = bf.TableEntry(table_id=spec.id, key=encode_key(spec, (Exact(number),)))
                notice = bf.PortStatusChgNotification(table_entry=entry, port_up=up)
                self._clients.tell("port_status_change", port_status_change_notification=notice)

    def _send_digests(self, tables: BfrtTables, name: str, digests: list[Digest]) -> None:
        learn = tables.program.digests.get(name)
        if learn is None:
            return
        self._lists += 1
        message = bf.DigestList(digest_id=learn.id, list_id=self._lists)
        message.target.pipe_id = tables.pipe_names.index(name.partition(".")[0])
        for digest in digests:
            data = message.data.add()
            for known, value in zip(learn.fields, digest.values, strict=True):
                encode_value(data.fields, known, value)
        self._clients.tell("learn", digest=message)

    def _send_idle(self, store: MatchStore, entry: TableEntry, idle: bool) -> None:
        kind: Any = bf.IdleTimeoutNotification.ENTRY_IDLE if idle else bf.IdleTimeoutNotification.ENTRY_ACTIVE
        notice = bf.IdleTimeoutNotification(type=kind)
        notice.target.pipe_id = 0xFFFF
        notice.table_entry.table_id = store.spec.id
        key = store.key_of_entry(entry)
        notice.table_entry.key.CopyFrom(encode_key(store.spec, key))
        notice.table_entry.data.CopyFrom(encode_data(store.spec, store.get(key)))
        self._clients.tell("idletimeout" if idle else "entry_active", idle_timeout_notification=notice)
