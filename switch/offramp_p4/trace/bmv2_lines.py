# SPDX-License-Identifier: Apache-2.0
"""A packet's trace in the format of bmv2's ``--log-console``, which its users read and their scripts search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from datetime import datetime

    from offramp_p4.trace.model import Event, PacketTrace, Span

_DEBUG, _TRACE = "D", "T"
LEVELS: Final = _DEBUG + _TRACE
"""Letters of the levels of lines."""
_KEY_WIDTH: Final = 20


def lines(trace: PacketTrace, now: datetime, levels: str = LEVELS) -> Iterator[str]:
    """The lines of one packet that are of these levels; ``[3.1]`` is copy 1 of packet 3."""
    clock = f"{now:%H:%M:%S}.{now.microsecond // 1000:03}"
    for copy, span in enumerate(trace.spans):
        head = f"[{clock}] [bmv2]"
        place = f"[thread 1] [{trace.number}.{copy}] [cxt 0]"
        for level, text in _span(trace, span):
            if level in levels:
                yield f"{head} [{level}] {place} {text}"


def _span(trace: PacketTrace, span: Span) -> Iterator[tuple[str, str]]:
    if span.kind == "pass":
        again = "" if span.cause == "arrival" else f" ({span.cause})"
        length = len(trace.frame) if span.length is None else span.length
        yield _DEBUG, f"Processing packet received on port {span.port}{again}, {length} bytes"
    else:
        if span.cause != "unicast":
            yield _DEBUG, f"Cloning packet: {span.cause} to port {span.port}"
        yield _DEBUG, f"Egress port is {span.port}"
    for event in span.events:
        yield from _block(span, event) if event.kind == "block" else _event(event)
    if span.output is not None:
        port, frame = span.output
        yield _DEBUG, f"Transmitting packet of size {len(frame)} out of port {port}"
    if span.dropped is not None:
        yield _DEBUG, f"Dropping packet: {span.dropped}"


def _block(span: Span, event: Event) -> Iterator[tuple[str, str]]:
    """Parser, ingress or egress, under the names that they have in bmv2's JSON."""
    name = "Pipeline 'ingress'" if span.kind == "pass" else "Pipeline 'egress'"
    if any(inner.kind in {"state", "select", "extract"} for inner in event.events):
        name = "Parser 'parser'"
    yield _DEBUG, f"{name}: start"
    yield from _within(event)
    yield _DEBUG, f"{name}: end"


def _event(event: Event) -> Iterator[tuple[str, str]]:
    detail, name = event.detail, event.name
    match event.kind:
        case "block":
            pass  # a control that another one applies: for bmv2 they are one
        case "state":
            yield _DEBUG, f"Parser 'parser' entering state '{name}'"
        case "select":
            if detail["values"]:
                yield _DEBUG, f"Parser state key is {''.join(f'{value:02x}' for value in detail['values'])}"
        case "extract":
            yield _DEBUG, f"Extracting header '{name.partition('.')[2] or name}'"
        case "error":
            yield _DEBUG, f"Exception while parsing: {name}"
        case "branch":
            yield _TRACE, f"{name} Condition is {'true' if detail['taken'] else 'false'}"
        case "table":
            yield from _table(event)
        case "action":
            yield _TRACE, f"Action {name}"
        case "read":
            yield _TRACE, f"Read register '{name}' at index {detail['index']} read value {detail['value']}"
        case "write":
            yield _TRACE, f"Wrote register '{name}' at index {detail['index']} with value {detail['value']}"
        case "count":
            yield _TRACE, f"Updated counter '{name}' at index {detail['index']}"
        case "meter":
            yield _TRACE, f"Updated meter '{name}' at index {detail['index']}, color {detail['colour']}"
        case "skipped":
            yield _DEBUG, f"Attempted to use '{name}' at out-of-bounds index {detail['index']}"
        case _:
            yield _TRACE, f"Primitive {name}"
    yield from _within(event)


def _within(event: Event) -> Iterator[tuple[str, str]]:
    for inner in event.events:
        yield from _event(inner)


def _table(event: Event) -> Iterator[tuple[str, str]]:
    detail, name = event.detail, event.name
    yield _TRACE, f"Applying table '{name}'"
    keys = "".join(f"\n* {key:{_KEY_WIDTH}}: {_hex(value)}" for key, value in detail["key"].items())
    yield _DEBUG, f"Looking up key:{keys}"
    yield _DEBUG, f"Table '{name}': {'hit' if detail['hit'] else 'miss'}"
    if detail["action"] is None:
        return
    data = "".join(f"{_hex(value)}," for value in detail.get("data", {}).values())
    yield _DEBUG, f"Action entry is {detail['action']} - {data}"
    yield _TRACE, f"Action {detail['action']}"


def _hex(value: Any) -> str:
    if not isinstance(value, int):
        return str(value)
    text = f"{abs(value):x}"
    return text.zfill(len(text) + len(text) % 2)
