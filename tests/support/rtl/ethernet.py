# SPDX-License-Identifier: Apache-2.0
"""Ethernet, IPv4 and UDP as a host sends them, and an FPGA card at its RGMII pins: for benches."""

from __future__ import annotations

import struct
import zlib
from typing import Any, Final

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Event, FallingEdge, RisingEdge, Timer
from cocotb.utils import get_sim_time
from cocotbext.eth import GmiiFrame, RgmiiSource

from offramp.fpga import udp
from offramp_sim.rtl.models.streams import forget

ADDRESS: Final = 0xC0A80132
CARD: Final = b"\x02\x4f" + ADDRESS.to_bytes(4, "big")
"""MAC address of the card."""
HOST: Final = b"\x02\x00\x00\x00\x00\x07"
HOST_IP: Final = 0xC0A80101
PHY_NS: Final = 8


def checksum(content: bytes) -> int:
    """The Internet's (RFC 1071)."""
    padded = content + b"\0" * (len(content) % 2)
    total: int = sum(struct.unpack(f">{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ethernet(payload: bytes, kind: int = 0x0800, to: bytes = CARD, source: bytes = HOST) -> bytes:
    """A frame without its check sequence, of 60 bytes or more."""
    return (to + source + struct.pack(">H", kind) + payload).ljust(60, b"\0")


def ipv4(payload: bytes, protocol: int, *, to: int = ADDRESS, source: int = HOST_IP, fragment: int = 0x4000) -> bytes:
    """A packet without options."""
    head = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(payload), 7, fragment, 64, protocol, 0, source, to)
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload


def datagram(
    payload: bytes, *, port: int = 40000, to_port: int = udp.PORT, to: int = ADDRESS, source: int = HOST_IP
) -> bytes:
    """A UDP datagram with its check sum."""
    head = struct.pack(">HHH", port, to_port, 8 + len(payload))
    pseudo = struct.pack(">IIHH", source, to, 17, 8 + len(payload))
    return head + struct.pack(">H", checksum(pseudo + head + b"\0\0" + payload) or 0xFFFF) + payload


def message(kind: udp.DatagramType, session: int, sequence: int = 0, packet: bytes = b"", target: int = 0) -> bytes:
    """A message of the request layer."""
    values = {"magic": udp.MAGIC, "kind": kind, "target": target, "session": session, "sequence": sequence}
    return udp.HEADER.encode(values) + packet


def udp_frame(payload: bytes, port: int = 40000) -> bytes:
    """A frame for the card's port."""
    return ethernet(ipv4(datagram(payload, port=port), 17))


def opened(frame: bytes) -> tuple[dict[str, int], bytes]:
    """The request layer's header and packet of a frame from the card, whose sums and addresses have to be right."""
    assert frame[:6] == HOST
    assert frame[6:12] == CARD
    assert frame[12:15] == b"\x08\x00\x45"
    total, fragment, protocol = (*struct.unpack_from(">H2xH", frame, 16), frame[23])
    assert checksum(frame[14:34]) == 0
    assert fragment == 0x4000
    assert protocol == 17
    assert struct.unpack_from(">II", frame, 26) == (ADDRESS, HOST_IP)
    length = struct.unpack_from(">H", frame, 38)[0]
    assert total == length + 20
    assert len(frame) == 14 + total
    assert checksum(frame[26:34] + struct.pack(">HH", 17, length) + frame[34:]) == 0
    content = frame[42:]
    names = ("magic", "kind", "target", "session", "sequence", "outcome", "window", "cycles", "lines")
    return dict(zip(names, struct.unpack_from(">HBBIIBBII", content), strict=True)), content[udp.HEADER.size :]


class _Control:
    """RGMII's receive control, for a source that writes it after the data, at one edge of the clock and the other.

    Data has no value between frames: what a PHY tells there (RGMII's in-band status) the card does not read.
    """

    def __init__(self, dut: Any) -> None:
        self._dut = dut
        self._low, self._idle = False, True

    def __len__(self) -> int:
        return 1

    def setimmediatevalue(self, value: int) -> None:
        """Write what it is before the clock runs."""
        self._dut.rgmii_rx_ctl.value = value

    @property
    def value(self) -> Any:
        """Its value."""
        return self._dut.rgmii_rx_ctl.value

    @value.setter
    def value(self, value: int) -> None:
        self._low = not self._low
        self._idle = not value if self._low else self._idle
        self._dut.rgmii_rx_ctl.value = value
        if self._idle:
            forget(self._dut.rgmii_rd)


class Pins:
    """A card at its RGMII pins: frames without check sequence in and out, and the wire's gaps.

    ``frames`` are those that came, ``gaps`` the idle bytes before each.
    """

    def __init__(self, dut: Any, clock_ns: float) -> None:
        self.dut = dut
        Clock(dut.clk, clock_ns, unit="ns").start()
        Clock(dut.rgmii_rxc, PHY_NS, unit="ns").start()
        self.source = RgmiiSource(dut.rgmii_rd, _Control(dut), dut.rgmii_rxc)
        self.source.log.setLevel("WARNING")
        self.frames: list[bytes] = []
        self.gaps: list[int] = []
        self.came = Event()
        cocotb.start_soon(self._receive())

    async def reset(self) -> None:
        """Hold reset as long as both clocks need it."""
        self.dut.rst.value = 1
        await ClockCycles(self.dut.clk, 16)
        self.dut.rst.value = 0
        await ClockCycles(self.dut.clk, 16)

    def send(self, frame: bytes) -> None:
        """Queue a frame with preamble and check sequence."""
        self.source.send_nowait(GmiiFrame.from_payload(frame))

    def send_raw(self, wire: bytes, errors: list[int] | None = None) -> None:
        """Queue bytes as they are, with the bytes at which the PHY tells of an error."""
        self.source.send_nowait(GmiiFrame(bytearray(wire), errors))

    async def _receive(self) -> None:
        """RGMII's transmit pins a quarter of a cycle behind the edges, as the PHY's delay has it."""
        dut, ended = self.dut, 0
        while True:
            await RisingEdge(dut.rgmii_tx_ctl)
            wire, begun = bytearray(), int(get_sim_time("ns"))
            while True:
                await Timer(2, "ns")
                if dut.rgmii_tx_ctl.value == 0:
                    break
                low = int(dut.rgmii_td.value)
                await FallingEdge(dut.rgmii_rxc)
                await Timer(2, "ns")
                assert dut.rgmii_tx_ctl.value == 1, "an error on the wire"
                wire.append(low | int(dut.rgmii_td.value) << 4)
                await RisingEdge(dut.rgmii_rxc)
            self._take(bytes(wire), (begun - ended) // PHY_NS)
            ended = int(get_sim_time("ns")) - 2

    def _take(self, wire: bytes, idle: int) -> None:
        assert wire[:8] == b"\x55" * 7 + b"\xd5"
        assert len(wire) >= 8 + 64
        assert zlib.crc32(wire[8:-4]) == int.from_bytes(wire[-4:], "little")
        self.frames.append(wire[8:-4])
        self.gaps.append(idle)
        self.came.set()

    async def next(self) -> bytes:
        """The next frame that comes."""
        while not self.frames:
            self.came.clear()
            await self.came.wait()
        return self.frames.pop(0)
