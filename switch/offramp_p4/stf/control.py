# SPDX-License-Identifier: Apache-2.0
"""STF commands as operations on a switch's state, with the conventions of p4c's ``bmv2stf.py``."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, TypeVar

from offramp_base.errors import OfframpError
from offramp_p4.state import (
    ANY,
    ActionData,
    CloneSession,
    Exact,
    Lpm,
    Match,
    Optional,
    Range,
    Replica,
    TableEntry,
    TableState,
    Ternary,
)
from offramp_p4.state.arrays import check_index

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from offramp_p4.engines import AnySwitch
    from offramp_p4.stf.parse import Match as MatchText
    from offramp_p4.stf.parse import StfActionCall, StfCommand

_T = TypeVar("_T")
_RELATIONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class StfControl:
    """Executes the commands of one test that are not packets."""

    def __init__(self, switch: AnySwitch) -> None:
        self.switch = switch
        self.labels: dict[str, TableEntry] = {}
        self._nodes: list[tuple[int, list[int]]] = []  # (replication id, ports) by handle
        self._groups: dict[int, list[int]] = {}  # handles by group
        self._group_sessions: dict[int, int] = {}

    def execute(self, command: StfCommand) -> str | None:
        """Run one command; returns the failure of a check, or None.

        Raises:
            OfframpError: the command names or asks for something that is not there.
        """
        result: str | None = getattr(self, f"_do_{command.name}")(command)
        return result

    def _do_add(self, c: StfCommand) -> None:
        table = find(self.switch.tables, c.table, "table")
        keys: list[Match] = [_omitted(kind) for kind in table.kinds]
        for text in c.matches:
            at = _key(table, text.key)
            keys[at] = _match(text, table.kinds[at], table.widths[at])
        priority = (c.priority or 0) if table.needs_priority else 0
        entry = TableEntry(tuple(keys), _action(table, c.call), priority)
        table.insert(entry)
        if c.label:
            self.labels[c.label] = entry

    def _do_setdefault(self, c: StfCommand) -> None:
        table = find(self.switch.tables, c.table, "table")
        table.set_default(_action(table, c.call))

    def _do_remove(self, c: StfCommand) -> None:
        del c
        for table in self.switch.tables.values():
            table.clear()

    def _do_check_counter(self, c: StfCommand) -> str | None:
        what, relation, wanted = c.check
        if c.label:
            if c.label not in self.labels:
                raise OfframpError(f"no entry is called {c.label}")
            value = getattr(self.labels[c.label], what)
        else:
            counter = find(self.switch.counters, c.table, "counter")
            value = getattr(counter, what)[check_index("counter", counter.name, c.numbers[0], counter.size)]
        if _RELATIONS[relation](value, wanted):
            return None
        return f"counter {c.table} has {value} {what}, expected {relation} {wanted}"

    def _do_mirroring_add(self, c: StfCommand) -> None:
        session, port = c.numbers
        self._group_sessions.pop(session, None)
        self.switch.pre.clones[session] = CloneSession((Replica(port, 0),))

    def _do_mirroring_add_mc(self, c: StfCommand) -> None:
        session, group = c.numbers
        self._group_sessions[session] = group
        self._replicate()

    def _do_mirroring_delete(self, c: StfCommand) -> None:
        self._group_sessions.pop(c.numbers[0], None)
        if self.switch.pre.clones.pop(c.numbers[0], None) is None:
            raise OfframpError(f"no mirroring session {c.numbers[0]}")

    def _do_mirroring_get(self, c: StfCommand) -> None:
        if c.numbers[0] not in self.switch.pre.clones:
            raise OfframpError(f"no mirroring session {c.numbers[0]}")

    def _do_mc_mgrp_create(self, c: StfCommand) -> None:
        self._groups[c.numbers[0]] = []
        self._replicate()

    def _do_mc_node_create(self, c: StfCommand) -> None:
        rid, *ports = c.numbers
        self._nodes.append((rid, sorted(ports)))

    def _do_mc_node_update(self, c: StfCommand) -> None:
        handle, *ports = c.numbers
        self._nodes[self._handle(handle)] = (self._nodes[handle][0], sorted(ports))
        self._replicate()

    def _do_mc_node_associate(self, c: StfCommand) -> None:
        group, handle = c.numbers
        if group not in self._groups:
            raise OfframpError(f"no multicast group {group}: mc_mgrp_create comes first")
        self._groups[group].append(self._handle(handle))
        self._replicate()

    def _do_counter_read(self, c: StfCommand) -> None:
        counter = find(self.switch.counters, c.table, "counter")
        check_index("counter", counter.name, c.numbers[0], counter.size)

    def _do_counter_write(self, c: StfCommand) -> None:
        find(self.switch.counters, c.table, "counter").write(*c.numbers)

    def _do_register_read(self, c: StfCommand) -> None:
        find(self.switch.registers, c.table, "register").read(c.numbers[0])

    def _do_register_write(self, c: StfCommand) -> None:
        find(self.switch.registers, c.table, "register").write(*c.numbers)

    def _do_register_reset(self, c: StfCommand) -> None:
        find(self.switch.registers, c.table, "register").reset()

    def _do_meter_get_rates(self, c: StfCommand) -> None:
        self._meter_cells(c, c.numbers)

    def _do_meter_set_rates(self, c: StfCommand) -> None:
        self._set_rates(c, c.numbers)

    def _do_meter_array_set_rates(self, c: StfCommand) -> None:
        self._set_rates(c, list(range(find(self.switch.meters, c.table, "meter").size)))

    def _do_wait(self, c: StfCommand) -> None:
        del c

    def _do_no_packet(self, c: StfCommand) -> None:
        del c

    def _meter_cells(self, c: StfCommand, indices: list[int]) -> list[Any]:
        meter = find(self.switch.meters, c.table, "meter")
        return [meter.cells[check_index("meter", meter.name, i, meter.size)] for i in indices]

    def _set_rates(self, c: StfCommand, indices: list[int]) -> None:
        if len(c.rates) != 2:
            raise OfframpError("a meter takes two rate:burst pairs, committed and peak")
        rates = tuple((rate * 1e6, burst) for rate, burst in c.rates)  # given per microsecond
        for cell in self._meter_cells(c, indices):
            cell.configure(rates, self.switch.now_us)

    def _handle(self, handle: int) -> int:
        if not 0 <= handle < len(self._nodes):
            raise OfframpError(f"no multicast node {handle}: the first mc_node_create gives 0")
        return handle

    def _replicate(self) -> None:
        pre = self.switch.pre
        for group, handles in self._groups.items():
            nodes = [self._nodes[h] for h in handles]
            pre.multicast[group] = tuple(Replica(port, rid) for rid, ports in nodes for port in ports)
        for session, group in self._group_sessions.items():
            pre.clones[session] = CloneSession(pre.multicast.get(group, ()))


def find(named: Mapping[str, _T], name: str, kind: str) -> _T:
    """The object of this name, or the only one whose name ends so."""
    if name in named:
        return named[name]
    candidates = [n for n in named if n.endswith(name)]
    if len(candidates) == 1:
        return named[candidates[0]]
    if candidates:
        raise OfframpError(f"{kind} {name} may be {' or '.join(candidates)}")
    raise OfframpError(f"no {kind} {name}; there are: {', '.join(named) or 'none'}")


def _key(table: TableState, name: str) -> int:
    names = [k.name.replace(".isValid()", ".$valid$") for k in table.keys]
    wanted = _plain(name)
    for at, known in enumerate(names):
        if wanted in {known, known.removesuffix("$"), _plain(known)}:
            return at
    for at, known in enumerate(names):
        if known.endswith(("." + wanted, "." + wanted + "$")) or (wanted == "valid" and "$valid$" in known):
            return at
    raise OfframpError(f"table {table.name} has no key {name}; there are: {', '.join(names) or 'none'}")


def _plain(name: str) -> str:
    """A key's name with ``a$0`` written ``a[0]`` and ``h.valid`` written ``h.$valid$``."""
    head, mark, tail = name.partition("$")
    digits = tail[: len(tail) - len(tail.lstrip("0123456789"))]
    if mark and digits:
        name = f"{head}[{digits}]{tail[len(digits) :]}"
    return name.removesuffix("valid") + "$valid$" if name.endswith(".valid") else name


def _omitted(kind: str) -> Match:
    return Exact(0) if kind == "exact" else ANY


_DIGIT_BITS: Final = {"0x": 4, "0b": 1, "0o": 3}


def _match(match: MatchText, kind: str, width: int) -> Match:
    """A key's value in the notation of STF: each ``*`` is a digit that does not matter."""
    prefix, text = match.value[:2].lower(), match.value
    bits = _DIGIT_BITS.get(prefix, 0)
    if kind in {"optional", "range"} and set(text[2:] if bits else text) == {"*"}:
        return ANY  # as p4testgen writes it
    if "*" in text and kind not in {"ternary", "lpm"}:
        raise OfframpError(f"{match.key}:{text} has wildcards, but the key is {kind}")
    value = int(text.replace("*", "0"), 0) if bits else int(text)
    if kind == "exact":
        return Exact(value)
    if kind == "optional":
        return Optional(value)
    if kind == "range":
        return Range(value, value)
    if kind == "ternary":
        return Ternary(value, (_mask(text[2:], bits) if bits else -1) & ((1 << width) - 1))
    if match.length is not None:
        return Lpm(value, match.length)
    length = (len(text) - 2 - text.count("*")) * bits if bits else width
    return Lpm(value, min(length, width))


def _mask(digits: str, bits: int) -> int:
    """All ones for each digit that is written, zeros for ``*``."""
    mask = 0
    for digit in digits:
        mask = mask << bits | (0 if digit == "*" else (1 << bits) - 1)
    return mask


def _action(table: TableState, call: StfActionCall | None) -> ActionData:
    assert call is not None
    action = find(table.actions, call.action, f"action of table {table.name}")
    names = [p.name for p in action.data_params]
    for name in call.args:
        if name not in names:
            raise OfframpError(f"action {action.action.name} has no parameter {name}; it has: {', '.join(names)}")
    for name in names:
        if name not in call.args:
            raise OfframpError(f"action {action.action.name} needs {name}")
    return ActionData(action.action.name, tuple(call.args[name] for name in names))
