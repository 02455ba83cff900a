# SPDX-License-Identifier: Apache-2.0
"""Cycles of ``ebs_lookup`` against :mod:`offramp.fpga.timing`."""

import cocotb
from bench_ebs_lookup import BLOCKS, LAYOUT, Bench

from offramp.fpga.timing import Read, RequestPacket, ebs_lookup
from offramp.leo.functions import ebs
from offramp_sim.rtl.bench import settings
from offramp_sim.rtl.models.clocking import CycleCounter, Handshakes
from rtl.offered import Offers


def effect(model, memory, message):
    """Steps of a read, from the tables and its outcome."""
    volume, _, start, _ = ebs.REQUEST.unpack(message)
    outcome = ebs.EbsStatus(ebs.ANSWER.unpack(model.lookup(message))[0])
    if outcome is ebs.EbsStatus.UNMAPPED:
        first = ebs.VOLUME.unpack(memory.read(volume * 64, 64))[0]
        entry = memory.read(LAYOUT.blocks_at + (first + start // ebs.SEGMENT) * 8, 8)
        lines = 3 if any(entry[4:]) else 2
    else:
        lines = 3 if outcome in (ebs.EbsStatus.FOUND, ebs.EbsStatus.WAIT) else int(volume < LAYOUT.volumes)
    return Read(volume, lines, outcome is ebs.EbsStatus.FOUND)


@cocotb.test()
async def cycles_are_the_models(dut):
    chosen = settings()
    bench = Bench(dut, chosen["seed"], chosen["idle"], latency=chosen["latency"])
    await bench.start()
    cycles = CycleCounter(dut)
    offers = Offers(dut, "s_axis", cycles)
    taken, given = Handshakes(dut, "s_axis", cycles), Handshakes(dut, "m_axis", cycles)
    requests = [
        bench.reads(bench.dice.choice((0, 1, 1, 2, 3, bench.dice.randrange(12)))) for _ in range(chosen["packets"])
    ]
    for number, reads in enumerate(requests):
        await bench.send(bench.packet(reads, number))
    for number, reads in enumerate(requests):
        got = await bench.receive()
        assert (got.status, got.number, got.count) == (0, number, 2 * len(reads))
    effects = [effect(bench.model, bench.memory, message) for reads in requests for message in reads]
    assert {read.volume for read in effects} > set(range(len(BLOCKS)))
    assert {read.lines for read in effects} == {0, 1, 2, 3}
    packets = [RequestPacket(3 * len(reads), offered) for reads, offered in zip(requests, offers.packets, strict=False)]
    model = ebs_lookup(packets, effects, width=8 * bench.beat, flight=chosen["flight"], memory=chosen["latency"])
    assert model.taken == taken.at
    assert model.given == given.at
