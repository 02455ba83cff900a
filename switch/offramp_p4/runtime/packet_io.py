# SPDX-License-Identifier: Apache-2.0
"""Packets between controller and CPU port (P4Runtime specification, section 16.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import RpcError
from offramp_p4.runtime.entities.base import invalid
from offramp_p4.runtime.entities.matching import CodecOf
from offramp_p4.runtime.translation import TranslationCodec


@dataclass(frozen=True, slots=True)
class _MetadataField:
    id: int
    width: int
    name: str
    codec: TranslationCodec


class ControllerHeader:
    """A header that carries metadata before the packet; an empty one if the program declares none.

    ``width_of`` says how many bits a field has in the data plane.
    """

    def __init__(self, info: Any, name: str, codec_of: CodecOf, width_of: Callable[[Any], int]) -> None:
        headers = [h for h in info.controller_packet_metadata if h.preamble.name == name]
        self.name = name
        self._fields = [_MetadataField(f.id, width_of(f), f.name, codec_of(f)) for h in headers for f in h.metadata]
        bits = sum(f.width for f in self._fields)
        self.octets: int = (bits + 7) // 8
        self._padding = self.octets * 8 - bits

    def pack(self, metadata: Any) -> bytes:
        """The header bytes of PacketMetadata messages.

        Raises:
            RpcError: a field is missing, double, unknown or too wide.
        """
        values = {m.metadata_id: m.value for m in metadata}
        if len(values) != len(metadata):
            raise invalid(f"{self.name}: a metadata field is given twice")
        unknown = values.keys() - {f.id for f in self._fields}
        if unknown:
            raise invalid(f"{self.name} has no metadata field with id {min(unknown)}")
        number = 0
        for f in self._fields:
            what = f"{self.name}: metadata {f.name}"
            if f.id not in values:
                raise invalid(f"{what} is missing")
            try:
                value = f.codec.decode(values[f.id], what)
            except RpcError:
                raise
            except OfframpError as error:
                raise invalid(str(error)) from None
            number = number << f.width | value
        return (number << self._padding).to_bytes(self.octets, "big")

    def unpack(self, frame: bytes) -> tuple[list[Any], bytes] | None:
        """PacketMetadata messages and the rest of a frame; None if it is too short."""
        if len(frame) < self.octets:
            return None
        number = int.from_bytes(frame[: self.octets], "big") >> self._padding
        metadata = []
        for f in reversed(self._fields):
            value = f.codec.encode(number & ((1 << f.width) - 1))
            metadata.append(v1.PacketMetadata(metadata_id=f.id, value=value))
            number >>= f.width
        return metadata[::-1], frame[self.octets :]
