# SPDX-License-Identifier: Apache-2.0
"""``reduce`` with formats and inputs left out: what it has is right, what it lacks is said."""

import cocotb
from bench_reduce import Bench

from offramp.device import Status
from offramp_sim.rtl.bench import settings
from offramp_sim.rtl.models.clocking import start
from rtl.reduce_cases import case


@cocotb.test()
async def what_is_left_out_is_unknown(dut):
    chosen = settings()
    bench = Bench(dut, 4, idle=0.2, pause=0.2)
    await start(dut)
    asked = [case(bench.dice, 20, kind, number) for kind in range(4) for number in range(1, 9) for _ in range(2)]
    for number, wanted in enumerate(asked):
        await bench.send(bench.packet(wanted, number))
    for number, wanted in enumerate(asked):
        if wanted.kind in chosen["kinds"] and len(wanted.vectors) <= chosen["inputs"]:
            await bench.expect(wanted, number)
            continue
        got = await bench.receive()
        assert (got.status, got.number, got.count) == (Status.UNKNOWN_FUNCTION, number, 0)
    many = case(bench.dice, 20, 0, 8, 16)
    nine = many.head[:1] + bytes([9]) + many.head[2:]  # nobody adds more than eight
    await bench.send(bench.packet(many, 77).replace(many.head, nine, 1))
    assert (await bench.receive()).status == Status.BAD_LENGTH
    assert await bench.read("STATUS") == 0
