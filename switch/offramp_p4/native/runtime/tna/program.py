# SPDX-License-Identifier: Apache-2.0
"""Functions that a compiled TNA program supplies, and fields in which each gress leaves its results for the chip.

The memory of every gress begins alike: data of a mirror header, data of a resubmission, then these fields.
"""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Bytes, Memory, PacketScalar, supplied
from offramp_p4.native.runtime.context import SwitchMemory

MIRROR_DATA: Final = 0
"""Offset of the header of a mirrored packet."""
MIRROR_BYTES: Final = 32
RESUBMIT_DATA: Final = MIRROR_DATA + MIRROR_BYTES
"""Offset of the data of a resubmission."""
RESUBMIT_BYTES: Final = 24
HEAD_BYTES: Final = RESUBMIT_DATA + RESUBMIT_BYTES

WIRE_LENGTH: Final = PacketScalar("wire_length")  # bytes of the frame as counts of bytes have it

# Requests of a deparser.
MIRROR: Final = PacketScalar("mirror")  # 1 if it does
MIRROR_SESSION: Final = PacketScalar("mirror_session")
MIRROR_SIZE: Final = PacketScalar("mirror_size")
RESUBMIT: Final = PacketScalar("resubmit")
RESUBMIT_SIZE: Final = PacketScalar("resubmit_size")

# Fields that the chip reads after a gress; after egress only the first two.
PARSER_ERROR: Final = PacketScalar("parser_err")
DROP: Final = PacketScalar("drop_ctl")
PORT: Final = PacketScalar("ucast_egress_port")
BYPASS: Final = PacketScalar("bypass_egress")
TO_CPU: Final = PacketScalar("copy_to_cpu")
CPU_COS: Final = PacketScalar("icos_for_copy_to_cpu")
COS: Final = PacketScalar("ingress_cos")
QUEUE: Final = PacketScalar("qid")
GROUP_A: Final = PacketScalar("mcast_grp_a")
GROUP_B: Final = PacketScalar("mcast_grp_b")
RID: Final = PacketScalar("rid")
EXCLUSION_1: Final = PacketScalar("level1_exclusion_id")
EXCLUSION_2: Final = PacketScalar("level2_exclusion_id")
HASH_1: Final = PacketScalar("level1_mcast_hash")
HASH_2: Final = PacketScalar("level2_mcast_hash")

REQUESTS: Final = (WIRE_LENGTH, MIRROR, MIRROR_SESSION, MIRROR_SIZE, RESUBMIT, RESUBMIT_SIZE, PARSER_ERROR)
TRAFFIC_MANAGER: Final = (
    PORT,
    BYPASS,
    TO_CPU,
    CPU_COS,
    COS,
    QUEUE,
    GROUP_A,
    GROUP_B,
    RID,
    EXCLUSION_1,
    EXCLUSION_2,
    HASH_1,
    HASH_2,
)


@supplied
def ingress_front() -> int:
    """Bytes in front of a packet in ingress: the intrinsic metadata and the port's data."""
    raise NotImplementedError


@supplied
def egress_front() -> int:
    """Bytes in front of a packet in egress."""
    raise NotImplementedError


@supplied
def write_ingress_header(into: Bytes, resubmitted: int, port: int, time_ns: int) -> int:
    """Write the intrinsic metadata of ingress; returns their size in bytes."""
    raise NotImplementedError


@supplied
def write_egress_header(
    into: Bytes,
    port: int,
    enqueued_ns: int,
    found_cells: int,
    waited_ns: int,
    left_cells: int,
    rid: int,
    first: int,
    queue: int,
    cos: int,
    length: int,
) -> int:
    """Write the intrinsic metadata of egress; returns their size in bytes."""
    raise NotImplementedError


@supplied
def deliver(ctx: SwitchMemory, size: int, port: int, rid: int, first: int, queue: int, cos: int, bypass: int) -> None:
    """Send a copy of the held packet on its way to egress."""
    raise NotImplementedError


@supplied
def run_ingress(ctx: SwitchMemory, m: Memory, pipe: int, length: int, wire_length: int, channel: int) -> int:
    """Run parser, control and deparser of a pipe; returns DONE, FAULTED if the parser drops it, or CHECK_FAILED."""
    raise NotImplementedError


@supplied
def run_egress(ctx: SwitchMemory, m: Memory, pipe: int, length: int, wire_length: int, channel: int) -> int:
    """Run parser, control and deparser of egress; see :func:`run_ingress`."""
    raise NotImplementedError
