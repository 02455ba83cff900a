# SPDX-License-Identifier: Apache-2.0
"""Actions: lists of primitives with jumps as structured statements."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.types import Bits
from offramp_p4_tools.bmv2.read.expressions import unwrapped
from offramp_p4_tools.bmv2.read.flow import FlowGraph, FlowStep, branch
from offramp_p4_tools.bmv2.read.nodes import MAX_BITS, JsonNode

if TYPE_CHECKING:
    from offramp_p4_tools.bmv2.read.primitives import Primitives

_JUMPS: Final = {"_jump", "_jump_if_zero"}


def read_action(node: JsonNode, primitives: Primitives) -> ir.Action:
    """An action of the document."""
    params = [ir.Var(p["name"].text, Bits(p["bitwidth"].number(0, MAX_BITS))) for p in node.each("runtime_data")]
    primitives.x.locals = params
    body = _body(list(node.each("primitives")), primitives)
    primitives.x.locals = []
    return ir.Action(node["name"].text, params, ir.Block(body))


def _body(calls: list[JsonNode], primitives: Primitives) -> list[ir.Stmt]:
    starts = {0}
    for i, node in enumerate(calls):
        if node["op"].text in _JUMPS:
            starts |= {i + 1, _target(node, len(calls))}
    if len(starts - {len(calls)}) <= 1 and not any(n["op"].text in _JUMPS for n in calls):
        return _straight(calls, primitives)
    flow = FlowGraph()
    order = sorted(starts | {len(calls)})
    for start, end in pairwise(order):
        flow.steps[str(start)] = _step(calls, start, end, primitives)
    return flow.statements("0")


def _step(calls: list[JsonNode], start: int, end: int, primitives: Primitives) -> FlowStep:
    def name(i: int) -> str | None:
        return None if i == len(calls) else str(i)

    last = calls[end - 1]
    if last["op"].text not in _JUMPS:
        return FlowStep(_straight(calls[start:end], primitives, ends=end == len(calls)), [name(end)])
    before = calls[start : end - 1]
    target = _target(last, len(calls))
    if last["op"].text == "_jump":
        return FlowStep(_straight(before, primitives, ends=target == len(calls)), [name(target)])
    body = _straight(before, primitives, ends=False)
    x = primitives.x
    x.before = []
    test = (
        x.boolean(last["parameters"][0]) if x.kind(last["parameters"][0]) == "bool" else x.truth(last["parameters"][0])
    )
    return FlowStep([*body, *x.before], [name(end), name(target)], branch(test))


def _target(node: JsonNode, length: int) -> int:
    parameters = node["parameters"]
    offset = unwrapped(parameters[len(parameters) - 1])["value"]
    target = offset.hex
    return target if 0 <= target <= length else offset.fail(f"a jump to {target} in an action of {length} primitives")


def _straight(calls: list[JsonNode], primitives: Primitives, *, ends: bool = True) -> list[ir.Stmt]:
    """Calls without jumps; bmv2 marks a packet for ``exit`` and still runs the rest of the action."""
    out: list[ir.Stmt] = []
    exits = False
    for node in calls:
        if node["op"].text == "exit":
            if not ends:
                node.fail("exit in the middle of an action with jumps is not supported")
            exits = True
        else:
            out += primitives.statements(node)
    return [*out, ir.Exit()] if exits else out
