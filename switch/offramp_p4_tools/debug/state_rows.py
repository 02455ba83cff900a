# SPDX-License-Identifier: Apache-2.0
"""The state of a switch as rows: tables, registers, counters, meters, value sets, replication; and the packet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from offramp_p4.engine.layout import CURSOR, LENGTH, OUTPUT
from offramp_p4.names import match_text
from offramp_p4.state import ActionData
from offramp_p4_tools.debug.code import frame_bytes
from offramp_p4_tools.debug.rows import Elements, Node, Row, Rows
from offramp_p4_tools.debug.values import number

if TYPE_CHECKING:
    from offramp_p4.state import (
        CounterState,
        Match,
        MeterCell,
        MeterState,
        RegisterState,
        TableEntry,
        TableState,
        ValueSetState,
    )
    from offramp_p4.switch import Switch
    from offramp_p4_tools.debug.rows import View
    from offramp_p4_tools.debug.stops import Packet


def scopes(switch: Switch, view: View) -> list[tuple[str, Node]]:
    """Each kind of state that the program has, by the name of its scope."""
    kinds: list[tuple[str, Mapping[str, Any], Callable[..., Row]]] = [
        ("Tables", switch.tables, _table),
        ("Registers", switch.registers, partial(_register, view)),
        ("Counters", {n: c for n, c in switch.counters.items() if c.table is None}, _counter),
        ("Meters", {n: c for n, c in switch.meters.items() if c.table is None}, _meter),
        ("Value sets", switch.value_sets, _value_set),
    ]
    nodes: list[tuple[str, Node]] = [
        (title, Rows(partial(_all, states, row), len(states))) for title, states, row in kinds if states
    ]
    return [*nodes, ("Replication", Rows(partial(_replication, switch), 2))]


def find(switch: Switch, view: View, name: str) -> Row | None:
    """The table, register or other object of this control-plane name, or the only one that ends in it."""
    rows = [row for title, node in scopes(switch, view) if title != "Replication" for row in node.rows()]
    exact = [row for row in rows if row.name == name] or [row for row in rows if row.name.endswith(f".{name}")]
    return exact[0] if len(exact) == 1 else None


def packet(view: View, held: Packet) -> Node:
    """The packet that is held: its bytes, and how far the parser has come."""

    def rows() -> Sequence[Row]:
        m = view.m
        data, cursor, output = frame_bytes(m), m[CURSOR], m[OUTPUT] or []
        return [
            Row("number", str(held.number)),
            Row("port", str(held.port)),
            Row("length", f"{m[LENGTH]} bytes"),
            Row("cursor", f"byte {cursor}"),
            Row("parsed", data[:cursor].hex()),
            Row("payload", data[cursor:].hex()),
            Row("emitted", b"".join(output).hex()),
        ]

    return Rows(rows, 7)


def _all(states: Mapping[str, Any], row: Callable[[Any], Row]) -> Sequence[Row]:
    return [row(state) for state in states.values()]


def _table(state: TableState) -> Row:
    def rows() -> Sequence[Row]:
        entries = Elements(len(state), lambda: state.entries, partial(_entry, state))
        counts = f"{state.hits} hits, {state.misses} misses"
        default = Row("default", _action(state, state.default))
        return [default, Row("look-ups", counts), Row("entries", str(len(state)), "", entries)]

    return Row(state.name, f"{len(state)} entries", "table", Rows(rows, 3))


def _entry(state: TableState, index: int, entry: TableEntry) -> Row:
    matches = ", ".join(f"{k.name}={match_text(m)}" for k, m in zip(state.keys, entry.keys, strict=True))
    priority = f" priority {entry.priority}" if state.needs_priority else ""
    return Row(f"[{index}]", f"{matches}{priority} -> {_action(state, entry.action)}")


def _action(state: TableState, action: object) -> str:
    if not isinstance(action, ActionData):
        return str(action)
    choices = [*state.table.actions, state.table.default.action]
    params = next((c.data_params for c in choices if c.action.name == action.action), [])
    data = ", ".join(f"{p.name}={number(v)}" for p, v in zip(params, action.args, strict=False))
    return f"{action.action}({data})"


def _register(view: View, state: RegisterState) -> Row:
    def row(index: int, value: int) -> Row:
        def put(text: str) -> None:
            value = view.code.expressions.number(view.location, text, state.width, view.m)
            state.write(index, value & state.width.mask)

        return Row(f"[{index}]", number(value), str(state.width), put=put)

    return Row(
        state.name, f"{state.size} of {state.width}", "register", Elements(state.size, lambda: state.values, row)
    )


def _counter(state: CounterState) -> Row:
    def row(index: int, packets: int) -> Row:
        return Row(f"[{index}]", f"{packets} packets, {state.bytes[index]} bytes")

    return Row(state.name, f"{state.size} cells", "counter", Elements(state.size, lambda: state.packets, row))


def _meter(state: MeterState) -> Row:
    def row(index: int, cell: MeterCell) -> Row:
        rates = ", ".join(f"{rate:g}/s burst {burst}" for rate, burst in cell.rates)
        return Row(f"[{index}]", rates or "no rates: green")

    return Row(
        state.name, f"{state.size} cells of {state.kind}", "meter", Elements(state.size, lambda: state.cells, row)
    )


def _value_set(state: ValueSetState) -> Row:
    def row(index: int, member: tuple[Match, ...]) -> Row:
        return Row(f"[{index}]", ", ".join(map(match_text, member)))

    members = Elements(len(state.members), lambda: state.members, row)
    return Row(state.name, f"{len(state.members)} members", "value set", members)


def _replication(switch: Switch) -> Sequence[Row]:
    groups = sorted(switch.pre.multicast.items())
    sessions = sorted(switch.pre.clones.items())
    return [
        Row("multicast groups", str(len(groups)), "", _lines([(n, replicas) for n, replicas in groups])),
        Row("clone sessions", str(len(sessions)), "", _lines([(n, s.replicas) for n, s in sessions])),
    ]


def _lines(groups: Sequence[tuple[int, Sequence[Any]]]) -> Node | None:
    if not groups:
        return None
    return Rows(
        lambda: [Row(str(n), ", ".join(f"port {r.port} instance {r.instance}" for r in group)) for n, group in groups],
        len(groups),
    )
