# SPDX-License-Identifier: Apache-2.0
"""A ``pynq.Device`` whose board is RTL in simulation: registers over a Unix socket, memory in a file that both map."""

from __future__ import annotations

import mmap
import socket
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pynq
from pynq.buffer import PynqBuffer
from pynq.metadata.runtime_metadata_parser import RuntimeMetadataParser
from pynqmetadata.frontends import Metadata

from offramp_pynq import registers
from offramp_pynq.cores import DRAM_BASE, TIMER, USUAL, dmas_at, registers_at
from offramp_pynq.handoff import Core, write_handoff

REQUEST = struct.Struct("<BQI")
ALIGNMENT = 4096
_DMA = {"c_include_mm2s": "1", "c_include_s2mm": "1", "c_include_mm2s_dre": "1", "c_include_s2mm_dre": "1"}
_DMA |= {"c_m_axi_mm2s_data_width": "128", "c_m_axi_s2mm_data_width": "128", "c_sg_length_width": "23"}
_DMA |= {"c_include_sg": "0", "c_micro_dma": "0"}


def cores(engines: Sequence[str]) -> dict[str, Core]:
    """The cores of an overlay with these engines."""
    cores_by_name: dict[str, Core] = {}
    for name in engines:
        kind = f"xilinx.com:module_ref:{name}_core:1.0"
        offsets = getattr(registers, f"{name.upper()}_REGS")
        cores_by_name[name] = Core(kind, "s_axil", registers_at(name), {}, offsets)
        dmas = dmas_at(name).items()
        cores_by_name |= {dma: Core("xilinx.com:ip:axi_dma:7.1", "S_AXI_LITE", address, _DMA) for dma, address in dmas}
    return cores_by_name


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

    def get_bitfile_metadata(self, _: str) -> Any:
        """The overlay's metadata that PYNQ reads from its .hwh file."""
        with tempfile.TemporaryDirectory() as folder:
            handoff = write_handoff(cores(self._engines), Path(folder) / "engines.hwh")
            parser = RuntimeMetadataParser(Metadata(input=str(handoff)))
        parser.clock_dict = {}  # PYNQ would set them, and here the simulator has the clock
        return parser

    def download(self, *_: Any, **__: Any) -> None:
        """The engines are there from the start."""
