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
from offramp_p4_tools.debug.rows import Elements, RowList, RowSource, VariableRow
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
    from offramp_p4_tools.debug.rows import FrameView
    from offramp_p4_tools.debug.stops import HeldPacket


def scopes(switch: Switch, view: FrameView) -> list[tuple[str, RowSource]]:
    """Each kind of state that the program has, by the name of its scope."""
    kinds: list[tuple[str, Mapping[str, Any], Callable[..., VariableRow]]] = [
        ("Tables", switch.tables, _table),
        ("Registers", switch.registers, partial(_register, view)),
        ("Counters", {n: c for n, c in switch.counters.items() if c.table is None}, _counter),
        ("Meters", {n: c for n, c in switch.meters.items() if c.table is None}, _meter),
        ("Value sets", switch.value_sets, _value_set),
    ]
    nodes: list[tuple[str, RowSource]] = [
        (title, RowList(partial(_all, states, row), len(states))) for title, states, row in kinds if states
    ]
    return [*nodes, ("Replication", RowList(partial(_replication, switch), 2))]


def find(switch: Switch, view: FrameView, name: str) -> VariableRow | None:
    """The table, register or other object of this control-plane name, or the only one that ends in it."""
    rows = [row for title, node in scopes(switch, view) if title != "Replication" for row in node.rows()]
    exact = [row for row in rows if row.name == name] or [row for row in rows if row.name.endswith(f".{name}")]
    return exact[0] if len(exact) == 1 else None


def packet(view: FrameView, held: HeldPacket) -> RowSource:
    """The packet that is held: its bytes, and how far the parser has come."""

    def rows() -> Sequence[VariableRow]:
        m = view.m
        data, cursor, output = frame_bytes(m), m[CURSOR], m[OUTPUT] or []
        return [
            VariableRow("number", str(held.number)),
            VariableRow("port", str(held.port)),
            VariableRow("length", f"{m[LENGTH]} bytes"),
            VariableRow("cursor", f"byte {cursor}"),
            VariableRow("parsed", data[:cursor].hex()),
            VariableRow("payload", data[cursor:].hex()),
            VariableRow("emitted", b"".join(output).hex()),
        ]

    return RowList(rows, 7)


def _all(states: Mapping[str, Any], row: Callable[[Any], VariableRow]) -> Sequence[VariableRow]:
    return [row(state) for state in states.values()]


def _table(state: TableState) -> VariableRow:
    def rows() -> Sequence[VariableRow]:
        entries = Elements(len(state), lambda: state.entries, partial(_entry, state))
        counts = f"{state.hits} hits, {state.misses} misses"
        default = VariableRow("default", _action(state, state.default))
        return [default, VariableRow("look-ups", counts), VariableRow("entries", str(len(state)), "", entries)]

    return VariableRow(state.name, f"{len(state)} entries", "table", RowList(rows, 3))


def _entry(state: TableState, index: int, entry: TableEntry) -> VariableRow:
    matches = ", ".join(f"{k.name}={match_text(m)}" for k, m in zip(state.keys, entry.keys, strict=True))
    priority = f" priority {entry.priority}" if state.needs_priority else ""
    return VariableRow(f"[{index}]", f"{matches}{priority} -> {_action(state, entry.action)}")


def _action(state: TableState, action: object) -> str:
    if not isinstance(action, ActionData):
        return str(action)
    choices = [*state.table.actions, state.table.default.action]
    params = next((c.data_params for c in choices if c.action.name == action.action), [])
    data = ", ".join(f"{p.name}={number(v)}" for p, v in zip(params, action.args, strict=False))
    return f"{action.action}({data})"


def _register(view: FrameView, state: RegisterState) -> VariableRow:
    def row(index: int, value: int) -> VariableRow:
        def put(text: str) -> None:
            value = view.code.expressions.number(view.location, text, state.width, view.m)
            state.write(index, value & state.width.mask)

        return VariableRow(f"[{index}]", number(value), str(state.width), put=put)

    return VariableRow(
        state.name, f"{state.size} of {state.width}", "register", Elements(state.size, lambda: state.values, row)
    )


def _counter(state: CounterState) -> VariableRow:
    def row(index: int, packets: int) -> VariableRow:
        return VariableRow(f"[{index}]", f"{packets} packets, {state.bytes[index]} bytes")

    return VariableRow(state.name, f"{state.size} cells", "counter", Elements(state.size, lambda: state.packets, row))


def _meter(state: MeterState) -> VariableRow:
    def row(index: int, cell: MeterCell) -> VariableRow:
        rates = ", ".join(f"{rate:g}/s burst {burst}" for rate, burst in cell.rates)
        return VariableRow(f"[{index}]", rates or "no rates: green")

    return VariableRow(
        state.name, f"{state.size} cells of {state.kind}", "meter", Elements(state.size, lambda: state.cells, row)
    )


def _value_set(state: ValueSetState) -> VariableRow:
    def row(index: int, member: tuple[Match, ...]) -> VariableRow:
        return VariableRow(f"[{index}]", ", ".join(map(match_text, member)))

    members = Elements(len(state.members), lambda: state.members, row)
    return VariableRow(state.name, f"{len(state.members)} members", "value set", members)


def _replication(switch: Switch) -> Sequence[VariableRow]:
    groups = sorted(switch.pre.multicast.items())
    sessions = sorted(switch.pre.clones.items())
    return [
        VariableRow("multicast groups", str(len(groups)), "", _lines([(n, replicas) for n, replicas in groups])),
        VariableRow("clone sessions", str(len(sessions)), "", _lines([(n, s.replicas) for n, s in sessions])),
    ]


def _lines(groups: Sequence[tuple[int, Sequence[Any]]]) -> RowSource | None:
    if not groups:
        return None
    return RowList(
        lambda: [
            VariableRow(str(n), ", ".join(f"port {r.port} instance {r.instance}" for r in group)) for n, group in groups
        ],
        len(groups),
    )
