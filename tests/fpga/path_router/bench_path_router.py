# SPDX-License-Identifier: Apache-2.0
"""Packets through the router: whole, in order, to the port that the model says, none held up by another's port."""

import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiStreamFrame

from offramp_sim.rtl.bench import report, settings
from offramp_sim.rtl.models.clocking import CycleCounter, Handshakes, reset, start
from offramp_sim.rtl.models.streams import registers, sink, source
from rtl.coverage import Coverage
from rtl.router import Destination, Port, route

PORTS = ("ep0", "ep1", "acc", "nic")
MODEL, MODELS, REFUSED = 0x08, 0x0C, 0x10
MAGIC, VERSION = 0x4F465250, 0x50520001


class Router:
    def __init__(self, dut, idle=0.0, pause=0.0):
        self.dut = dut
        self.lanes = len(dut.s_axis_ep0_tkeep)
        self.sources = [source(dut, f"s_axis_{name}", idle=idle, seed=n) for n, name in enumerate(PORTS)]
        self.sinks = [sink(dut, f"m_axis_{name}", pause=pause, seed=9 + n) for n, name in enumerate(PORTS)]
        self.registers = registers(dut)

    async def choose(self, model):
        await self.registers.write_dword(MODEL, model)

    def send(self, port, destination, number, length):
        content = number.to_bytes(4, "little") + bytes((number + place) & 0xFF for place in range(length - 4))
        self.sources[port].send_nowait(AxiStreamFrame(content, tdest=int(destination)))
        return content

    async def drained(self):
        for each in self.sources:
            await each.wait()
        await ClockCycles(self.dut.clk, 20)


@cocotb.test()
async def random_packets(dut):
    chosen = settings()
    dice = random.Random(chosen["seed"])
    router = Router(dut, chosen["idle"], chosen["pause"])
    await start(dut)
    assert await router.registers.read_dword(0) == MAGIC
    assert await router.registers.read_dword(4) == VERSION
    coverage = Coverage(model=range(4), way=[(p, d) for p in range(4) for d in range(4)], beats=[1, 2, 3])
    number = refused = 0
    for model in [0, 1, 2, 3, *(dice.randrange(4) for _ in range(chosen["rounds"] - 4))]:
        await router.choose(model)
        sent = {}
        for _ in range(chosen["packets"]):
            port, destination = dice.randrange(4), dice.randrange(4)
            length = dice.choice(
                [4, router.lanes - 1, router.lanes, router.lanes + 1, dice.randrange(4, 5 * router.lanes)]
            )
            content = router.send(port, destination, number, length)
            way = route(model, port, destination)
            coverage.hit(model=model, way=(port, destination), beats=min(3, -(-length // router.lanes)))
            if way is None:
                refused += 1
            else:
                sent.setdefault((way, port), []).append(content)
            number += 1
        expected = {port: sum(len(packets) for (way, _), packets in sent.items() if way == port) for port in Port}
        for port in Port:
            got = {}
            for _ in range(expected[port]):
                content = bytes((await router.sinks[port].recv()).tdata)
                place = next(p for p in range(4) if sent.get((port, p)) and content in sent[port, p])
                got.setdefault(place, []).append(content)
            assert got == {source: packets for (way, source), packets in sent.items() if way == port}
        await router.drained()
        assert all(each.empty() for each in router.sinks)
    assert await router.registers.read_dword(REFUSED) == refused
    coverage.check()


@cocotb.test()
async def a_beat_in_each_cycle(dut):
    router = Router(dut)
    await start(dut)
    cycles = CycleCounter(dut)
    models = await router.registers.read_dword(MODELS)
    pairs = {0: [(0, 1), (1, 2), (2, 0), (3, 0)], 1: [(0, 1), (2, 2), (3, 0)], 2: [(1, 1), (2, 2), (3, 0)]}
    for model in (m for m in range(3) if models >> m & 1):
        await router.choose(model)
        ways = [(port, destination, route(model, port, destination)) for port, destination in pairs[model]]
        taken = [Handshakes(dut, f"s_axis_{PORTS[port]}", cycles) for port, _, _ in ways]
        given = [Handshakes(dut, f"m_axis_{PORTS[way]}", cycles) for _, _, way in ways]
        for n in range(20):
            for port, destination, _ in ways:
                router.send(port, destination, n, 10 * router.lanes)
        await router.drained()
        await ClockCycles(dut.clk, 200)
        for each in (*taken, *given):
            assert len(each.at) == 200
            assert each.at[-1] - each.at[0] == 199  # no gap
        for came, went in zip(taken, given, strict=True):
            assert went.at[0] - came.at[0] == 3  # stored, fetched, chosen, offered
    report(done=True)


@cocotb.test()
async def no_head_of_line_blocking(dut):
    chosen = settings()
    router = Router(dut)
    await start(dut)
    await router.choose(chosen["model"])
    port, blocked, free = chosen["port"], *chosen["destinations"]
    stuck, flowing = route(chosen["model"], port, blocked), route(chosen["model"], port, free)
    router.sinks[stuck].pause = True
    room = getattr(dut, f"s_axis_{PORTS[port]}_room")
    done = held = 0
    while done < 200:
        await RisingEdge(dut.clk)
        if not router.sources[port].empty() or not router.sources[port].idle():
            continue
        if int(room.value) >> stuck & 1 and held < 1000:
            router.send(port, blocked, held, 2 * router.lanes)
            held += 1
        elif int(room.value) >> flowing & 1:
            router.send(port, free, done, 2 * router.lanes)
            done += 1
    for number in range(done):
        assert (await router.sinks[flowing].recv()).tdata[:4] == number.to_bytes(4, "little")
    assert router.sinks[stuck].empty()
    assert 0 < held < 1000  # there was no room for more, and that held up nobody
    router.sinks[stuck].pause = False
    for number in range(held):
        assert (await router.sinks[stuck].recv()).tdata[:4] == number.to_bytes(4, "little")


@cocotb.test()
async def reset_within_a_packet(dut):
    router = Router(dut)
    await start(dut)
    await router.choose(2)
    for port in (1, 2, 3):
        router.send(port, Destination.ACCELERATOR if port != 2 else Destination.NIC, 1, 30 * router.lanes)
    await ClockCycles(dut.clk, 12)
    await reset(dut)
    for each in (*router.sources, *router.sinks):
        each.clear()
    await router.choose(2)
    await ClockCycles(dut.clk, 50)
    for each in router.sinks:
        each.clear()
    contents = [router.send(1, Destination.NIC, number, 3 * router.lanes) for number in range(5)]
    for content in contents:
        assert bytes((await router.sinks[Port.NIC].recv()).tdata) == content
    assert await router.registers.read_dword(REFUSED) == 0
