# SPDX-License-Identifier: Apache-2.0
"""A trace as a tree for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.tree import Tree

    from offramp_p4.trace.model import Event, PacketTrace, Span

_DEEPEST = 12
"""Spans further from the packet's arrival stand at the root again, so that lines keep a width."""
_STYLES = {"table": "cyan", "error": "red", "skipped": "yellow", "write": "magenta", "read": "magenta"}


def tree(trace: PacketTrace) -> Tree:
    """The tree of one packet."""
    from rich.text import Text
    from rich.tree import Tree

    root = Tree(Text(f"packet {trace.number}: {_bytes(trace.frame)} in at port {trace.port}", style="bold"))
    branches: dict[int, Tree] = {}
    depths: dict[int | None, int] = {None: 0}
    for span in trace.spans:
        depth = depths[span.id] = depths[span.parent] % _DEEPEST + 1
        above = root if span.parent is None or depth == 1 else branches[span.parent]
        branch = branches[span.id] = above.add(Text(_headline(span), style="bold"))
        for event in span.events:
            _add(branch, event)
        if span.output is not None:
            branch.add(Text(f"out at port {span.output[0]}: {_bytes(span.output[1])}", style="green"))
        if span.dropped is not None:
            branch.add(Text(f"dropped: {span.dropped}", style="red"))
    return root


def line(event: Event) -> str:
    """One event in words."""
    detail, name = event.detail, event.name
    match event.kind:
        case "select":
            values = f" for {', '.join(map(_number, detail['values']))}" if detail["values"] else ""
            return f"go to {name}{values}"
        case "table":
            return f"table {name}: {_values(detail['key'])} {_outcome(detail)}".replace(":  ", ": ")
        case "learn":
            return f"learn {name}: {_values(detail['key'])} -> {detail['action']}({_values(detail['data'])})"
        case "branch":
            return f"{name}: {'if' if detail['taken'] else 'else'}"
        case "read":
            return f"read {name}[{detail['index']}] = {_number(detail['value'])}"
        case "write":
            return f"write {name}[{detail['index']}]: {_number(detail['old'])} to {_number(detail['value'])}"
        case "count":
            return f"count {name}[{detail['index']}]"
        case "meter":
            return f"meter {name}[{detail['index']}] is {detail['colour']}"
        case "skipped":
            return f"{name}[{detail['index']}] is out of range: nothing happens"
        case "extract":
            return f"extract {name}: {_values(detail['fields'])}"
        case "clone":
            return f"clone to {name}{'' if detail['known'] else ', which is not configured'}"
        case "lost":
            return f"there is no {name}: the copy is lost"
        case "block":
            return name
        case "call":
            return f"{name}({_values(detail)})"
    return f"{event.kind} {name}{' ' + _values(detail) if detail else ''}"


def _add(branch: Tree, event: Event) -> None:
    from rich.text import Text

    style = "red" if event.kind == "table" and event.detail["action"] is None else _STYLES.get(event.kind, "")
    below = branch.add(Text(line(event), style=style))
    for inner in event.events:
        _add(below, inner)


def _headline(span: Span) -> str:
    if span.kind == "pass":
        if span.cause == "arrival":
            return "pass"
        return f"pass after {span.cause} ({span.length} bytes)"
    instance = f", instance {span.instance}" if span.instance else ""
    return f"{span.cause} copy to port {span.port}{instance}"


def _outcome(detail: Mapping[str, Any]) -> str:
    action = "no action" if detail["action"] is None else f"{detail['action']}({_values(detail.get('data', {}))})"
    if not detail["hit"]:
        return f"{'miss ' if detail['key'] else ''}-> {action}"
    entry = detail["entry"]
    matched = ", ".join(f"{value}" for value in entry["match"].values())
    priority = f" priority {entry['priority']}" if "priority" in entry else ""
    member = f" {detail['member']}" if "member" in detail else ""
    return f"hit [{matched}]{priority}{member} -> {action}"


def _values(values: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={_number(value)}" for name, value in values.items())


def _number(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if -10 < value < 10 else hex(value)
    return str(value)


def _bytes(frame: bytes) -> str:
    return f"{len(frame)} bytes {frame[:32].hex()}{'…' if len(frame) > 32 else ''}"
