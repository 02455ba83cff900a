# SPDX-License-Identifier: Apache-2.0
"""One program and its packets on two engines, and the first thing in which they differ."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from offramp_base.errors import OfframpError
from offramp_p4.frontend import load_text
from offramp_p4.portable.flows import has_timers
from offramp_p4.state import MeterCell
from offramp_p4.state.random_control import RandomControl
from offramp_p4.switch import Switch
from offramp_p4_tools.fuzz.packets import Packet
from offramp_p4_tools.fuzz.programs import random_program

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.state import TableEntry, TableState

Make = Callable[["ir.Program"], Any]
MAX_PASSES: Final = 30
HOST_PORTS: Final = (1, 2)
"""Ports of a PNA card towards its host."""
CHANGE_EVERY: Final = 6
"""Packets after which the control plane makes changes."""


@dataclass(frozen=True, slots=True)
class FuzzInput:
    """The input of a run, beside the program."""

    packets: tuple[Packet, ...]
    seed: int


def python_engine(program: ir.Program) -> Switch:
    """The readable engine: the oracle."""
    return Switch(program, max_passes=MAX_PASSES, host_ports=HOST_PORTS)


def native_engine(program: ir.Program) -> Any:
    """The engine that is tested against it.

    Raises:
        OfframpError: llvmlite is missing, or the program uses what this engine does not execute.
    """
    from offramp_p4.native import NativeSwitch

    return NativeSwitch(program, max_passes=MAX_PASSES, host_ports=HOST_PORTS)


def traced_engine(program: ir.Program) -> Switch:
    """The readable engine with instrumented code."""
    return Switch(program, max_passes=MAX_PASSES, host_ports=HOST_PORTS, trace=lambda trace: trace.to_json())


ENGINES: Final[dict[str, Make]] = {"native": native_engine, "traced": traced_engine}


def check_engine(name: str) -> None:
    """Raise OfframpError, saying what to install, if an engine of :data:`ENGINES` cannot run here."""
    ENGINES[name](load_text(random_program(0).text, "random.p4"))


@dataclass(frozen=True, slots=True)
class FuzzVerdict:
    """Outcome of a program: ``kind`` is same, unsupported, refused, crash, difference (or death, of a process)."""

    kind: str
    message: str = ""


def compare(engine: Make, text: str, case: FuzzInput) -> FuzzVerdict:
    """Run a program and packets on the Python engine and on another."""
    try:
        program = load_text(text, "random.p4")
        oracle = python_engine(program)
    except OfframpError as error:
        return FuzzVerdict("refused", str(error))
    except Exception:
        return FuzzVerdict("crash", traceback.format_exc(limit=-4))
    try:
        fault = difference(oracle, engine(program), case)
    except OfframpError as error:
        return FuzzVerdict("unsupported", str(error))
    except Exception:
        return FuzzVerdict("crash", traceback.format_exc(limit=-4))
    return FuzzVerdict("same") if fault is None else FuzzVerdict("difference", fault)


def difference(oracle: Any, tested: Any, case: FuzzInput) -> str | None:
    """Run ``case`` on two fresh switches; returns a description of the difference, or None."""
    digests: tuple[list[Any], list[Any]] = [], []
    controls = [RandomControl(switch, case.seed) for switch in (oracle, tested)]
    for control, seen in zip(controls, digests, strict=True):
        control.fill()
        control.switch.on_digest = seen.append
    for number, (port, frame) in enumerate(case.packets):
        if number % CHANGE_EVERY == CHANGE_EVERY - 1:
            for control in controls:
                control.disturb()
        expected, got = oracle.process_one(port, frame), tested.process_one(port, frame)
        if expected != got:
            return f"packet {number} (port {port}, {frame.hex()}): {_packets(expected)} expected, {_packets(got)} sent"
        if digests[0] != digests[1]:
            return f"packet {number}: digests {digests[0][-3:]} expected, {digests[1][-3:]} sent"
    return _state_difference(oracle, tested)


def _state_difference(oracle: Any, tested: Any) -> str | None:
    left, right = _state(oracle), _state(tested)
    for name, expected in left.items():
        if right[name] != expected:
            return f"{name}: {expected} expected, {right[name]} found"
    return None


def _state(switch: Any) -> dict[str, Any]:
    """Everything that outlives packets."""
    state: dict[str, Any] = {"stats": asdict(switch.stats)}
    state |= {f"register {n}": [r.read(i) for i in range(r.size)] for n, r in switch.registers.items()}
    state |= {f"meter {n}": [_meter(cell) for cell in m.cells] for n, m in switch.meters.items() if m.table is None}
    state |= {f"counter {n}": (list(c.packets), list(c.bytes)) for n, c in switch.counters.items()}
    for name, table in switch.tables.items():
        state[f"look-ups of {name}"] = table.hits, table.misses
        state[f"direct counter of {name}"] = [(e.packets, e.bytes) for e in table.entries]
        state[f"direct register of {name}"] = [e.register for e in table.entries]
        state[f"direct meter of {name}"] = [_meter(e.meter or MeterCell()) for e in table.entries]
        state[f"entries of {name}"] = sorted((_timed(table, e) for e in table.entries), key=repr)
    return state


def _meter(cell: MeterCell) -> tuple[list[float], list[int], list[int]]:
    return list(cell.levels), list(cell.packets), list(cell.octets)


def _timed(table: TableState, e: TableEntry) -> tuple[Any, ...]:
    """An entry, with the times that packets change."""
    timer = (e.last_hit_us, e.idle_timeout_ns) if has_timers(table.table) else ()
    return e.keys, e.priority, e.action, *timer


def _packets(packets: Sequence[Packet]) -> str:
    return ", ".join(f"{port}:{frame.hex()}" for port, frame in packets) or "nothing"
