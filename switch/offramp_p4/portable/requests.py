# SPDX-License-Identifier: Apache-2.0
"""Requests of a PNA program to the card: where a packet goes, mirrors, another pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_p4 import ir
from offramp_p4.engine.core import argument
from offramp_p4.source import Unsupported
from offramp_p4.types import BOOL, Enum, strip

if TYPE_CHECKING:
    from offramp_p4.engine.generator import Builder, Generator
    from offramp_p4.engine.layout import Memory
    from offramp_p4.portable.target import PortableTarget


class PacketRequests:
    """The cells of one packet's requests; all are 0 at first.

    Attributes:
        host_ports: the ports towards the host; all others are of the network.
    """

    def __init__(self, target: PortableTarget, host_ports: frozenset[int]) -> None:
        self._destination, self._recirculate, self._mirrors = (target.layout.reserve() for _ in range(3))
        self.host_ports = host_ports

    def destination(self, m: Memory) -> int | None:
        """The port that the packet goes to; None: it is dropped."""
        targets = m[self._destination]
        return targets[0] if targets else None

    def recirculated(self, m: Memory) -> bool:
        """Whether the packet makes another pass, wherever it was sent."""
        return bool(m[self._recirculate])

    def mirrors(self, m: Memory) -> list[int]:
        """The mirror sessions asked for, in the order of their slots."""
        return [session for _, session in sorted(dict(m[self._mirrors] or ()).items())]

    def builders(self) -> dict[tuple[str, str], Builder]:
        """The builders of these externs."""
        return {
            ("", "drop_packet"): self._drop,
            ("", "send_to_port"): self._send,
            ("", "recirculate"): self._again,
            ("", "mirror_packet"): self._mirror,
            ("", "is_host_port"): lambda g, e: f"(1 if {self._from_host(g, e)} else 0)",
            ("", "is_net_port"): lambda g, e: f"(0 if {self._from_host(g, e)} else 1)",
            ("", "SelectByDirection"): _select,
        }

    def _from_host(self, g: Generator, e: ir.ExternCall) -> str:
        return f"{g.value(argument(e, 0))} in {g.bind(self.host_ports, 'host_ports')}"

    def _drop(self, g: Generator, e: ir.ExternCall) -> str:
        del e
        g.line(f"m[{self._destination}] = m[{self._recirculate}] = 0")
        return "None"

    def _send(self, g: Generator, e: ir.ExternCall) -> str:
        g.line(f"m[{self._destination}] = ({g.value(argument(e, 0))},)")
        return "None"

    def _again(self, g: Generator, e: ir.ExternCall) -> str:
        del e
        g.line(f"m[{self._recirculate}] = 1")
        return "None"

    def _mirror(self, g: Generator, e: ir.ExternCall) -> str:
        cell = self._mirrors
        pair = f"({g.value(argument(e, 0))}, {g.value(argument(e, 1))})"
        g.line(f"m[{cell}] = (*(m[{cell}] or ()), {pair})")
        return "None"


def _select(g: Generator, e: ir.ExternCall) -> str:
    direction, from_net, from_host = (argument(e, i) for i in range(3))
    t = strip(direction.type)
    if t == BOOL:
        test = g.condition(direction)
    elif isinstance(t, Enum) and "NET_TO_HOST" in t.members:
        test = f"{g.value(direction)} == {t.members['NET_TO_HOST']}"
    else:
        raise Unsupported(e.pos, f"{e.method} by {t}, which is not a direction")
    return f"({g.value(from_net)} if {test} else {g.value(from_host)})"
