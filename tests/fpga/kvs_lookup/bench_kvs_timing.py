# SPDX-License-Identifier: Apache-2.0
"""Cycles of ``kvs_lookup`` against :mod:`offramp.fpga.timing`."""

import cocotb
from bench_kvs_lookup import Bench

from offramp.fpga.timing import RequestPacket, kvs_lookup
from offramp_sim.rtl.bench import settings
from offramp_sim.rtl.models.clocking import CycleCounter, Handshakes
from rtl.offered import Offers


@cocotb.test()
async def cycles_are_the_models(dut):
    chosen = settings()
    bench = Bench(dut, chosen["seed"], chosen["idle"], latency=chosen["latency"])
    await bench.start()
    cycles = CycleCounter(dut)
    offers = Offers(dut, "s_axis", cycles)
    taken, given = Handshakes(dut, "s_axis", cycles), Handshakes(dut, "m_axis", cycles)
    counts = [bench.dice.choice((0, 1, 1, 2, 3, 8, 9, bench.dice.randrange(60))) for _ in range(chosen["packets"])]
    for number, count in enumerate(counts):
        await bench.send(bench.packet(bench.keys(count), number))
    for number, count in enumerate(counts):
        got = await bench.receive()
        assert (got.status, got.number, got.count) == (0, number, count)
    packets = [RequestPacket(count, offered) for count, offered in zip(counts, offers.packets, strict=False)]
    model = kvs_lookup(packets, width=8 * bench.beat, flight=chosen["flight"], memory=chosen["latency"])
    assert model.taken == taken.at
    assert model.given == given.at
