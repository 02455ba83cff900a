# SPDX-License-Identifier: Apache-2.0
"""The compiled program's part: its blocks, its layout of packet memory, what joins ingress and egress."""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Bytes, Memory, PacketScalar, supplied
from offramp_p4.native.runtime.context import SwitchMemory

# How a block ends.
DONE: Final = 0
EXITED: Final = 1
FAULTED: Final = 2  # a parser error, whose number is in the field FAULT
CHECK_FAILED: Final = 3

# Of the engine.
CURSOR: Final = PacketScalar("cursor")  # bytes of the frame that the parser has consumed
LENGTH: Final = PacketScalar("length")  # bytes of the frame
GROWTH: Final = PacketScalar("growth")  # bytes of headers made valid minus bytes made invalid
WRITTEN: Final = PacketScalar("written")  # not 0 if headers may have been written since they were parsed
FAULT: Final = PacketScalar("fault")

# Of the architecture.
CLONE: Final = PacketScalar("clone")
CLONE_SESSION: Final = PacketScalar("clone_session")
CLONE_FIELDS: Final = PacketScalar("clone_fields")
RESUBMIT: Final = PacketScalar("resubmit")
RESUBMIT_FIELDS: Final = PacketScalar("resubmit_fields")
RECIRCULATE: Final = PacketScalar("recirculate")
RECIRCULATE_FIELDS: Final = PacketScalar("recirculate_fields")
TRUNCATE: Final = PacketScalar("truncate")
CHECKSUM_WRONG: Final = PacketScalar("checksum_wrong")

# Of standard_metadata.
INGRESS_PORT: Final = PacketScalar("ingress_port")
EGRESS_SPEC: Final = PacketScalar("egress_spec")
EGRESS_PORT: Final = PacketScalar("egress_port")
INSTANCE_TYPE: Final = PacketScalar("instance_type")
PACKET_LENGTH: Final = PacketScalar("packet_length")
INGRESS_TIME: Final = PacketScalar("ingress_global_timestamp")
EGRESS_TIME: Final = PacketScalar("egress_global_timestamp")
GROUP: Final = PacketScalar("mcast_grp")
REPLICATION_ID: Final = PacketScalar("egress_rid")
CHECKSUM_ERROR: Final = PacketScalar("checksum_error")
PARSER_ERROR: Final = PacketScalar("parser_error")
PRIORITY: Final = PacketScalar("priority")
ENQUEUE_TIME: Final = PacketScalar("enq_timestamp")
ENQUEUE_DEPTH: Final = PacketScalar("enq_qdepth")
DEQUEUE_TIME: Final = PacketScalar("deq_timedelta")
DEQUEUE_DEPTH: Final = PacketScalar("deq_qdepth")


@supplied
def parse(ctx: SwitchMemory, m: Memory) -> int:
    """Run the parser."""
    raise NotImplementedError


@supplied
def foresee_roots(ctx: SwitchMemory, frame: Bytes, length: int) -> None:
    """Hint the roots of the prefixes of a packet that comes later still."""
    raise NotImplementedError


@supplied
def foresee_slots(ctx: SwitchMemory, frame: Bytes, length: int) -> None:
    """Hint where the look-ups of a packet begin that comes later."""
    raise NotImplementedError


@supplied
def foresee_rows(ctx: SwitchMemory, frame: Bytes, length: int) -> None:
    """Hint what the entries of a packet do whose slots have been hinted."""
    raise NotImplementedError


@supplied
def verify(ctx: SwitchMemory, m: Memory) -> int:
    """Run the verification of checksums."""
    raise NotImplementedError


@supplied
def ingress(ctx: SwitchMemory, m: Memory) -> int:
    """Run the ingress control."""
    raise NotImplementedError


@supplied
def egress(ctx: SwitchMemory, m: Memory) -> int:
    """Run the egress control."""
    raise NotImplementedError


@supplied
def compute(ctx: SwitchMemory, m: Memory) -> int:
    """Run the computation of checksums."""
    raise NotImplementedError


@supplied
def deparse(ctx: SwitchMemory, m: Memory) -> int:
    """Run the deparser, which writes to the buffer OUT."""
    raise NotImplementedError


@supplied
def deliver(ctx: SwitchMemory, m: Memory, port: int) -> None:
    """Send a copy on its way from ingress or from cloning to egress."""
    raise NotImplementedError


@supplied
def deliver_only(ctx: SwitchMemory, m: Memory, port: int) -> None:
    """Like :func:`deliver`, for the last copy that a pass sends, which may have left egress when this returns."""
    raise NotImplementedError


@supplied
def send(ctx: SwitchMemory, m: Memory, port: int, start: int) -> None:
    """Send what egress has left, with the headers that begin at START in OUT."""
    raise NotImplementedError


@supplied
def start_memory(m: Memory) -> None:
    """Make the memory that of a fresh packet."""
    raise NotImplementedError


@supplied
def gives_back() -> int:
    """1 if the deparser makes of unchanged headers the bytes that the parser has read them from."""
    raise NotImplementedError


@supplied
def start_beside_headers(m: Memory) -> None:
    """Reset the memory to that of a fresh packet, except for its headers."""
    raise NotImplementedError


@supplied
def same_headers(m: Memory, others: Memory) -> int:
    """1 if all headers are the same."""
    raise NotImplementedError


@supplied
def duplicate_memory(into: Memory, m: Memory) -> None:
    """Copy all of a packet's memory."""
    raise NotImplementedError


@supplied
def duplicate_headers(into: Memory, m: Memory) -> None:
    """Copy the headers and how far the frame has been parsed."""
    raise NotImplementedError


@supplied
def reset_metadata(m: Memory) -> None:
    """User and standard metadata as in a fresh packet."""
    raise NotImplementedError


@supplied
def transfer_fields(into: Memory, m: Memory, fields: int) -> None:
    """Copy the fields of a field list."""
    raise NotImplementedError


@supplied
def fields_size(fields: int) -> int:
    """Bytes that the fields of a field list take when saved."""
    raise NotImplementedError


@supplied
def save_fields(into: Bytes, m: Memory, fields: int) -> None:
    """Write the fields of a field list one behind the other."""
    raise NotImplementedError


@supplied
def restore_fields(m: Memory, saved: Bytes, fields: int) -> None:
    """Restore the saved fields."""
    raise NotImplementedError
