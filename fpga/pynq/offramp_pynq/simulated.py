# SPDX-License-Identifier: Apache-2.0
"""A ``pynq.Device`` whose board is RTL in simulation: registers over a Unix socket, memory in a file that both map."""

from __future__ import annotations

import mmap
import socket
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pynq
from pynq.buffer import PynqBuffer

from offramp_pynq.cores import DRAM_BASE, PAGE, TIMER, USUAL, dmas_at, registers_at

REQUEST = struct.Struct("<BQI")
ALIGNMENT = 4096
_DMA = {"c_include_mm2s": "1", "c_include_s2mm": "1", "c_include_mm2s_dre": "1", "c_include_s2mm_dre": "1"}
_DMA |= {"c_m_axi_mm2s_data_width": "128", "c_m_axi_s2mm_data_width": "128", "c_sg_length_width": "23"}
_DMA |= {"c_include_sg": "0", "c_micro_dma": "0"}


def cores(engines: Sequence[str]) -> dict[str, tuple[str, int, dict[str, str]]]:
    """Type, address and parameters of each core of an overlay with these engines, as a board's .hwh file says it."""
    found: dict[str, tuple[str, int, dict[str, str]]] = {}
    for name in engines:
        found[name] = (f"xilinx.com:module_ref:{name}:1.0", registers_at(name), {})
        found |= {dma: ("xilinx.com:ip:axi_dma:7.1", address, _DMA) for dma, address in dmas_at(name).items()}
    return found


class Metadata:
    """What PYNQ reads from a .hwh file."""

    def __init__(self, engines: Sequence[str]) -> None:
        self.ip_dict = {
            name: {
                "type": kind,
                "phys_addr": address,
                "addr_range": PAGE,
                "fullpath": name,
                "parameters": parameters,
                "interrupts": {},
                "gpio": {},
                "registers": {},
                "state": None,
                "mem_id": None,
                "memtype": "REGISTER",
                "driver": pynq.overlay.DefaultIP,
                "device": None,
            }
            for name, (kind, address, parameters) in cores(engines).items()
        }
        self.gpio_dict: dict[str, Any] = {}
        self.interrupt_controllers: dict[str, Any] = {}
        self.interrupt_pins: dict[str, Any] = {}
        self.hierarchy_dict: dict[str, Any] = {}
        self.mem_dict: dict[str, Any] = {}
        self.clock_dict: dict[str, Any] = {}
        self.systemgraph = None


class SimulatedDevice(pynq.Device):  # type: ignore[misc]
    """See the module. PYNQ's own drivers run on it unchanged."""

    def __init__(self, bus: socket.socket, dram: Path, engines: Sequence[str] = USUAL) -> None:
        super().__init__("offramp-simulated")
        self._engines = tuple(engines)
        self.capabilities = {"REGISTER_RW": True}
        self._bus = bus
        with dram.open("r+b") as file:
            self._dram = mmap.mmap(file.fileno(), 0)
        self._used = 0
        self.has_capability = lambda name: bool(self.capabilities.get(name))

    def _access(self, operation: str, address: int, value: int = 0) -> int:
        self._bus.sendall(REQUEST.pack(ord(operation), address, value))
        received = b""
        while len(received) < 4:
            more = self._bus.recv(4 - len(received))
            if not more:
                raise ConnectionError("the simulated board is gone")
            received += more
        return int.from_bytes(received, "little")

    def read_registers(self, address: int, length: int) -> bytes:
        """Whole words from ``address``."""
        return b"".join(self._access("R", address + at).to_bytes(4, "little") for at in range(0, length, 4))

    def write_registers(self, address: int, data: bytes) -> None:
        """Whole words to ``address``."""
        for at in range(0, len(data), 4):
            self._access("W", address + at, int.from_bytes(data[at : at + 4], "little"))

    def cycles(self) -> int:
        """The board's clock, modulo 2^32."""
        return self._access("R", TIMER)

    def allocate(self, shape: Any, dtype: Any, **_: Any) -> PynqBuffer:
        """A buffer in the board's memory; as long as the device lives.

        Raises:
            MemoryError: there is no more.
        """
        length = int(np.prod(shape)) * np.dtype(dtype).itemsize
        start = self._used
        if start + length > len(self._dram):
            raise MemoryError(f"{length} bytes: {len(self._dram) - start} of the board's memory are left")
        self._used = -(-(start + length) // ALIGNMENT) * ALIGNMENT
        return PynqBuffer(
            shape, dtype, buffer=self._dram, offset=start, device=self, device_address=DRAM_BASE + start, coherent=True
        )

    def get_bitfile_metadata(self, _: str) -> Metadata:
        """What the overlay has."""
        return Metadata(self._engines)

    def download(self, *_: Any, **__: Any) -> None:
        """The engines are there from the start."""
