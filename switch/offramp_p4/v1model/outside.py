# SPDX-License-Identifier: Apache-2.0
"""Calls of externs that other packages bring (:mod:`offramp_p4.externs`), for the Python engine."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Container
from functools import partial
from typing import Any

from offramp_p4 import ir
from offramp_p4.engine import lvalues, walk
from offramp_p4.engine.core import argument
from offramp_p4.engine.faults import CheckFailed
from offramp_p4.engine.generator import Builder, Generator, is_scalar
from offramp_p4.externs import Extern, find_extern
from offramp_p4.source import Unsupported
from offramp_p4.types import BOOL, VOID, Bits, Type, strip
from offramp_p4.v1model.objects import ExternProgramObjects, constant

_BOOLEAN = Bits(1)
_WRITTEN = ("out", "inout")


class Instance:
    """The Python object of an extern instance."""

    def __init__(self, extern: Extern, instance: ir.ExternInstance) -> None:
        args = [constant(instance, i) for i in range(len(instance.args))]
        self._make: Callable[[], Any] = lambda: extern.behaviour(*args)
        self.reset()

    def reset(self) -> None:
        """Begin with a new object."""
        self.object = self._make()

    def call(self, method: str, *values: int) -> Any:
        """Call a method of the present object."""
        return getattr(self.object, method)(*values)


def builders(
    objects: ExternProgramObjects, program: ir.Program, own: Container[tuple[str, str]]
) -> dict[tuple[str, str], Builder]:
    """The builders of the calls that are not the architecture's ``own`` and that a package brings."""
    makers: dict[tuple[str, str], Builder] = {}
    nodes = (n for block in walk.blocks(program.main) for n in walk.nodes(block, into_declarations=True))
    for node in nodes:
        if isinstance(node, ir.ExternCall) and (node.extern, node.method) not in own:
            extern = find_extern(node.extern or node.method)
            if extern is not None:
                makers[node.extern, node.method] = _builder(objects, extern)
    return makers


def _builder(objects: ExternProgramObjects, extern: Extern) -> Builder:
    def build(g: Generator, e: ir.ExternCall) -> str:
        places = [argument(e, i) for i, arg in enumerate(e.args) if arg.direction in _WRITTEN]
        types = [*([] if e.type == VOID else [e.type]), *(place.type for place in places)]
        into = [lvalues.lvalue(g, place) for place in places]
        values = [_value(g, e, i) for i, arg in enumerate(e.args) if arg.direction != "out"]
        call = _checked(e, _function(objects, extern, e, len(values)), types)
        results = g.temporary(f"{g.bind(call, e.method)}({', '.join(values)})", "results")
        for i, (at, place) in enumerate(zip(into, places, strict=True), len(types) - len(places)):
            lvalues.write(g, at, f"{results}[{i}]", lvalues.sliced_cell(place))
        return "None" if e.type == VOID else f"{results}[0]"

    return build


def _value(g: Generator, e: ir.ExternCall, index: int) -> str:
    arg = argument(e, index)
    if not is_scalar(arg.type):
        raise Unsupported(e.pos, f"extern {e.method} of another package with an argument of type {arg.type}")
    return g.value(arg)


def _function(objects: ExternProgramObjects, extern: Extern, e: ir.ExternCall, arguments: int) -> Callable[..., Any]:
    """The Python function that a call runs.

    Raises:
        Unsupported: the behaviour has no such method, or takes other arguments.
    """
    instance = e.target if isinstance(e.target, ir.ExternInstance) else None
    state = None if instance is None else objects.of.setdefault(instance, Instance(extern, instance))
    function = extern.behaviour if state is None else getattr(state.object, e.method, None)
    if function is None:
        raise Unsupported(e.pos, f"extern {e.extern}.{e.method}, which its package does not implement,")
    try:
        inspect.signature(function).bind(*[0] * arguments)
    except TypeError as error:
        raise Unsupported(e.pos, f"extern {e.method}, whose package takes other arguments ({error}),") from None
    return function if state is None else partial(state.call, e.method)


def _checked(e: ir.ExternCall, function: Callable[..., Any], types: list[Type]) -> Callable[..., tuple[int, ...]]:
    """The function, whose failures drop the packet and whose results fit their types."""
    name = f"{e.pos}: extern {e.method}"
    ranges = [_range(t, e) for t in types]

    def call(*values: int) -> tuple[int, ...]:
        try:
            results = function(*values)
            if len(ranges) < 2:
                results = (results,)[: len(ranges)]
            numbers = tuple(operator.index(result) for result in results)
        except Exception as error:
            raise CheckFailed(f"{name}: {type(error).__name__}: {error}") from error
        if len(numbers) != len(ranges):
            raise CheckFailed(f"{name}: {len(numbers)} results, not {len(ranges)}")
        for number, (low, high) in zip(numbers, ranges, strict=True):
            if not low <= number <= high:
                raise CheckFailed(f"{name}: the result {number} is outside {low}..{high}")
        return numbers

    return call


def _range(t: Type, e: ir.ExternCall) -> tuple[int, int]:
    bits = strip(t)
    if bits == BOOL:
        bits = _BOOLEAN
    if not isinstance(bits, Bits):
        raise Unsupported(e.pos, f"extern {e.method} of another package with a result of type {t}")
    return (-(bits.mask // 2) - 1, bits.mask // 2) if bits.signed else (0, bits.mask)
