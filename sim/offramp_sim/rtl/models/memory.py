# SPDX-License-Identifier: Apache-2.0
"""Memory behind an AXI4 port: any latency, any number of bursts in flight, in order, with stalls from a seed.

``cocotbext.axi``'s memory answers one burst after the other; engines that hide a latency of 100 cycles need this one.
"""

from __future__ import annotations

import mmap
from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from offramp_sim.rtl.models.streams import forget_while_idle, pauses

OKAY, SLVERR, DECERR = 0, 2, 3


class AxiMemory:
    """Memory behind the read and write channels of ``dut`` with ``prefix``, at addresses from ``base``.

    Attributes:
        content: the bytes.
        violations: addresses of beats outside, and bursts over 4 KiB boundaries, in words; answered with DECERR.
        reads: beats read so far.
        fail: addresses whose beats are answered with SLVERR.
    """

    def __init__(
        self,
        dut: Any,
        prefix: str,
        size: int,
        *,
        base: int = 0,
        latency: int = 1,
        stall: float = 0.0,
        seed: int = 3,
        content: bytearray | mmap.mmap | None = None,
    ) -> None:
        """Make memory of ``size`` bytes, or ``content``; ``latency`` in cycles; stalled for a share of the time."""
        self.content = bytearray(size) if content is None else content
        self.base, self.latency = base, latency
        self.violations: list[str] = []
        self.fail: set[int] = set()
        self.reads = self.writes = self.in_flight = self.most_in_flight = 0
        self._dut, self._prefix = dut, prefix
        self._stall = stall
        self._seed = seed
        self._cycle = 0
        if self._has("arvalid"):
            self._reads: deque[tuple[int, int, int, bool]] = deque()  # due, address, id, last
            for name in ("arready", "rvalid", "rlast"):
                self._set(name, 0)
            forget_while_idle(dut, f"{prefix}_r")
            cocotb.start_soon(self._serve_reads())
        if self._has("awvalid"):
            for name in ("awready", "wready", "bvalid"):
                self._set(name, 0)
            forget_while_idle(dut, f"{prefix}_b")
            cocotb.start_soon(self._serve_writes())

    def _has(self, name: str) -> bool:
        return hasattr(self._dut, f"{self._prefix}_{name}")

    def _get(self, name: str, default: int = 0) -> int:
        return int(getattr(self._dut, f"{self._prefix}_{name}").value) if self._has(name) else default

    def _set(self, name: str, value: int) -> None:
        if self._has(name):
            getattr(self._dut, f"{self._prefix}_{name}").value = value

    def _width(self, name: str) -> int:
        return len(getattr(self._dut, f"{self._prefix}_{name}")) // 8

    def _inside(self, address: int, length: int) -> bool:
        return self.base <= address and address + length <= self.base + len(self.content)

    def _beats(self, channel: str) -> list[int]:
        """Addresses of a burst's beats, checked."""
        address, beats = self._get(f"{channel}addr"), self._get(f"{channel}len") + 1
        width = self._width("rdata" if channel == "ar" else "wdata")
        size = 1 << self._get(f"{channel}size", width.bit_length() - 1)
        first = address - address % size
        if address // 4096 != (first + beats * size - 1) // 4096:
            self.violations.append(f"{channel} burst of {beats} beats at {address:#x} crosses 4 KiB")
        return [address] + [first + size * beat for beat in range(1, beats)]

    async def _serve_reads(self) -> None:
        stalls = pauses(self._seed, self._stall)
        width = self._width("rdata")
        ready, valid = False, False
        while True:
            await RisingEdge(self._dut.clk)
            self._cycle += 1
            if int(self._dut.rst.value):
                self._reads.clear()
                ready = valid = False
                self._set("arready", 0)
                self._set("rvalid", 0)
                continue
            if ready and self._get("arvalid"):
                burst = self._beats("ar")
                due = self._cycle + self.latency - 1
                self._reads += [(due, at, self._get("arid"), at is burst[-1]) for at in burst]
            if valid and self._get("rready"):
                self._reads.popleft()
                self.reads += 1
                valid = False
            self.in_flight = len(self._reads)
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            ready = not next(stalls)
            self._set("arready", int(ready))
            if not valid and self._reads and self._reads[0][0] <= self._cycle and not next(stalls):
                valid = True
                self._offer(width)
            self._set("rvalid", int(valid))

    def _offer(self, width: int) -> None:
        _, at, name, last = self._reads[0]
        line = at - at % width
        inside = self._inside(line, width)
        if not inside:
            self.violations.append(f"read at {at:#x}")
        chunk = self.content[line - self.base : line - self.base + width] if inside else bytes(width)
        self._set("rdata", int.from_bytes(chunk, "little"))
        self._set("rresp", DECERR if not inside else SLVERR if at in self.fail else OKAY)
        self._set("rid", name)
        self._set("rlast", int(last))

    async def _serve_writes(self) -> None:
        stalls = pauses(self._seed + 1, self._stall)
        width = self._width("wdata")
        bursts: deque[tuple[list[int], int]] = deque()
        answers: deque[tuple[int, int, int]] = deque()  # due, id, response
        data: deque[tuple[int, int, bool]] = deque()
        awready = wready = bvalid = False
        response, cycle = OKAY, 0
        while True:
            await RisingEdge(self._dut.clk)
            cycle += 1
            if int(self._dut.rst.value):
                for queue in (bursts, answers, data):
                    queue.clear()
                awready = wready = bvalid = False
                for line in ("awready", "wready", "bvalid"):
                    self._set(line, 0)
                continue
            if awready and self._get("awvalid"):
                bursts.append((self._beats("aw"), self._get("awid")))
            if wready and self._get("wvalid"):
                data.append((self._get("wdata"), self._get("wstrb", (1 << width) - 1), bool(self._get("wlast"))))
            if bvalid and self._get("bready"):
                answers.popleft()
                bvalid = False
            while bursts and data:
                beats, name = bursts[0]
                response = max(response, self._store(beats.pop(0), *data[0][:2], width))
                if data.popleft()[2] != (not beats):
                    self.violations.append("wlast does not end its burst")
                if not beats:
                    answers.append((cycle + self.latency - 1, name, response))
                    bursts.popleft()
                    response = OKAY
            awready, wready = not next(stalls), not next(stalls)
            self._set("awready", int(awready))
            self._set("wready", int(wready))
            if not bvalid and answers and answers[0][0] <= cycle and not next(stalls):
                bvalid = True
                self._set("bid", answers[0][1])
                self._set("bresp", answers[0][2])
            self._set("bvalid", int(bvalid))

    def _store(self, at: int, word: int, strobe: int, width: int) -> int:
        line = at - at % width
        touched = [place for place in range(width) if strobe >> place & 1]
        if any(not self._inside(line + place, 1) for place in touched):
            self.violations.append(f"write at {at:#x}")
            return DECERR
        for place in touched:
            self.content[line + place - self.base] = word >> 8 * place & 0xFF
        self.writes += 1
        return SLVERR if at in self.fail else OKAY
