# SPDX-License-Identifier: Apache-2.0
"""Single SwitchGNN frames for the reference model, as plain bytes without vectorised code."""

from __future__ import annotations

from offramp.switch_packets import PREFIX_BYTES, SWITCH_IP, SWITCH_MAC
from offramp.switchgnn.telemetry import Disposition
from offramp.switchgnn.wire import (
    IP_PROTOCOL,
    SHORT_FRAME_BYTES,
    SWITCHGNN,
    SwitchGnnPacketType,
    frame_bytes,
    kind_of_flags,
)
from offramp_base.wire.ethernet import (
    BROADCAST_IP,
    BROADCAST_MAC,
    ETHER_TYPE_IPV4,
    ETHERNET,
    IPV4,
    ipv4_checksum,
)

Header = dict[str, int]


def classify(frame: bytes, most_segments: int) -> Header | Disposition:
    """The SwitchGNN header of a whole packet, or why a switch that takes ``most_segments`` drops the frame."""
    if len(frame) < ETHERNET.size:
        return Disposition.MALFORMED
    if ETHERNET.decode(frame)["ether_type"] != ETHER_TYPE_IPV4:
        return Disposition.FOREIGN
    if len(frame) < PREFIX_BYTES:
        return Disposition.MALFORMED
    ip = IPV4.decode(frame[ETHERNET.size :])
    if (ip["version"], ip["ihl"], ip["frag_offset"], ip["protocol"]) != (4, 5, 0, IP_PROTOCOL):
        return Disposition.FOREIGN
    if len(frame) < SHORT_FRAME_BYTES:
        return Disposition.MALFORMED
    header = SWITCHGNN.decode(frame[PREFIX_BYTES:])
    if kind_of(header) == SwitchGnnPacketType.DATA and (
        len(frame) < payload_end(header) or header["more"] >= most_segments
    ):
        return Disposition.MALFORMED
    return header


def payload_end(header: Header) -> int:
    """End of the payload of a packet that has one."""
    return frame_bytes(1 + header["more"])


def kind_of(header: Header) -> int:
    """A value of :class:`~offramp.switchgnn.wire.SwitchGnnPacketType`; no member's for meaningless flags."""
    return kind_of_flags(header["is_ack"], header["is_fetch"], header["resend"])


def reply(frame: bytes, header: Header, rest: bytes) -> bytes:
    """``frame`` from the switch to the host at the port, with another header and what follows it."""
    ip = IPV4.decode(frame[ETHERNET.size :])
    ip.update(src_addr=SWITCH_IP, dst_addr=BROADCAST_IP, header_checksum=0)
    ip["header_checksum"] = ipv4_checksum(IPV4.encode(ip))
    ethernet = {"dst_addr": BROADCAST_MAC, "src_addr": SWITCH_MAC, "ether_type": ETHER_TYPE_IPV4}
    return ETHERNET.encode(ethernet) + IPV4.encode(ip) + SWITCHGNN.encode(header) + rest
