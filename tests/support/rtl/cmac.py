# SPDX-License-Identifier: Apache-2.0
"""A CMAC's user interface (AMD PG203): frames in as they cannot be held back, frames out as they must not pause."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import repeat
from typing import Any, Final, NamedTuple

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Event, FallingEdge

from offramp_sim.rtl.models.streams import forget

BEAT: Final = 64
USER_PS: Final = 3104
"""322 MHz, in whole picoseconds for both halves of a cycle."""
LEAST: Final = 60
MOST: Final = 1514
"""Bytes of frames without their check sequence."""
_BYTES_PER_CYCLE: Final = 100e9 / 8 * USER_PS * 1e-12
_OVERHEAD: Final = 4 + 8 + 12
"""Bytes of check sequence, preamble and gap."""


class Arrival(NamedTuple):
    """A frame that comes: whether the CMAC says that it is bad, and the byte at which the link is reset, if any."""

    frame: bytes
    bad: bool = False
    cut_at: int | None = None


class CmacPins:
    """The far side of ``rx_axis`` and ``tx_axis``, and of the clock and the reset of a card or of ``cmac_frames``.

    ``frames`` are those that came from the card. Its beats are looked at in the middle of a cycle. Those that come have
    no value in cycles without a beat.

    Args:
        dut: has the CMAC's user interface.
        clock_ns: period of ``clk``.
        pause: cycles in which the CMAC takes no beat.
        idle: cycles in which it gives none, though a frame is under way.
        paced: whether frames come at the line's pace, else a beat in every cycle.
    """

    def __init__(
        self,
        dut: Any,
        clock_ns: float = 4,
        *,
        pause: Iterator[bool] | None = None,
        idle: Iterator[bool] | None = None,
        paced: bool = False,
    ) -> None:
        self.dut, self.paced = dut, paced
        self._pause, self._idle = pause or repeat(False), idle or repeat(False)
        self._arrivals: deque[Arrival] = deque()
        self._busy = False
        self.frames: list[bytes] = []
        self.came = Event()
        for name in ("rst", "rx_cut", "rx_axis_tvalid", "tx_axis_tready"):
            getattr(dut, name).value = 0
        self.dut.rst.value = 1
        Clock(dut.clk, round(clock_ns * 1000), unit="ps").start()
        Clock(dut.usr_clk, USER_PS, unit="ps").start()
        cocotb.start_soon(self._give())
        cocotb.start_soon(self._take())

    async def reset(self) -> None:
        """Hold reset as long as both clocks need it."""
        for clock in (self.dut.clk, self.dut.usr_clk):
            await ClockCycles(clock, 16)
        self.dut.rst.value = 0
        for clock in (self.dut.clk, self.dut.usr_clk):
            await ClockCycles(clock, 16)

    def send(self, frame: bytes, *, bad: bool = False, cut_at: int | None = None) -> None:
        """Queue a frame without check sequence."""
        self._arrivals.append(Arrival(frame, bad, cut_at))

    async def sent(self) -> None:
        """Wait until everything that is queued has come to the card."""
        while self._arrivals or self._busy:
            await FallingEdge(self.dut.usr_clk)

    async def next(self) -> bytes:
        """The next frame that the card sends."""
        while not self.frames:
            self.came.clear()
            await self.came.wait()
        return self.frames.pop(0)

    async def _give(self) -> None:
        dut, owed = self.dut, 0.0
        await FallingEdge(dut.usr_clk)
        while True:
            if not self._arrivals or dut.rst.value == 1:
                self._busy = False
                self._rest()
                owed = 0.0
                await FallingEdge(dut.usr_clk)
                continue
            self._busy = True
            arrival = self._arrivals.popleft()
            owed += len(arrival.frame) + _OVERHEAD - await self._frame(arrival) * _BYTES_PER_CYCLE
            while self.paced and owed > 0:
                self._rest()
                await FallingEdge(dut.usr_clk)
                owed -= _BYTES_PER_CYCLE

    async def _frame(self, arrival: Arrival) -> int:
        """Give a frame's beats; how many cycles that took."""
        dut, cycles = self.dut, 0
        frame = arrival.frame if arrival.cut_at is None else arrival.frame[: arrival.cut_at]
        for at in range(0, len(frame), BEAT):
            while next(self._idle):
                self._rest()
                await FallingEdge(dut.usr_clk)
                cycles += 1
            beat = frame[at : at + BEAT]
            last = at + BEAT >= len(frame) and arrival.cut_at is None
            dut.rx_axis_tdata.value = int.from_bytes(beat, "little")
            dut.rx_axis_tkeep.value = (1 << len(beat)) - 1
            dut.rx_axis_tlast.value = last
            dut.rx_axis_tuser.value = last and arrival.bad
            dut.rx_axis_tvalid.value = 1
            await FallingEdge(dut.usr_clk)
            cycles += 1
        if arrival.cut_at is not None:
            self._rest()
            dut.rx_cut.value = 1
            await FallingEdge(dut.usr_clk)
            dut.rx_cut.value = 0
            cycles += 1
        return cycles

    def _rest(self) -> None:
        """Give no beat in this cycle."""
        self.dut.rx_axis_tvalid.value = 0
        forget(*(getattr(self.dut, f"rx_axis_{name}") for name in ("tdata", "tkeep", "tlast", "tuser")))

    async def _take(self) -> None:
        """Take beats in cycles without a pause; a frame that has begun goes on in every cycle."""
        dut, frame = self.dut, bytearray()
        offered: tuple[int, ...] | None = None
        while True:
            await FallingEdge(dut.usr_clk)
            if dut.rst.value == 1:
                continue
            ready = not next(self._pause)
            dut.tx_axis_tready.value = int(ready)
            if dut.tx_axis_tvalid.value != 1:
                assert not frame, f"nothing behind {len(frame)} bytes: an underflow"
                assert offered is None, "a beat was taken back"
                continue
            beat = tuple(int(getattr(dut, f"tx_axis_{name}").value) for name in ("tdata", "tkeep", "tlast", "tuser"))
            assert offered in (None, beat), "a beat has changed while it waited"
            offered = None if ready else beat
            if ready:
                self._beat(frame, *beat)

    def _beat(self, frame: bytearray, data: int, keep: int, last: int, user: int) -> None:
        count = keep.bit_length()
        assert keep == (1 << count) - 1, "bytes are missing in a beat"
        assert count == BEAT or (last and count), "a beat is not full"
        assert not user
        frame += data.to_bytes(BEAT, "little")[:count]
        if last:
            assert LEAST <= len(frame) <= MOST
            self.frames.append(bytes(frame))
            self.came.set()
            frame.clear()
