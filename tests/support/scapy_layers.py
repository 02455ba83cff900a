# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN's headers as scapy layers, from the same field tables; scapy (GPL-2.0) is for tests alone."""

from __future__ import annotations

from typing import Any

from scapy.fields import BitField, FieldListField, SignedIntField
from scapy.layers.inet import IP
from scapy.packet import Packet, bind_layers

from offramp.switchgnn.wire import IP_PROTOCOL, LANES, SWITCHGNN, SwitchGnnPacketType
from offramp_base.wire.fields import HeaderFormat


def scapy_fields(header: HeaderFormat) -> list[Any]:
    """Scapy's description of ``header``: one BitField for each field."""
    return [BitField(field.name, 0, field.width) for field in header.fields]


def _payload_fields() -> list[Any]:
    zeros: Any = [0] * LANES
    return [FieldListField("lanes", zeros, SignedIntField("", 0), count_from=lambda _: LANES)]


class SwitchGNN(Packet):
    """The 16-byte header; RESEND and DATA are followed by :class:`SwitchGNNPayload`."""

    name = "SwitchGNN"
    fields_desc = scapy_fields(SWITCHGNN)

    def guess_payload_class(self, payload: bytes) -> Any:
        """The payload layer where the flags say that there is one."""
        kind = self.is_ack << 2 | self.is_fetch << 1 | self.resend
        if kind in (SwitchGnnPacketType.DATA, SwitchGnnPacketType.RESEND):
            return SwitchGNNPayload
        return Packet.guess_payload_class(self, payload)


class SwitchGNNPayload(Packet):
    """32 lanes of int32."""

    name = "SwitchGNN payload"
    fields_desc = _payload_fields()


bind_layers(IP, SwitchGNN, proto=IP_PROTOCOL)
