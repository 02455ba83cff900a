# SPDX-License-Identifier: Apache-2.0
"""The way of a packet through a PNA card: main parser, pre-control, main control, main deparser.

Two versions of the architecture are told apart by what a program declares: that of p4c's back end for DPDK, with
directions, pass numbers and a pre-control, and that of bmv2's pna_nic. As in DPDK the pre-control comes behind the
main parser, and a mirror is a copy of the packet as the deparser leaves it. A packet that nothing has sent is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from offramp_p4 import ir
from offramp_p4.portable.pipeline import PortableArrival, PortableCopy, PortablePipeline
from offramp_p4.portable.requests import PacketRequests
from offramp_p4.source import Unsupported
from offramp_p4.types import Enum

if TYPE_CHECKING:
    from offramp_p4.engine.layout import Memory
    from offramp_p4.engine.walk import Block
    from offramp_p4.portable.target import PortableTarget
    from offramp_p4.portable.thread import Signature
    from offramp_p4.tm.stages import Emit

_PARSER: Final[Signature] = ("", "headers", "user", "parser_in")
_PRE: Final[Signature] = ("headers", "user", "pre_in", "pre_out")
_CONTROL: Final[Signature] = ("headers", "user", "in", "out")
_DEPARSER: Final[Signature] = ("", "headers", "user", "out")
_MASK64: Final = (1 << 64) - 1
MIRROR: Final = "mirror"
"""The path by which a mirror came to the wire; PNA has no name for it."""
_PASSES: Final = 8
"""Pass numbers have three bits."""


class PnaPipeline(PortablePipeline):
    """A compiled PNA program.

    Args:
        host_ports: ports towards the host; packets from all others come from the network.

    Raises:
        Unsupported: the program uses what this card does not execute.
    """

    def __init__(self, program: ir.Program, *, host_ports: Iterable[int] = (), **options: Any) -> None:
        super().__init__(program, **options)
        self._host_ports = frozenset(host_ports)
        self._requests: PacketRequests
        self._has_pre = "pre_control" in program.main.args
        self._main = thread = self._thread(blocks_of(program), self._add_requests)
        self._error, self._timestamp = thread.field("in", "parser_error"), thread.field("in", "timestamp")
        self._cos = thread.field("out", "class_of_service")
        roles = ["parser_in", "in", *(["pre_in"] if self._has_pre else [])]
        names = ("input_port", "direction", "pass", "loopedback") if self._has_pre else ("input_port", "recirculated")
        self._metadata = {name: [thread.field(role, name) for role in roles] for name in names}
        if self._has_pre:
            self._pre_error, self._decrypt = thread.field("pre_in", "parser_error"), thread.field("pre_out", "decrypt")
        self._directions = directions(program) if self._has_pre else (0, 0)

    def _add_requests(self, target: PortableTarget) -> dict[tuple[str, str], Any]:
        self._requests = PacketRequests(target, self._host_ports)
        return self._requests.builders()

    def arrival(self, port: int, frame: bytes) -> PortableArrival:
        """A packet from outside."""
        return PortableArrival(frame, self._shown(port), "")

    def _enter(self, arrival: PortableArrival) -> None:
        thread, requests = self._main, self._requests
        m = thread.begin(arrival.frame)
        self._tell(m, arrival)
        m[self._error] = code = thread.parse(m)
        self.stats.parse_errors += bool(code)
        m[self._timestamp] = self._clock() & _MASK64
        if self._has_pre:
            m[self._pre_error] = code
            thread.control(m, 0)
            if m[self._decrypt]:  # there is nothing here that could
                self._drop("nothing here decrypts")
                return
        thread.control(m, -1)
        frame = thread.deparse(m)
        self._notify(m, thread.target.digests)
        for session in requests.mirrors(m):
            self._clone(session, frame, MIRROR, [])
        port = requests.destination(m)
        if requests.recirculated(m):
            self.stats.recirculations += 1
            again = PortableArrival(frame, arrival.port, "", None, arrival.passes + 1, recirculated=True)
            self.waiting.append(again)
        elif port is None:
            self._drop("it was sent nowhere, or dropped")
        else:
            self._send_copies([PortableCopy(frame, "", port, m[self._cos])])

    def _tell(self, m: Memory, arrival: PortableArrival) -> None:
        """Write the packet's metadata for the parser and the controls."""
        values = {
            "input_port": arrival.port,
            "direction": self._directions[arrival.port in self._host_ports],
            "pass": arrival.passes % _PASSES,
            "loopedback": 0,
            "recirculated": int(arrival.recirculated),
        }
        for name, cells in self._metadata.items():
            for cell in cells:
                m[cell] = values[name]

    def _leave(self, copy: PortableCopy, port: int, emit: Emit) -> None:
        self.stats.packets_out += 1
        emit((port, copy.frame))


def blocks_of(program: ir.Program) -> list[tuple[Block, Signature]]:
    """Main parser, pre-control where there is one, main control and main deparser.

    Raises:
        Unsupported: one is missing.
    """
    args = program.main.args
    wanted = [("main_parser", _PARSER), ("main_control", _CONTROL), ("main_deparser", _DEPARSER)]
    if "pre_control" in args:
        wanted.insert(1, ("pre_control", _PRE))
    blocks: list[tuple[Block, Signature]] = []
    for name, signature in wanted:
        block = args.get(name)
        if not isinstance(block, ir.ParserInstance | ir.ControlInstance):
            raise Unsupported(program.main.pos, f"{program.main.type_name} without {name}")
        blocks.append((block, signature))
    return blocks


def directions(program: ir.Program) -> tuple[int, int]:
    """The direction of what comes from the network, and from the host."""
    direction = program.types.get("PNA_Direction_t")
    if not isinstance(direction, Enum) or not {"NET_TO_HOST", "HOST_TO_NET"} <= set(direction.members):
        raise Unsupported(program.main.pos, "a PNA program without the directions of PNA_Direction_t")
    return direction.members["NET_TO_HOST"], direction.members["HOST_TO_NET"]
