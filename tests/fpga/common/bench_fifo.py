# SPDX-License-Identifier: Apache-2.0
"""Order and loss of beats in whatever has in_* and out_* ports, under idle sources and slow sinks."""

import random

import cocotb
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge

from offramp_sim.rtl.bench import report, settings
from offramp_sim.rtl.models.clocking import start
from offramp_sim.rtl.models.streams import pauses


@cocotb.test()
async def order_and_loss(dut):
    chosen = settings()
    width, beats = chosen["width"], chosen["beats"]
    dice = random.Random(chosen["seed"])
    sent = [dice.getrandbits(width) for _ in range(beats)]
    got = []
    idle, block = pauses(chosen["seed"], chosen["idle"]), pauses(chosen["seed"] + 1, chosen["pause"])
    dut.in_valid.value = 0
    dut.out_ready.value = 0
    await start(dut)
    place = cycles = 0
    offered = False
    while len(got) < beats:
        await FallingEdge(dut.clk)
        offered = offered or (place < beats and not next(idle))
        dut.in_valid.value = int(offered)
        dut.in_data.value = sent[place] if offered else dice.getrandbits(width)
        dut.out_ready.value = int(not next(block))
        await ReadOnly()
        taken = offered and dut.in_ready.value == 1
        if dut.out_valid.value == 1 and dut.out_ready.value == 1:
            got.append(int(dut.out_data.value))
        await RisingEdge(dut.clk)
        cycles += 1
        if taken:
            place, offered = place + 1, False
        assert cycles < 100 * beats + 100
    assert got == sent
    report(cycles=cycles)
