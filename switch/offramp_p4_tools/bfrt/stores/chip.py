# SPDX-License-Identifier: Apache-2.0
"""Tables of the chip: entries stored unchanged, and the state that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.state import CloneSession, Replica
from offramp_p4.tna.replication import MulticastNode, MulticastTree, ReplicationRequest, TofinoReplication
from offramp_p4_tools.bfrt.fields import TableSpec
from offramp_p4_tools.bfrt.stores.base import TableStore
from offramp_p4_tools.bfrt.values import EntryData, Key, Value, exists, not_found, numbers, only

Check = Callable[[Mapping[str, Value]], None]
"""Raises if an entry with these values may not be."""


class Records(TableStore):
    """Entries that are kept; ``changed`` is called after each change.

    Args:
        check: check of the values that an entry is going to have.
        leaving: called before the entry with a key is removed; raises if it may not be.
    """

    def __init__(
        self,
        spec: TableSpec,
        changed: Callable[[], None] = lambda: None,
        check: Check = lambda _: None,
        leaving: Callable[[Key], None] = lambda _: None,
    ) -> None:
        super().__init__(spec)
        self.entries: dict[Key, EntryData] = {}
        self._changed, self._check, self._leaving = changed, check, leaving

    def insert(self, key: Key, data: EntryData) -> None:
        """Add an entry; fields that are not given have their defaults."""
        if key in self.entries:
            raise exists(self.spec)
        if len(self.entries) >= self.spec.size:
            raise RpcError(Code.RESOURCE_EXHAUSTED, f"table {self.spec.name} holds at most {self.spec.size} entries")
        self._put(key, data.action, self._complete(data))

    def modify(self, key: Key, data: EntryData) -> None:
        """Change the fields that are given."""
        old = self._find(key)
        self._put(key, data.action or old.action, {**old.values, **data.values})

    def change_lists(self, key: Key, data: EntryData, *, remove: bool) -> None:
        """Add to the lists of an entry, or remove from them."""
        old = self._find(key)
        now = dict(old.values)
        for name, change in data.values.items():
            if not isinstance(change, list):
                raise self.wrong(f"{name} is not a list")
            before = cast("list[Any]", now.get(name, []))
            now[name] = [x for x in before if x not in change] if remove else [*before, *change]
        self._put(key, old.action, now)

    def delete(self, key: Key) -> None:
        """Remove an entry."""
        self._find(key)
        self._leaving(key)
        del self.entries[key]
        self._changed()

    def clear(self) -> None:
        """Remove all entries."""
        for key in list(self.entries):
            self.delete(key)

    def get(self, key: Key) -> EntryData:
        """An entry."""
        return self._find(key)

    def keys(self) -> Iterator[Key]:
        """The keys of all entries, in ascending order."""
        return iter(sorted(self.entries, key=numbers))

    def by_number(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """The number that is each entry's key, and its values."""
        return ((only(key), data.values) for key, data in self.entries.items())

    def _put(self, key: Key, action: Any, values: Mapping[str, Value]) -> None:
        self._check(values)
        self.entries[key] = EntryData(action, values)
        self._changed()

    def _complete(self, data: EntryData) -> dict[str, Value]:
        values: dict[str, Value] = {}
        for f in self.spec.fields(data.action).values():
            if f.mandatory and not f.repeated and f.name not in data.values:  # a list that is missing is empty
                raise self.wrong(f"{f.name} is missing")
            if not f.read_only:
                values[f.name] = data.values.get(f.name, _first(f))
        return values

    def _find(self, key: Key) -> EntryData:
        if key not in self.entries:
            raise not_found(self.spec)
        return self.entries[key]


def _first(field: Any) -> Value:
    if field.repeated:
        return []
    if field.default is not None:
        return cast("Value", field.default)
    return {"bool": False, "string": field.choices[0] if field.choices else "", "float": 0.0}.get(field.kind, 0)


class Mirrors(Records):
    """``$mirror.cfg``: a session copies packets to a port, to multicast groups, or both."""

    def __init__(self, spec: TableSpec, pre: TofinoReplication) -> None:
        super().__init__(spec, self.apply)
        self._pre = pre

    def apply(self) -> None:
        """Set up the enabled sessions with the present multicast groups."""
        known = self.by_number()
        _replace(self._pre.clones, {n: _session(self._pre, v) for n, v in known if v["$session_enable"]})


def _session(pre: TofinoReplication, values: Mapping[str, Any]) -> CloneSession:
    replicas = []
    if values["$ucast_egress_port_valid"]:
        replicas.append(Replica(values["$ucast_egress_port"], values["$mcast_rid"]))
    for which in ("a", "b"):
        if values[f"$mcast_grp_{which}_valid"]:
            replicas += pre.copies(values[f"$mcast_grp_{which}"], ReplicationRequest(rid=values["$mcast_rid"]))
    return CloneSession(tuple(replicas), values["$ingress_cos"], values["$max_pkt_len"])


class ReplicationTables:
    """The tables ``$pre``, and the trees that follow from them together."""

    def __init__(
        self, specs: Mapping[str, TableSpec], pre: TofinoReplication, changed: Callable[[], None] = lambda: None
    ) -> None:
        self._pre, self._changed = pre, changed

        def table(name: str, **options: Any) -> Records:
            return Records(specs[f"$pre.{name}"], self._apply, **options)

        self.node = table("node", leaving=self._forget_node)
        self.ecmp = table("ecmp", check=self._check_nodes, leaving=self._check_unused)
        self.mgid = table("mgid", check=self._check_group)
        self.lag, self.prune, self.port = table("lag"), table("prune"), table("port")
        self.stores = (self.mgid, self.node, self.ecmp, self.lag, self.prune, self.port)

    def _check_nodes(self, values: Mapping[str, Value]) -> None:
        known = {number for number, _ in self.node.by_number()}
        unknown = [n for n in cast("list[int]", values.get("$MULTICAST_NODE_ID", [])) if n not in known]
        if unknown:
            raise RpcError(Code.NOT_FOUND, f"table {self.node.spec.name}: no node {unknown[0]}")

    def _check_group(self, values: Mapping[str, Value]) -> None:
        self._check_nodes(values)
        groups = {number for number, _ in self.ecmp.by_number()}
        unknown = [e for e in cast("list[int]", values.get("$MULTICAST_ECMP_ID", [])) if e not in groups]
        if unknown:
            raise RpcError(Code.NOT_FOUND, f"table {self.ecmp.spec.name}: no ECMP group {unknown[0]}")
        for prefix in ("NODE", "ECMP"):
            names = [f"$MULTICAST_{prefix}_{part}" for part in ("ID", "L1_XID_VALID", "L1_XID")]
            lengths = [len(cast("list[Any]", values.get(name, []))) for name in names]
            if any(length not in {0, lengths[0]} for length in lengths):
                raise self.mgid.wrong(f"{names[0]} has {lengths[0]} values, {names[1]} and {names[2]} have others")

    def _forget_node(self, key: Key) -> None:
        """Remove a deleted node from its groups."""
        number = only(key)
        for store in (self.mgid, self.ecmp):
            for owner, data in store.entries.items():
                values = cast("Mapping[str, Any]", data.values)
                kept = [at for at, node in enumerate(values["$MULTICAST_NODE_ID"]) if node != number]
                lists = {n: v for n, v in values.items() if n.startswith("$MULTICAST_NODE") and v}
                store.entries[owner] = EntryData(
                    None, {**values, **{n: [v[at] for at in kept] for n, v in lists.items()}}
                )

    def _check_unused(self, key: Key) -> None:
        number = only(key)
        users = [owner for owner, values in self.mgid.by_number() if number in values["$MULTICAST_ECMP_ID"]]
        if users:
            raise self.ecmp.wrong(f"ECMP group {number} is in group {users[0]}")

    def _apply(self) -> None:
        nodes = dict(self.node.by_number())
        pre = self._pre
        _replace(pre.lags, {n: tuple(v["$DEV_PORT"]) for n, v in self.lag.by_number()})
        _replace(pre.excluded_ports, {n: frozenset(v["$DEV_PORT"]) for n, v in self.prune.by_number()})
        trees = {}
        for number, group in self.mgid.by_number():
            single = tuple(_node(nodes[n], xid) for n, xid in _members(group, "NODE"))
            ecmp = tuple(
                tuple(_node(nodes[n], xid) for n in dict(self.ecmp.by_number())[e]["$MULTICAST_NODE_ID"])
                for e, xid in _members(group, "ECMP")
            )
            trees[number] = MulticastTree(single, ecmp)
        _replace(pre.trees, trees)
        self._changed()


def _members(group: Mapping[str, Any], prefix: str) -> Iterator[tuple[int, int | None]]:
    """The nodes, or ECMP groups, of a multicast group, each with its exclusion id."""
    ids = group[f"$MULTICAST_{prefix}_ID"]
    valid = group[f"$MULTICAST_{prefix}_L1_XID_VALID"] or [False] * len(ids)
    xids = group[f"$MULTICAST_{prefix}_L1_XID"] or [0] * len(ids)
    return ((number, xid if on else None) for number, on, xid in zip(ids, valid, xids, strict=True))


def _node(values: Mapping[str, Any], xid: int | None) -> MulticastNode:
    return MulticastNode(values["$MULTICAST_RID"], tuple(values["$DEV_PORT"]), tuple(values["$MULTICAST_LAG_ID"]), xid)


def _replace(state: dict[int, Any], now: dict[int, Any]) -> None:
    for stale in [n for n in state if n not in now]:
        del state[stale]
    for number, value in now.items():
        if state.get(number) != value:
            state[number] = value
