"""Packets between controller and CPU port (P4Runtime specification, section 16.1)."""

from __future__ import annotations

from typing import Any

from offramp.errors import OfframpError
from offramp.switch.p4rt.schema import v1
from offramp.switch.p4rt.values import decode, encode
from offramp_sim.p4.runtime.entities.base import invalid


class ControllerHeader:
    """A header that carries metadata before the packet; an empty one if the program declares none."""

    def __init__(self, info: Any, name: str) -> None:
        found = [h for h in info.controller_packet_metadata if h.preamble.name == name]
        self.name = name
        self.fields: list[tuple[int, int, str]] = [(f.id, f.bitwidth, f.name) for h in found for f in h.metadata]
        bits = sum(width for _, width, _ in self.fields)
        self.octets: int = (bits + 7) // 8
        self._padding = self.octets * 8 - bits

    def pack(self, metadata: Any) -> bytes:
        """The header bytes of PacketMetadata messages.

        Raises:
            RpcError: a field is missing, double, unknown or too wide.
        """
        given = {m.metadata_id: m.value for m in metadata}
        if len(given) != len(metadata):
            raise invalid(f"{self.name}: a metadata field is given twice")
        unknown = given.keys() - {number for number, _, _ in self.fields}
        if unknown:
            raise invalid(f"{self.name} has no metadata field with id {min(unknown)}")
        number = 0
        for identifier, width, name in self.fields:
            if identifier not in given:
                raise invalid(f"{self.name}: metadata {name} is missing")
            try:
                number = number << width | decode(given[identifier], width, f"{self.name}: metadata {name}")
            except OfframpError as error:
                raise invalid(str(error)) from None
        return (number << self._padding).to_bytes(self.octets, "big")

    def unpack(self, frame: bytes) -> tuple[list[Any], bytes] | None:
        """PacketMetadata messages and the rest of a frame; None if it is too short."""
        if len(frame) < self.octets:
            return None
        number = int.from_bytes(frame[: self.octets], "big") >> self._padding
        metadata = []
        for identifier, width, _ in reversed(self.fields):
            metadata.append(v1.PacketMetadata(metadata_id=identifier, value=encode(number & ((1 << width) - 1))))
            number >>= width
        return metadata[::-1], frame[self.octets :]
