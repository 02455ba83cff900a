# SPDX-License-Identifier: Apache-2.0
"""The trace of a packet: spans (passes and copies) that hold events in the order in which they happened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from offramp_p4.state import TableEntry

Cause = Literal[
    "arrival", "resubmit", "recirculate", "unicast", "multicast", "ingress clone", "egress clone", "mirror", "CPU"
]  # fmt: skip
_EXACT: Final = 1 << 53  # the largest integers that every reader of JSON keeps


@dataclass(slots=True)
class Event:
    """Something that happened: ``kind`` and ``name`` say what, ``detail`` has its values, ``events`` lie within.

    ========== ======================= =====================================================================
    kind       name                    detail
    ========== ======================= =====================================================================
    block      parser or control
    state      parser state
    extract    header                  fields
    emit       header                  (TNA; v1model where the sink is ``full``)
    select     state that comes next   values (those of the select)
    error      parser error
    branch     file:line of the if     taken
    table      table                   key, hit, entry (match, priority), action, data; member with a profile
    learn      table                   key, action, data of the entry that a packet has added
    action     action called directly
    read       register                index, value
    write      register                index, old, value
    count      counter                 index
    meter      meter                   index, colour
    value_set  value set               values, found
    skipped    register, counter, …    index (out of range)
    call       extern function         the arguments that have a plain value
    clone      session                 known (whether the session is configured)
    lost       port                    a copy to a port that is not there
    digest     digest                  values
    ========== ======================= =====================================================================
    """

    kind: str
    name: str
    detail: dict[str, Any] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    entry: TableEntry | None = None
    """The entry that a table's look-up has found, for those who read traces in this process."""

    def to_json(self) -> dict[str, Any]:
        """This event and those within."""
        fields: dict[str, Any] = {"event": self.kind, "name": self.name, **_plain(self.detail)}
        if self.events:
            fields["events"] = [event.to_json() for event in self.events]
        return fields


@dataclass(slots=True)
class Span:
    """One way through parser and ingress (a pass), or one copy on its way through egress.

    Attributes:
        id: position among the packet's spans; ``parent`` is that of the span that it comes from.
        port: the port where the pass came in, or to which the copy goes.
        instance: replication id of a copy.
        length: bytes at the start of a pass.
        output: (port, bytes) of what left.
        dropped: why the span ended without a successor.
    """

    id: int
    parent: int | None
    kind: Literal["pass", "copy"]
    cause: Cause
    port: int
    length: int | None = None
    instance: int | None = None
    events: list[Event] = field(default_factory=list)
    output: tuple[int, bytes] | None = None
    dropped: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Everything that is set."""
        fields: dict[str, Any] = {"id": self.id, "parent": self.parent, "kind": self.kind, "cause": self.cause}
        fields["port"] = self.port
        for name in ("length", "instance", "dropped"):
            if getattr(self, name) is not None:
                fields[name] = getattr(self, name)
        if self.output is not None:
            fields["output"] = {"port": self.output[0], "data": self.output[1].hex()}
        fields["events"] = [event.to_json() for event in self.events]
        return fields


@dataclass(slots=True)
class PacketTrace:
    """All that became of one packet. The first span is its arrival; a span comes after its parent."""

    number: int
    port: int
    frame: bytes
    spans: list[Span] = field(default_factory=list)

    def children(self, span: Span) -> Iterator[Span]:
        """The spans that come from ``span``."""
        return (other for other in self.spans if other.parent == span.id)

    def to_json(self) -> dict[str, Any]:
        """One line of a JSON-lines file; integers of 2^53 and more are strings such as ``0x1f…``."""
        fields: dict[str, Any] = {"packet": self.number, "port": self.port, "data": self.frame.hex()}
        fields["spans"] = [span.to_json() for span in self.spans]
        return fields


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, int) and not isinstance(value, bool) and not -_EXACT < value < _EXACT:
        return hex(value)
    return value
