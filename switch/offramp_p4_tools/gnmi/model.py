# SPDX-License-Identifier: Apache-2.0
"""The model of a port: the leaves of OpenConfig's interface, and the source of each value.

Sources: openconfig-interfaces.yang and openconfig-p4rt.yang. A leaf without value does not exist for that port.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from offramp_p4.ports.panel import FrontPanel, GatedPort

Scalar = str | int | bool
INTERFACES: Final = "openconfig-interfaces"
P4RT: Final = "openconfig-p4rt"
MODELS: Final = {INTERFACES: "3.8.1", P4RT: "1.0.0"}
"""The modules whose leaves are here, with the versions that were read."""
ORGANIZATION: Final = "OpenConfig working group"
ROOT: Final = ("interfaces", "interface")
"""The names above an interface, whose key is :data:`KEY`."""
KEY: Final = "name"
_TYPE: Final = "iana-if-type:ethernetCsmacd"


class DataType(Enum):
    """Types of data as a GetRequest tells them apart: written, or read; and of the latter what has no written twin."""

    CONFIG = "config"
    STATE = "state"
    OPERATIONAL = "operational"


class JsonForm(Enum):
    """The form of a value in JSON (RFC 7951, section 6)."""

    TEXT = str
    NUMBER = int
    LONG = "a number of 64 bits, which JSON_IETF has as text"
    TRUTH = bool


Source = Callable[[FrontPanel, int], Scalar | None]


@dataclass(frozen=True)
class InterfaceLeaf:
    """One leaf of an interface.

    Attributes:
        names: below the interface, such as ``("state", "counters", "in-octets")``.
        value: value of a port, from the panel and its number.
        counts: whether it changes with packets, and is therefore sampled where the target may choose.
    """

    names: tuple[str, ...]
    kind: DataType
    form: JsonForm
    value: Source
    module: str = INTERFACES
    counts: bool = False

    @property
    def full(self) -> tuple[str, ...]:
        """The names from the root on."""
        return (*ROOT, *self.names)


def _status(up: bool) -> str:
    return "UP" if up else "DOWN"


def _counted(value: Callable[[GatedPort], int]) -> Source:
    """A count of a port whose frames pass this process; those of DPDK's have none of these."""

    def read(panel: FrontPanel, number: int) -> int | None:
        port = panel.ports[number]
        return value(port) if isinstance(port, GatedPort) else None

    return read


_BOTH: Final[dict[str, tuple[JsonForm, Source]]] = {
    "name": (JsonForm.TEXT, lambda _, number: str(number)),
    "type": (JsonForm.TEXT, lambda _, __: _TYPE),
    "description": (JsonForm.TEXT, lambda panel, number: panel.ports[number].name),
    "enabled": (JsonForm.TRUTH, lambda panel, number: panel.enabled(number)),
}
"""Leaves that are both in ``config`` and in ``state``."""
_STATE: Final[dict[str, tuple[JsonForm, Source]]] = {
    "ifindex": (JsonForm.NUMBER, lambda _, number: number),
    "admin-status": (JsonForm.TEXT, lambda panel, number: _status(panel.enabled(number))),
    "oper-status": (JsonForm.TEXT, lambda panel, number: _status(panel.up(number))),
    "last-change": (JsonForm.LONG, lambda panel, number: panel.change(number).at_ns),
}
_COUNTERS: Final[Mapping[str, Source]] = {
    "in-octets": _counted(lambda port: port.received_bytes),
    "in-pkts": lambda panel, number: panel.ports[number].stats.received + panel.ports[number].stats.malformed,
    "in-unicast-pkts": _counted(lambda port: port.received.unicast),
    "in-multicast-pkts": _counted(lambda port: port.received.multicast),
    "in-broadcast-pkts": _counted(lambda port: port.received.broadcast),
    "in-discards": lambda panel, number: panel.ports[number].stats.missed + _gated(panel, number, "received"),
    "in-errors": lambda panel, number: panel.ports[number].stats.malformed,
    "out-octets": _counted(lambda port: port.stats.sent_bytes),
    "out-pkts": lambda panel, number: panel.ports[number].stats.sent,
    "out-unicast-pkts": _counted(lambda port: port.sent.unicast),
    "out-multicast-pkts": _counted(lambda port: port.sent.multicast),
    "out-broadcast-pkts": _counted(lambda port: port.sent.broadcast),
    "out-discards": lambda panel, number: (
        panel.ports[number].stats.dropped - panel.ports[number].stats.unfit + _gated(panel, number, "sent")
    ),
    "out-errors": lambda panel, number: panel.ports[number].stats.unfit,
}
_TRANSITIONS: Final = ("interface-transitions", "carrier-transitions")
"""Names of the count of transitions, today's and that of older models."""


def _gated(panel: FrontPanel, number: int, way: str) -> int:
    """Frames of one direction that were dropped because the port was disabled."""
    port = panel.ports[number]
    if not isinstance(port, GatedPort):
        return 0
    return port.received.gated if way == "received" else port.sent.gated


_ID: Final[tuple[JsonForm, Source]] = (JsonForm.NUMBER, lambda _, number: number or None)
"""P4Runtime's number of the port; the model has no 0."""
LEAVES: Final = (
    InterfaceLeaf(("name",), DataType.CONFIG, *_BOTH["name"]),
    *(InterfaceLeaf(("config", name), DataType.CONFIG, *of) for name, of in _BOTH.items()),
    InterfaceLeaf(("config", "id"), DataType.CONFIG, *_ID, P4RT),
    *(InterfaceLeaf(("state", name), DataType.STATE, *of) for name, of in _BOTH.items()),
    InterfaceLeaf(("state", "id"), DataType.STATE, *_ID, P4RT),
    *(InterfaceLeaf(("state", name), DataType.OPERATIONAL, *of) for name, of in _STATE.items()),
    *(
        InterfaceLeaf(("state", "counters", name), DataType.OPERATIONAL, JsonForm.LONG, value, counts=True)
        for name, value in _COUNTERS.items()
    ),
    *(
        InterfaceLeaf(
            ("state", "counters", name),
            DataType.OPERATIONAL,
            JsonForm.LONG,
            lambda panel, number: panel.change(number).times,
        )
        for name in _TRANSITIONS
    ),
)
ENABLED: Final = next(leaf for leaf in LEAVES if leaf.names == ("config", "enabled"))
"""The only leaf of ``config`` that can be written."""
BY_NAMES: Final = {leaf.full: leaf for leaf in LEAVES}
CONTAINERS: Final = {full[:end] for full in BY_NAMES for end in range(len(full))}
"""The names from the root of everything that holds leaves, the root itself among them."""
