# SPDX-License-Identifier: Apache-2.0
"""The numbering of Tofino's ports, and the cells of its buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp_p4 import ir

PORTS_PER_PIPE: Final = 128
CHANNEL_PORTS: Final = 4
"""Ports of one channel; of several parsers, each takes the packets of some channels."""
CELL_BYTES: Final = 80
"""Bytes of a cell of the packet buffer; queue depths count in cells."""
CHECK_SEQUENCE_BYTES: Final = 4
"""Bytes of a frame's check sequence: packets in the switch lack it, byte counts and meters include it."""
RECIRCULATION_PORT: Final = 68
"""The recirculation port of every pipe, as its number within the pipe."""


def no_port(port: int, count: int) -> OfframpError:
    """The error of a packet that comes in at a port beyond the ``count`` that exist."""
    return OfframpError(f"port {port}: this Tofino has ports 0 to {count - 1} ({PORTS_PER_PIPE} per pipe)")


def port_metadata_bytes(program: ir.Program) -> int:
    """Bytes between the intrinsic metadata of ingress and the packet."""
    return 24 if "ghost_intrinsic_metadata_t" in program.types else 8
