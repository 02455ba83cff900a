"""Registers, counters and meters of v1model. As in bmv2, an index out of range changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from offramp_sim.p4 import ir
from offramp_sim.p4.engine import places
from offramp_sim.p4.engine.core import argument
from offramp_sim.p4.engine.layout import LENGTH
from offramp_sim.p4.state import MeterCell, MeterState, RegisterState
from offramp_sim.p4.types import Bits, strip

if TYPE_CHECKING:
    from offramp_sim.p4.engine.generator import Builder, Generator
    from offramp_sim.p4.v1model.target import V1Target


def builders(target: V1Target) -> dict[tuple[str, str], Builder]:
    """The builders of these externs."""
    return {
        ("register", "read"): lambda g, e: _read(target, g, e),
        ("register", "write"): lambda g, e: _write(target, g, e),
        ("counter", "count"): lambda g, e: _count(target, g, e),
        ("direct_counter", "count"): _direct_count,
        ("meter", "execute_meter"): lambda g, e: _execute(target, g, e),
        ("direct_meter", "read"): lambda g, e: _direct_read(target, g, e),
    }


def _state(target: V1Target, e: ir.ExternCall) -> Any:
    assert isinstance(e.target, ir.ExternInstance)
    return target.objects.of[e.target]


def _index(g: Generator, e: ir.Expr, size: int) -> tuple[str, bool]:
    """Text of an index that may be used twice, and whether it must be checked against ``size``."""
    if isinstance(e, ir.Const):
        return g.value(e), int(e.value) >= size
    t = strip(e.type)
    text = g.value(e)
    name = text if g.layout.static(e) is not None else g.temporary(text, "i")
    return name, not (isinstance(t, Bits) and t.mask < size)


def _guarded(g: Generator, index: str, size: int, *, check: bool, line: str) -> None:
    if check:
        with g.indented(f"if {index} < {size}:"):
            g.line(line)
    else:
        g.line(line)


def _read(target: V1Target, g: Generator, e: ir.ExternCall) -> str:
    state: RegisterState = _state(target, e)
    result = argument(e, 0)
    into = places.place(g, result)
    index, check = _index(g, argument(e, 1), state.size)
    values = g.bind(state.values, "register")
    if into.bits is None and isinstance(into.address, int):
        _guarded(g, index, state.size, check=check, line=f"m[{into.address}] = {values}[{index}]")
    else:
        with g.indented(f"if {index} < {state.size}:"):
            places.write(g, into, f"{values}[{index}]", places.sliced_cell(result))
    return "None"


def _write(target: V1Target, g: Generator, e: ir.ExternCall) -> str:
    state: RegisterState = _state(target, e)
    index, check = _index(g, argument(e, 0), state.size)
    line = f"{g.bind(state.values, 'register')}[{index}] = {g.value(argument(e, 1))}"
    _guarded(g, index, state.size, check=check, line=line)
    return "None"


def _count(target: V1Target, g: Generator, e: ir.ExternCall) -> str:
    state = _state(target, e)
    index, check = _index(g, argument(e, 0), state.size)
    packets, volume = g.bind(state.packets, "packets"), g.bind(state.bytes, "bytes")
    with g.indented(f"if {index} < {state.size}:" if check else "if True:"):
        g.line(f"{packets}[{index}] += 1")
        g.line(f"{volume}[{index}] += m[{LENGTH}]")
    return "None"


def _direct_count(g: Generator, e: ir.ExternCall) -> str:
    del g, e
    return "None"  # every hit counts, whether its action calls this or not


def _execute(target: V1Target, g: Generator, e: ir.ExternCall) -> str:
    state: MeterState = _state(target, e)
    index, _ = _index(g, argument(e, 0), state.size)
    result = argument(e, 1)
    into = places.place(g, result)
    amount = "1" if state.kind == "packets" else f"m[{LENGTH}]"
    cells, clock = g.bind(state.cells, "meter"), g.bind(target.clock, "clock")
    with g.indented(f"if {index} < {state.size}:"):
        colour = f"{cells}[{index}].execute({amount}, {clock}())"
        places.write(g, into, colour, places.sliced_cell(result))
    return "None"


def _direct_read(target: V1Target, g: Generator, e: ir.ExternCall) -> str:
    result = argument(e, 0)
    places.write(g, places.place(g, result), f"m[{target.cells.colour}]", places.sliced_cell(result))
    return "None"


def on_hit(target: V1Target, g: Generator, table: ir.Table) -> None:
    """Write what the direct counter and the direct meter of ``table`` do when ``entry`` has matched."""
    if isinstance(table.properties.get("counters"), ir.ExternInstance):
        g.line("entry.packets += 1")
        g.line(f"entry.bytes += m[{LENGTH}]")
    meter = table.properties.get("meters")
    if isinstance(meter, ir.ExternInstance):
        state: MeterState = target.objects.of[meter]
        amount = "1" if state.kind == "packets" else f"m[{LENGTH}]"
        with g.indented("if entry.meter is None:"):
            g.line(f"entry.meter = {g.bind(MeterCell, 'MeterCell')}()")
        clock = g.bind(target.clock, "clock")
        g.line(f"m[{target.cells.colour}] = entry.meter.execute({amount}, {clock}())")
