# SPDX-License-Identifier: Apache-2.0
"""The card at its RGMII pins behind a TAP device: frames of the machine's own network stack in, the card's out.

Simulated time passes as fast as it can, and a file appears when the card is there. A bench ends when another one does.
"""

import os
from pathlib import Path

import cocotb
from cocotb.triggers import ClockCycles

from offramp_sim.rtl.bench import report, settings
from rtl.ethernet import Pins
from rtl.tap import BadWire, open_tap, wire_counts

STEP = 20
"""Cycles between looks at the TAP device."""


@cocotb.test()
async def card(dut):
    chosen = settings()
    tap, to_card, to_host = (
        open_tap(chosen["tap"]),
        BadWire(chosen["seed"], chosen["bad"]),
        BadWire(chosen["seed"] + 1, chosen["bad"]),
    )
    pins = Pins(dut, 40)
    await pins.reset()
    Path(chosen["ready"]).touch()
    while not Path(chosen["end"]).exists():
        try:
            while True:
                for frame in to_card.carry(os.read(tap, 2048)):
                    pins.send(frame.ljust(60, b"\0"))
        except BlockingIOError:
            pass
        await ClockCycles(dut.clk, STEP)
        while pins.frames:
            for frame in to_host.carry(pins.frames.pop(0)):
                os.write(tap, frame)
    report(
        **wire_counts(to_card, to_host),
        executed=int(dut.engines.counters.value) >> 32 * 12 & 0xFFFFFFFF,
        duplicate=int(dut.engines.counters.value) >> 32 * 13 & 0xFFFFFFFF,
    )
    os.close(tap)
