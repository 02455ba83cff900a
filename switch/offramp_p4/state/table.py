# SPDX-License-Identifier: Apache-2.0
"""A match-action table's entries: what the control plane writes and the data plane looks up."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.source import Unsupported
from offramp_p4.state.lookup import KINDS, Finder, Lookup, make_finder
from offramp_p4.state.match import (
    ANY,
    Exact,
    Lpm,
    Match,
    Optional,
    Range,
    StateError,
    Ternary,
    key_width,
    normalise,
    prefix_mask,
)
from offramp_p4.state.profile import ActionData, ActionProfileState, GroupAction, MemberAction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from offramp_p4.state.arrays import MeterCell
    from offramp_p4.state.batch import EntryBatch

DEFAULT_SIZE: Final = 1024  # what p4c gives a table without the property ``size``


@dataclass(slots=True)
class TableEntry:
    """One entry; ``packets`` and ``bytes`` are its direct counter, ``meter``, ``register`` and ``filter`` its others.

    ``idle_timeout_ns`` is its time to live without a hit (0: forever), ``last_hit_us`` when it was last hit; only
    tables with ``support_timeout`` note hits.
    """

    keys: tuple[Match, ...]
    action: ActionData | MemberAction | GroupAction
    priority: int = 0
    const: bool = False
    metadata: bytes = b""
    packets: int = 0
    bytes: int = 0
    meter: MeterCell | None = None
    register: int | None = None
    filter: list[int] | None = None
    idle_timeout_ns: int = 0
    last_hit_us: int = 0


class TableState:
    """The entries and the default action of one table.

    One thread may change it while another one runs packets: a packet sees the state before a change or after it.

    Attributes:
        lookup: function from the unsigned key values (``selector`` keys left out) to the winning entry or None.
        hits, misses: look-ups since the last reset.
        default: action that a miss runs.
        default_entry: metadata and direct counter of the default entry.
        notes_hits: whether each entry's ``last_hit_us`` is kept.
        needs_priority: whether entries are ordered by priority, the highest first (the first inserted among equals).
    """

    def __init__(
        self, table: ir.MatchTable, profile: ActionProfileState | None = None, lock: threading.RLock | None = None
    ) -> None:
        self._lock = threading.RLock() if lock is None else lock  # of every change
        self.table, self.name, self.profile = table, table.name, profile
        self.keys = [k for k in table.keys if k.match_kind != "selector"]
        self.kinds = [k.match_kind for k in self.keys]
        self.widths = [key_width(k.expr.type) for k in self.keys]
        for key in self.keys:
            if key.match_kind not in KINDS:
                raise Unsupported(key.expr.pos, f"match kind {key.match_kind}")
        self._exact = set(self.kinds) <= {"exact"}
        self.notes_hits = supports_timeout(table)
        self.needs_priority = not set(self.kinds) <= {"exact", "lpm"}
        if not self.needs_priority and self.kinds.count("lpm") > 1:
            raise Unsupported(table.pos, f"table {table.name} with more than one lpm key")
        self.size = table.size if table.size is not None else max(DEFAULT_SIZE, len(table.entries))
        self.actions = {a.action.name: a for a in table.actions}
        self._entries: dict[tuple[object, ...], TableEntry] = {}
        if profile is not None:
            profile.tables.append(self)
        self.lookup: Lookup
        self._initial = [_source_entry(self, entry, i) for i, entry in enumerate(table.entries)]
        self.reset()

    def reset(self) -> None:
        """Restore the entries and the default action of the source."""
        with self._lock:
            self._entries.clear()
            self.default = _source_action(self.table.default)
            self.default_entry = TableEntry((), self.default)
            self.hits = self.misses = 0
            for entry in self._initial:
                copy = TableEntry(entry.keys, entry.action, entry.priority, entry.const)
                self._entries.setdefault(self._identity(copy.keys, copy.priority), copy)
            self._changed()

    @property
    def entries(self) -> Iterator[TableEntry]:
        """All entries, in order of insertion."""
        return iter(list(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)

    def insert(self, entry: TableEntry) -> None:
        """Add an entry; its keys are brought to their canonical form."""
        self._check_writable()
        if not self.keys:
            raise StateError("invalid", f"table {self.name} has no key: only its default action can be set")
        keys = self._normalise(entry.keys, entry.priority)
        self._check_action(entry.action)
        identity = self._identity(keys, entry.priority)
        with self._lock:
            if self._holds(identity, keys):
                raise StateError("already_exists", f"table {self.name}: an entry with this match exists")
            self._check_room(1)
            entry.keys = keys
            self._entries[identity] = entry
            self._added(entry)

    def insert_all(self, batch: EntryBatch) -> None:
        """Add all entries of a batch, or none.

        Raises:
            StateError: an entry is there already or twice in the batch, or there is no room; nothing has changed.
        """
        self._check_batch(batch)
        added: list[TableEntry] = []
        try:
            for keys, args in batch.rows(self.kinds):
                added.append(TableEntry(keys, ActionData(batch.action, args)))
                self.insert(added[-1])
        except StateError:
            for entry in added[:-1]:
                self.delete(entry.keys)
            raise

    def _check_batch(self, batch: EntryBatch) -> None:
        self._check_writable()
        if self.profile is not None:
            raise StateError("invalid", f"table {self.name}: entries need a member or a group")
        known = self._entry_action(batch.action)
        widths = [key_width(p.type) for p in known.data_params]
        batch.check(self.kinds, self.widths, widths, f"table {self.name}")

    def modify(self, entry: TableEntry) -> None:
        """Replace action, metadata and time-out of the entry with the same match and priority."""
        self._check_writable()
        with self._lock:
            old = self._existing(entry.keys, entry.priority)
            self._check_action(entry.action)
            old.action, old.metadata, old.idle_timeout_ns = entry.action, entry.metadata, entry.idle_timeout_ns
            self._modified(old)

    def delete(self, keys: tuple[Match, ...], priority: int = 0) -> None:
        """Remove an entry."""
        self._check_writable()
        with self._lock:
            entry = self._existing(keys, priority)
            del self._entries[self._identity(entry.keys, entry.priority)]
            self._removed(entry)

    def get(self, keys: tuple[Match, ...], priority: int = 0) -> TableEntry | None:
        """The entry with this match and priority, or None."""
        return self._find(self._normalise(keys, priority), priority)

    def set_default(self, action: ActionData | None) -> None:
        """Change the default action; None restores the one of the source."""
        if action is not None:
            if self.table.const_default and action != self.default:
                raise StateError("permission_denied", f"table {self.name}: the default action is const")
            self._check_action(action, as_default=True)
        if action is None:
            self.default_entry.packets = self.default_entry.bytes = 0
            self.default_entry.metadata = b""
        self.default = _source_action(self.table.default) if action is None else action

    @property
    def default_is_changed(self) -> bool:
        """Whether the default action is no longer that of the source."""
        return self.default != _source_action(self.table.default)

    def clear(self) -> None:
        """Remove all entries that are not constant."""
        with self._lock:
            for identity, entry in list(self._entries.items()):
                if not entry.const:
                    del self._entries[identity]
            self._changed()

    def _changed(self) -> None:
        """Make the next look-up rebuild its structures, so that bulk loading builds them once."""
        self._finder: Finder | None = None
        self.lookup = self._entries.get if self._exact else self._first_lookup

    def _first_lookup(self, values: tuple[int, ...]) -> TableEntry | None:
        with self._lock:
            if self._finder is None:
                self._finder = make_finder(self._entries.values(), self.kinds, self.widths)
                self.lookup = self._finder.find
            find = self._finder.find
        return find(values)

    def _added(self, entry: TableEntry) -> None:
        if self._finder is not None:
            self._finder.add(entry)
            self.lookup = self._finder.find

    def _removed(self, entry: TableEntry) -> None:
        if self._finder is not None:
            self._finder.remove(entry)
            self.lookup = self._finder.find

    def _modified(self, entry: TableEntry) -> None:
        """Do nothing: the finder depends on keys and priorities only."""

    def _holds(self, identity: tuple[object, ...], keys: tuple[Match, ...]) -> bool:
        del keys
        return identity in self._entries

    def _find(self, keys: tuple[Match, ...], priority: int) -> TableEntry | None:
        """The entry with keys in their canonical form."""
        return self._entries.get(self._identity(keys, priority))

    def _identity(self, keys: tuple[Match, ...], priority: int) -> tuple[object, ...]:
        if self._exact:  # the values themselves, so that finding an entry is finding it in the dictionary
            return tuple(k.value for k in keys if isinstance(k, Exact))
        return (*keys, priority) if self.needs_priority else keys

    def _normalise(self, keys: tuple[Match, ...], priority: int) -> tuple[Match, ...]:
        if len(keys) != len(self.keys):
            raise StateError("invalid", f"table {self.name} has {len(self.keys)} keys, not {len(keys)}")
        if not self.needs_priority and priority:
            raise StateError("invalid", f"table {self.name}: exact and lpm entries take no priority")
        return tuple(
            normalise(match, k.match_kind, width, f"table {self.name}, key {k.name}")
            for match, k, width in zip(keys, self.keys, self.widths, strict=True)
        )

    def _existing(self, keys: tuple[Match, ...], priority: int) -> TableEntry:
        entry = self.get(keys, priority)
        if entry is None:
            raise StateError("not_found", f"table {self.name}: no entry with this match")
        if entry.const:
            raise StateError("permission_denied", f"table {self.name}: the entry is const")
        return entry

    def _check_room(self, more: int) -> None:
        if len(self) + more > self.size:
            raise StateError("exhausted", f"table {self.name} holds at most {self.size} entries")

    def _check_writable(self) -> None:
        if self.table.const_entries:
            raise StateError("permission_denied", f"table {self.name}: the entries are const")

    def _check_action(self, action: ActionData | MemberAction | GroupAction, *, as_default: bool = False) -> None:
        if not isinstance(action, ActionData):
            if self.profile is None:
                raise StateError("invalid", f"table {self.name} has no action profile")
            known = self.profile.members if isinstance(action, MemberAction) else self.profile.groups
            if action.id not in known:
                raise StateError("not_found", f"action profile {self.profile.name}: no {action}")
            return
        if self.profile is not None and not as_default:
            raise StateError("invalid", f"table {self.name}: entries need a member or a group")
        self.check_action(action, as_default=as_default)

    def check_action(self, action: ActionData, *, as_default: bool = False) -> None:
        """Check that entries (or members of the table's profile) may run ``action`` with these arguments.

        Raises:
            StateError: the action is not the table's, or an argument is missing or out of range.
        """
        params = self._entry_action(action.action, as_default=as_default).data_params
        if len(params) != len(action.args):
            message = f"action {action.action} takes {len(params)} arguments, not {len(action.args)}"
            raise StateError("invalid", f"table {self.name}: {message}")
        for param, value in zip(params, action.args, strict=True):
            if not 0 <= value < 1 << key_width(param.type):
                message = f"{value} does not fit {param.type}"
                raise StateError("invalid", f"table {self.name}, action {action.action}, {param.name}: {message}")

    def _entry_action(self, name: str, *, as_default: bool = False) -> ir.TableAction:
        """The action of this name, which entries (or the default entry) may run."""
        known = self.actions.get(name)
        if known is None:
            raise StateError("invalid", f"table {self.name} has no action {name}")
        if ("tableonly" if as_default else "defaultonly") in known.annotations:
            place = "as default" if as_default else "in entries"
            raise StateError("invalid", f"table {self.name}: action {name} may not stand {place}")
        return known


def supports_timeout(table: ir.MatchTable) -> bool:
    """Whether the table has v1model's property ``support_timeout``, or TNA's ``idle_timeout``, as true."""
    wanted = (table.properties.get(name) for name in ("support_timeout", "idle_timeout"))
    return any(isinstance(value, ir.Const) and bool(value.value) for value in wanted)


def constant(expr: ir.Expr) -> int:
    """The value of a compile-time constant as an unsigned bit pattern."""
    if not isinstance(expr, ir.Const) or isinstance(expr.value, str):
        raise Unsupported(expr.pos, "an expression here that is not a compile-time constant")
    return expr.value & ((1 << key_width(expr.type)) - 1)


def _source_action(choice: ir.ActionChoice) -> ActionData:
    return ActionData(choice.action.action.name, tuple(constant(e) for e in choice.data))


def _source_entry(state: TableState, entry: ir.InitialEntry, position: int) -> TableEntry:
    kinds = [k.match_kind for k in state.table.keys]
    if len(entry.keys) == 1 and isinstance(entry.keys[0], ir.KeyAny):
        written: list[ir.Key] = [entry.keys[0]] * len(kinds)
    else:
        written = entry.keys
    keys = tuple(
        source_match(key, kind, key_width(k.expr.type))
        for key, kind, k in zip(written, kinds, state.table.keys, strict=True)
        if kind != "selector"
    )
    return TableEntry(keys, _source_action(entry.choice), _priorities(state)[position], entry.const)


def _priorities(state: TableState) -> list[int]:
    """The priority of each entry of the source: the highest wins."""
    table = state.table
    if not state.needs_priority:
        return [0] * len(table.entries)
    if table.largest_priority_wins and any(e.priority is not None for e in table.entries):
        return [e.priority or 0 for e in table.entries]
    ranks = _ranks(table)
    return [max(ranks) + 1 - rank for rank in ranks]


def source_ranks(table: ir.MatchTable) -> list[int]:
    """The rank of each entry of the source, as bmv2's JSON has it: the smallest wins."""
    if table.largest_priority_wins and any(e.priority is not None for e in table.entries):
        highest = max(e.priority or 0 for e in table.entries)
        return [highest + 1 - (e.priority or 0) for e in table.entries]
    return _ranks(table)


def _ranks(table: ir.MatchTable) -> list[int]:
    """The rank of each entry of the source; the smallest wins.

    Without priorities in the source the first entry wins. The annotation ``@priority(n)`` is p4c's older form
    for bmv2, in which the smallest number wins and an entry without it has its position.
    """
    ranks = []
    for position, entry in enumerate(table.entries, 1):
        note = entry.annotations.get("priority")
        rank = int(str(note.args[0]), 0) if note else position
        ranks.append(rank if entry.priority is None else entry.priority)
    return ranks


def source_match(key: ir.Key, kind: str, width: int) -> Match:
    """A key of an entry in the source as a match of ``kind``."""
    top = (1 << width) - 1
    if isinstance(key, ir.KeyValueSet):
        raise Unsupported(key.value_set.pos, "a value set as the key of a table entry")
    if isinstance(key, ir.KeyAny):
        return ANY
    if isinstance(key, ir.KeyRange):
        low, high = constant(key.low), constant(key.high)
        if kind != "range":
            raise Unsupported(key.low.pos, f"a range for a key of kind {kind}")
        return ANY if (low, high) == (0, top) else Range(low, high)
    if isinstance(key, ir.KeyMask):
        value, mask, pos = constant(key.value), constant(key.mask), key.mask.pos
    else:
        value, mask, pos = constant(key.value), top, key.value.pos
    if mask == 0 and kind != "exact":
        return ANY
    if kind == "ternary":
        return Ternary(value & mask, mask)
    if kind == "lpm" and mask == prefix_mask(mask.bit_count(), width):
        return Lpm(value & mask, mask.bit_count())
    if mask == top and kind == "exact":
        return Exact(value)
    if mask == top and kind == "optional":
        return Optional(value)
    if mask == top and kind == "range":
        return Range(value, value)
    raise Unsupported(pos, f"this mask for a key of kind {kind}")
