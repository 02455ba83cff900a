# SPDX-License-Identifier: Apache-2.0
"""Order and loss of beats between two clocks of any ratio, under idle sources and slow sinks."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Combine, FallingEdge, ReadOnly, RisingEdge
from cocotb.utils import get_sim_time

from offramp_sim.rtl.bench import report, settings
from offramp_sim.rtl.models.streams import pauses


async def put(dut, beats, idle):
    """Offer the beats, each until it is taken."""
    for beat in beats:
        while next(idle):
            await FallingEdge(dut.in_clk)
        dut.in_data.value, dut.in_valid.value = beat, 1
        while True:
            await ReadOnly()
            taken = dut.in_ready.value == 1
            await FallingEdge(dut.in_clk)
            if taken:
                break
        dut.in_valid.value = 0


async def take(dut, count, block):
    """The first so many beats that come out."""
    beats = []
    while len(beats) < count:
        dut.out_ready.value = int(not next(block))
        await ReadOnly()
        if dut.out_valid.value == 1 and dut.out_ready.value == 1:
            beats.append(int(dut.out_data.value))
        await FallingEdge(dut.out_clk)
    dut.out_ready.value = 0
    return beats


@cocotb.test()
async def order_and_loss(dut):
    chosen = settings()
    dice = random.Random(chosen["seed"])
    beats = [dice.getrandbits(chosen["width"]) for _ in range(chosen["beats"])]
    dut.in_valid.value = dut.out_ready.value = 0
    dut.in_rst.value = dut.out_rst.value = 1
    Clock(dut.in_clk, chosen["in_ps"], unit="ps").start()
    Clock(dut.out_clk, chosen["out_ps"], unit="ps").start()
    await Combine(cocotb.start_soon(_cycles(dut.in_clk)), cocotb.start_soon(_cycles(dut.out_clk)))
    dut.in_rst.value = dut.out_rst.value = 0
    await FallingEdge(dut.in_clk)
    begun = get_sim_time("ps")
    cocotb.start_soon(put(dut, beats, pauses(chosen["seed"], chosen["idle"])))
    await FallingEdge(dut.out_clk)
    assert await take(dut, len(beats), pauses(chosen["seed"] + 1, chosen["pause"])) == beats
    report(slow_cycles=(get_sim_time("ps") - begun) / max(chosen["in_ps"], chosen["out_ps"]))
    await ClockCycles(dut.out_clk, 5)
    assert dut.out_valid.value == 0


async def _cycles(clock):
    for _ in range(8):
        await RisingEdge(clock)
