# SPDX-License-Identifier: Apache-2.0
"""RoCEv2 frames: Ethernet, IPv4 with a DSCP, UDP, base transport header (IBTA, annex A17)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from offramp_base.wire.ethernet import ETHER_TYPE_IPV4, ipv4_checksum, wire_bytes

PAYLOAD_BYTES: Final = 4096
"""RoCEv2's largest MTU, in bytes."""
_ROCE_PORT: Final = 4791
_UDP: Final = 17
_WRITE_MIDDLE: Final = 0x07
_ACKNOWLEDGE: Final = 0x11
_ETHERNET, _IPV4, _UDP_BYTES, _BTH, _AETH, _ICRC = 14, 20, 8, 12, 4, 4
_BTH_AT: Final = _ETHERNET + _IPV4 + _UDP_BYTES
_OVERHEAD: Final = _BTH_AT + _BTH + _ICRC
_PSN_AT: Final = _BTH_AT + 9


def goodput(payload: int = PAYLOAD_BYTES) -> float:
    """Share of a line's bytes that is payload, in full packets."""
    return payload / full_packet_bytes(payload)


def full_packet_bytes(payload: int) -> int:
    """Bytes that a full packet occupies on a line."""
    return wire_bytes(payload + _OVERHEAD)


class NicAddress(NamedTuple):
    """Address of a NIC: one for each path to it, so that a sender chooses the path by the destination."""

    nic: int
    path: int = 0

    @property
    def mac(self) -> int:
        """A locally administered address."""
        return 0x0200_0000_0000 | self.path << 16 | self.nic

    @property
    def ipv4(self) -> int:
        """The host's IPv4 address, in 10.0.0.0/8."""
        return 0x0A00_0000 | self.path << 16 | self.nic


class ReceivedFrame(NamedTuple):
    """The fields of a frame that a host reads.

    Attributes:
        pair: queue pair, one for each flow.
        sequence: sequence of the packet, or of the packet that an acknowledgement answers.
        received: packets from the first on without a gap; None: the frame carries data.
    """

    pair: int
    sequence: int
    received: int | None


@dataclass(frozen=True, slots=True)
class FlowFrames:
    """The frames of one flow; between two packets only the sequence number differs."""

    head: bytes
    tail: bytes
    last: bytes

    @classmethod
    def data(
        cls, source: NicAddress, sink: NicAddress, dscp: int, pair: int, payload: int, last_payload: int
    ) -> FlowFrames:
        """Full packets of ``payload`` bytes and a last one."""
        head, last_head = (_head(source, sink, dscp, _WRITE_MIDDLE, pair, size) for size in (payload, last_payload))
        return cls(head[:_PSN_AT], bytes(payload + _ICRC), last_head[:_PSN_AT] + bytes(3 + last_payload + _ICRC))

    def packet(self, sequence: int) -> bytes:
        """A full packet."""
        return self.head + sequence.to_bytes(3, "big") + self.tail

    def last_packet(self, sequence: int) -> bytes:
        """The last packet, which may be shorter."""
        return self.last[:_PSN_AT] + sequence.to_bytes(3, "big") + self.last[_PSN_AT + 3 :]


def acknowledgement(head: bytes, sequence: int, received: int) -> bytes:
    """The acknowledgement of a packet; ``head`` is from :func:`acknowledgement_head`."""
    return head + sequence.to_bytes(3, "big") + received.to_bytes(4, "big") + bytes(_ICRC)


def acknowledgement_head(source: NicAddress, sink: NicAddress, dscp: int, pair: int) -> bytes:
    """The part that all acknowledgements of a flow share."""
    return _head(source, sink, dscp, _ACKNOWLEDGE, pair, _AETH)[:_PSN_AT]


def parse(frame: bytes) -> ReceivedFrame:
    """Read a frame."""
    pair = int.from_bytes(frame[_BTH_AT + 5 : _BTH_AT + 8], "big")
    sequence = int.from_bytes(frame[_PSN_AT : _PSN_AT + 3], "big")
    if frame[_BTH_AT] != _ACKNOWLEDGE:
        return ReceivedFrame(pair, sequence, None)
    # The upper byte of AETH is the syndrome, 0 for a positive acknowledgement.
    return ReceivedFrame(pair, sequence, int.from_bytes(frame[_PSN_AT + 3 : _PSN_AT + 7], "big"))


def _head(source: NicAddress, sink: NicAddress, dscp: int, opcode: int, pair: int, payload: int) -> bytes:
    """Everything before the payload, with sequence number 0."""
    length = _IPV4 + _UDP_BYTES + _BTH + payload + _ICRC
    ethernet = sink.mac.to_bytes(6, "big") + source.mac.to_bytes(6, "big") + ETHER_TYPE_IPV4.to_bytes(2, "big")
    ip = bytearray(_IPV4)
    ip[0], ip[1], ip[8], ip[9] = 0x45, dscp << 2, 64, _UDP
    ip[2:4] = length.to_bytes(2, "big")
    ip[12:16], ip[16:20] = source.ipv4.to_bytes(4, "big"), sink.ipv4.to_bytes(4, "big")
    ip[10:12] = ipv4_checksum(bytes(ip)).to_bytes(2, "big")
    udp = _ROCE_PORT.to_bytes(2, "big") * 2 + (length - _IPV4).to_bytes(2, "big") + bytes(2)
    bth = bytes((opcode, 0, 0xFF, 0xFF, 0)) + pair.to_bytes(3, "big") + bytes(4)
    return ethernet + bytes(ip) + udp + bth
