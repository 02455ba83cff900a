# SPDX-License-Identifier: Apache-2.0
"""Functions that a compiled PSA or PNA program supplies, and fields in which its controls leave their results."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Memory, PacketScalar, supplied
from offramp_p4.native.runtime.context import SwitchMemory

# Paths of packets, with the numbers of PSA_PacketPath_t.
NORMAL: Final = 0
UNICAST: Final = 1
MULTICAST: Final = 2
CLONE_I2E: Final = 3
CLONE_E2E: Final = 4
RESUBMITTED: Final = 5
RECIRCULATED: Final = 6

PARSER_ERROR: Final = PacketScalar("parser_error")

# What is read behind PSA's ingress; of egress only the first three.
DROP: Final = PacketScalar("drop")
CLONE: Final = PacketScalar("clone")
SESSION: Final = PacketScalar("clone_session_id")
RESUBMIT: Final = PacketScalar("resubmit")
GROUP: Final = PacketScalar("multicast_group")
PORT: Final = PacketScalar("egress_port")
COS: Final = PacketScalar("class_of_service")

EGRESS_RESULTS: Final = (DROP, CLONE, SESSION)
INGRESS_RESULTS: Final = (*EGRESS_RESULTS, RESUBMIT, GROUP, PORT, COS)

# What is read behind PNA's deparser: PORT and COS, too.
SENT: Final = PacketScalar("sent")  # it has a destination, PORT
AGAIN: Final = PacketScalar("again")  # it is to recirculate
DECRYPT: Final = PacketScalar("decrypt")
PASSES: Final = PacketScalar("passes")  # how many it has made
CARD_RESULTS: Final = (PORT, COS, SENT, AGAIN, DECRYPT, PASSES)


@supplied
def enter(ctx: SwitchMemory, length: int, port: int, path: int, carried: int) -> None:
    """One pass from the parser to the copies that wait; ``carried`` as of :func:`run_ingress`."""
    raise NotImplementedError


@supplied
def leave(ctx: SwitchMemory, length: int, port: int, path: int, carried: int, instance: int, cos: int) -> None:
    """The way of one copy to the wire; its frame is the one that is parsed."""
    raise NotImplementedError


@supplied
def destination(ctx: SwitchMemory, port: int) -> int:
    """The number that queues know the port of a copy by; -1: there is no such port."""
    raise NotImplementedError


@supplied
def run_main(ctx: SwitchMemory, m: Memory, length: int, port: int, from_host: int, passes: int) -> int:
    """Run parser, controls and deparser of a PNA program on a frame; DONE or CHECK_FAILED."""
    raise NotImplementedError


@supplied
def send(ctx: SwitchMemory, m: Memory, port: int, start: int) -> None:
    """Send what stands behind ``start`` bytes of OUT to a port; it may stay there."""
    raise NotImplementedError


@supplied
def run_ingress(
    ctx: SwitchMemory, m: Memory, length: int, port: int, path: int, carried: int, instance: int, cos: int
) -> int:
    """Run parser, control and deparser of ingress on a frame; DONE or CHECK_FAILED.

    ``carried`` is the address of the metadata that the packet brings by its path. The last two are not used.
    """
    raise NotImplementedError


@supplied
def run_egress(
    ctx: SwitchMemory, m: Memory, length: int, port: int, path: int, carried: int, instance: int, cos: int
) -> int:
    """Run parser, control and deparser of egress on a frame; DONE or CHECK_FAILED."""
    raise NotImplementedError


@supplied
def carried_at(path: int) -> int:
    """Offset in bytes of a path's metadata in the memory of the half that has filled them in."""
    raise NotImplementedError


@supplied
def carried_size(path: int) -> int:
    """Bytes of a path's metadata."""
    raise NotImplementedError


@supplied
def place(ctx: SwitchMemory, m: Memory, path: int, port: int, instance: int, cos: int, length: int) -> int:
    """Have a copy wait for egress: room for its frame, which the caller writes at once; 0 if there is none."""
    raise NotImplementedError
