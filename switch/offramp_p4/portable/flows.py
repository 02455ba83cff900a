# SPDX-License-Identifier: Apache-2.0
"""PNA's flow cache: entries that the data plane adds to a table that has missed, and their time to live.

A hit restarts an entry's timer only if the program asks for it. Expired entries are removed from tables whose
``pna_idle_timeout`` is AUTO_DELETE (or which have the older ``idle_timeout_with_auto_delete``).
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from offramp_p4 import ir
from offramp_p4.engine import lvalues
from offramp_p4.engine.core import argument
from offramp_p4.engine.generator import is_scalar
from offramp_p4.source import Unsupported
from offramp_p4.state import ActionData, Exact, StateError, TableEntry
from offramp_p4.types import BOOL, Enum, Structure, Tuple, strip

if TYPE_CHECKING:
    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.portable.objects import PortableObjects
    from offramp_p4.portable.target import PortableTarget
    from offramp_p4.state import TableState

EXPIRE_S: Final = (10, 30, 60, 120, 300, 43_200, 120, 120)
"""Seconds of each expire-time profile unless others are set: those of p4c's back end for DPDK."""
_AUTO_DELETE: Final = "AUTO_DELETE"


class FlowCache:
    """State that outlives a packet: flow ids and the timers of entries.

    Attributes:
        expire_s: seconds by expire-time profile; entries of others never expire.
    """

    def __init__(self) -> None:
        self.expire_s: dict[int, int] = {}
        self.reset()

    def reset(self) -> None:
        """No timers, the first flow id is 0 again, the profiles are the usual ones."""
        self.expire_s = dict(enumerate(EXPIRE_S))
        self._due: list[tuple[int, int, TableState, TableEntry]] = []
        self._watched: dict[int, int] = {}  # the first time of each entry in it, by the entry's id
        self._order = count()
        self._ids = count()

    def allocate(self) -> int:
        """A flow id that nothing else has, as long as 32 bits suffice."""
        return next(self._ids) & 0xFFFFFFFF

    def add(self, missed: Any, name: str, args: tuple[int, ...], profile: int, now_us: int) -> bool:
        """Add an entry to the table that has ``missed``, 0 or (table, key, whether it expires); whether that went."""
        if not missed:
            return False
        state, key, expires = missed
        action = _find_action(state, name)
        if action is None:
            return False
        entry = TableEntry(tuple(Exact(value) for value in key), ActionData(action, args), last_hit_us=now_us)
        entry.idle_timeout_ns = self.expire_s.get(profile, 0) * 10**9
        try:
            self.insert(state, entry)
        except StateError:
            return False
        if expires:
            self.watch(state, entry)
        return True

    def insert(self, state: TableState, entry: TableEntry) -> None:
        """Add an entry to a table, in which packets find it from now on."""
        state.insert(entry)

    def remove(self, state: TableState, entry: TableEntry) -> None:
        """Remove an entry from a table."""
        state.delete(entry.keys, entry.priority)

    def restart(self, hit: Any, now_us: int) -> None:
        """Begin an entry's time anew; ``hit`` is 0 or (table, entry, whether it expires)."""
        if hit:
            hit[1].last_hit_us = now_us

    def set_profile(self, hit: Any, profile: int, now_us: int) -> None:
        """Give an entry another time to live, from now on."""
        if hit:
            state, entry, expires = hit
            entry.idle_timeout_ns = self.expire_s.get(profile, 0) * 10**9
            entry.last_hit_us = now_us
            if expires:
                self.watch(state, entry)

    def expire(self, now_us: int) -> None:
        """Remove the entries whose time is over."""
        while self._due and self._due[0][0] <= now_us:
            due_us, _, state, entry = heappop(self._due)
            if self._watched.get(id(entry)) != due_us:
                continue  # there was an earlier time
            del self._watched[id(entry)]
            if state.get(entry.keys, entry.priority) is not entry or not entry.idle_timeout_ns:
                continue
            if _end_us(entry) > now_us:
                self.watch(state, entry)
            else:
                self.remove(state, entry)

    @property
    def next_us(self) -> int | None:
        """The time at which the next entry may have to be removed, microseconds; None: never."""
        return self._due[0][0] if self._due else None

    def watch(self, state: TableState, entry: TableEntry) -> None:
        """Remove an entry once its timeout, if it has one, expires."""
        if not entry.idle_timeout_ns:
            return
        end_us, known_us = _end_us(entry), self._watched.get(id(entry))
        if known_us is None or end_us < known_us:
            self._watched[id(entry)] = end_us
            heappush(self._due, (end_us, next(self._order), state, entry))

    @property
    def timers(self) -> int:
        """The number of timers kept."""
        return len(self._due)


def _end_us(entry: TableEntry) -> int:
    return entry.last_hit_us + entry.idle_timeout_ns // 1000


def _find_action(state: TableState, name: str) -> str | None:
    """The table's action that the source calls ``name``."""
    matches = (full for full in state.actions if full == name or full.endswith(f".{name}"))
    return next(matches, None)


class FlowCacheCalls:
    """Writes the calls of the flow cache."""

    def __init__(self, target: PortableTarget, objects: PortableObjects) -> None:
        self._target, self._cache = target, objects.flows

    def builders(self) -> dict[tuple[str, str], Builder]:
        """The builders of PNA's functions on entries."""
        return {
            ("", "add_entry"): lambda g, e: self._add(g, e, 0),
            ("", "add_entry_if"): lambda g, e: self._add(g, e, 1),
            ("", "allocate_flow_id"): lambda g, _: f"{g.bind(self._cache, 'flows')}.allocate()",
            ("", "restart_expire_timer"): lambda g, _: self._restart(g),
            ("", "set_entry_expire_time"): lambda g, e: self._set(g, argument(e, 0)),
            ("", "set_entry_expire_time_if"): self._set_if,
            ("", "update_expire_info"): self._update,
        }

    def on_hit(self, g: Generator, table: ir.MatchTable) -> None:
        """Keep the entry, whose timer its action may restart."""
        if has_timers(table):
            state = g.bind(self._target.objects.tables[table], "state")
            g.line(f"m[{self._hit}] = ({state}, entry, {expires(table)})")

    def on_miss(self, g: Generator, table: ir.MatchTable, state: str) -> None:
        """Keep the key, for which the default action may add an entry."""
        if learns(table):
            check_learning(table)
            g.line(f"m[{self._missed}] = ({state}, key, {expires(table)})")

    @property
    def _hit(self) -> int:
        return self._target.cell("hit")

    @property
    def _missed(self) -> int:
        return self._target.cell("missed")

    def _clock(self, g: Generator) -> str:
        return f"{g.bind(self._target.clock, 'clock')}()"

    def _add(self, g: Generator, e: ir.ExternCall, first: int) -> str:
        name = argument(e, first)
        if not isinstance(name, ir.Const) or not isinstance(name.value, str):
            raise Unsupported(e.pos, f"{e.method} of an action whose name is not a constant")
        args = g.temporary(_cells(g, e, argument(e, first + 1)), "args")
        profile = g.temporary(g.value(argument(e, first + 2)), "profile")
        missed = f"m[{self._missed}]"
        call = f"{g.bind(self._cache, 'flows')}.add({missed}, {name.value!r}, {args}, {profile}, {self._clock(g)})"
        if first:
            call = f"({g.condition(argument(e, 0))} and {call})"
        added = g.temporary(f"1 if {call} else 0", "added")
        return added if strip(e.type) == BOOL else f"(1 - {added})"  # ADD_ENTRY_SUCCESS is 0

    def _restart(self, g: Generator) -> str:
        g.line(f"{g.bind(self._cache, 'flows')}.restart(m[{self._hit}], {self._clock(g)})")
        return "None"

    def _set(self, g: Generator, profile: ir.Expr) -> str:
        cache = g.bind(self._cache, "flows")
        g.line(f"{cache}.set_profile(m[{self._hit}], {g.value(profile)}, {self._clock(g)})")
        return "None"

    def _set_if(self, g: Generator, e: ir.ExternCall) -> str:
        with g.indented(f"if {g.condition(argument(e, 0))}:"):
            self._set(g, argument(e, 1))
        return "None"

    def _update(self, g: Generator, e: ir.ExternCall) -> str:
        with g.indented(f"if {g.condition(argument(e, 0))}:"):
            with g.indented(f"if {g.condition(argument(e, 1))}:"):
                self._set(g, argument(e, 2))
            with g.indented("else:"):
                self._restart(g)
        return "None"


def learns(table: ir.MatchTable) -> bool:
    """Whether packets may add entries to a table that they miss."""
    return _true(table, "add_on_miss")


def has_timers(table: ir.MatchTable) -> bool:
    """Whether packets may restart the timers of a table's entries."""
    return "support_timeout" in table.properties or learns(table)


def check_learning(table: ir.MatchTable) -> None:
    """Refuse a table to which packets add entries unless its keys are exact.

    Raises:
        Unsupported: they are not.
    """
    if any(key.match_kind != "exact" for key in table.keys):
        raise Unsupported(table.pos, f"table {table.name} with add_on_miss and keys that are not exact")


def expires(table: ir.MatchTable) -> bool:
    """Whether entries whose time is over are removed."""
    value = table.properties.get("support_timeout")
    named = isinstance(value, ir.Const) and isinstance(value.type, Enum) and isinstance(value.value, int)
    return _true(table, "idle_timeout_with_auto_delete") or (
        named and value.type.member(value.value) == _AUTO_DELETE  # type: ignore[union-attr]
    )


def _true(table: ir.MatchTable, name: str) -> bool:
    value = table.properties.get(name)
    return isinstance(value, ir.Const) and bool(value.value)


def _cells(g: Generator, e: ir.ExternCall, data: ir.Expr) -> str:
    """Text of a tuple with the arguments of an action, as unsigned numbers: of a struct, or of one number."""
    t = strip(data.type)
    if is_scalar(t):
        return f"({lvalues.pattern(g.value(data), t)},)"
    if not isinstance(t, Structure | Tuple):
        raise Unsupported(e.pos, f"{e.method} with arguments of type {t}, which is not a struct")
    kinds = [f.type for f in t.fields] if isinstance(t, Structure) else list(t.types)
    if not all(is_scalar(kind) for kind in kinds):
        raise Unsupported(e.pos, f"{e.method} with arguments that are not all numbers")
    value = g.temporary(g.value(data), "values") if kinds else "()"
    parts = [f"{lvalues.pattern(f'{value}[{i}]', kind)}," for i, kind in enumerate(kinds)]
    return f"({' '.join(parts)})"
