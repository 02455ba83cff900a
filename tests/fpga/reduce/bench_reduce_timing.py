# SPDX-License-Identifier: Apache-2.0
"""Cycles of ``reduce`` against :mod:`offramp.fpga.timing`."""

import cocotb
from bench_reduce import Bench

from offramp.fpga.timing import reduce
from offramp_sim.rtl.bench import settings
from offramp_sim.rtl.models.clocking import CycleCounter, Handshakes, start
from rtl.offered import Offers
from rtl.reduce_cases import case


@cocotb.test()
async def cycles_are_the_models(dut):
    chosen = settings()
    bench = Bench(dut, chosen["seed"], chosen["idle"])
    await start(dut)
    cycles = CycleCounter(dut)
    offers = Offers(dut, "s_axis", cycles)
    taken, given = Handshakes(dut, "s_axis", cycles), Handshakes(dut, "m_axis", cycles)
    cases = [
        case(bench.dice, 40, number=bench.dice.randrange(1, 1 + chosen["inputs"])) for _ in range(chosen["packets"])
    ]
    for number, wanted in enumerate(cases):
        await bench.send(bench.packet(wanted, number))
    for number, wanted in enumerate(cases):
        await bench.expect(wanted, number)
    beats = [-(-len(wanted.expected) // bench.beat) for wanted in cases]
    model = reduce(list(zip(beats, offers.packets, strict=False)), inputs=chosen["inputs"])
    assert model.taken == taken.at
    assert model.given == given.at
