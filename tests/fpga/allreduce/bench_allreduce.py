# SPDX-License-Identifier: Apache-2.0
"""All-reduce in RTL beside the P4 program: the same packets, in the same order, and the same counts; ranks that sum."""

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles
from offramp_pynq.registers import ALLREDUCE_REGS, ALLREDUCE_REGS_VERSION

from allreduce_lab import JOB, PAGES, equal, program
from allreduce_oracle import exact_sum, random_tensor
from offramp.allreduce import entries
from offramp.allreduce.endpoint import AllReduceEndpoint
from offramp.allreduce.wire import (
    HEADER_BYTES,
    LANES,
    SWITCH,
    AllReducePacketType,
    blank_frames,
    frame_bytes,
    set_field,
    set_lanes,
)
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import make_switch
from offramp_sim.allreduce import direct
from offramp_sim.rtl.bench import report, settings
from rtl.switch_board import SwitchBoard
from switchgnn_channel import UnrulyChannel


class Board(SwitchBoard):
    """The engine, and who may use it."""

    def __init__(self, dut, seed=1, pause=0.0):
        super().__init__(dut, ALLREDUCE_REGS, seed, pause)

    async def admit(self, place, job, ranks, first, pages):
        for page in range(first, first + pages):
            await self.write("CLEAR", 0x100 | page)
            await self.idle()
        await self.write(f"NUMBER{place}", job)
        await self.write(f"PAGES{place}", pages << 8 | first)
        await self.write(f"RANKS{place}", (1 << ranks) - 1)

    async def outcomes(self):
        return {name: await self.read(name.upper()) for name in OUTCOMES}


OUTCOMES = ("malformed", "stranger", "stale", "opened", "added", "completed", "duplicate", "repeated", "pulled")


def contribution(sender, value, **fields):
    """A frame of a rank's address."""
    packets = blank_frames(sender, JOB, 1, 1)
    for name, number in fields.items():
        set_field(packets, name, number)
    set_lanes(packets, value.reshape(1, LANES))
    return packets[0].tobytes()


@cocotb.test()
async def the_programs_packets(dut):
    """Random contributions, some strange, cut or too long, through both."""
    chosen = settings()
    board = Board(dut, chosen["seed"], chosen["pause"])
    await board.begin()
    assert await board.read("VERSION") == ALLREDUCE_REGS_VERSION
    assert await board.read("SIZE") == PAGES
    switch = make_switch(program("v1model"), "native")
    direct.load(switch, entries.star([1, 2, 3]), JOB, [1, 2])
    direct.load(switch, entries.star([1, 2]), 7, [3], group=2)
    await board.admit(0, JOB, 3, 1, 2)
    await board.admit(2, 7, 2, 3, 1)
    dice = np.random.default_rng(chosen["seed"])
    expected = []
    for number in range(chosen["frames"]):
        rank, kind = int(dice.integers(0, 4)), int(dice.choice(5, p=(0.45, 0.4, 0.05, 0.05, 0.05)))
        fields = {"job": int(dice.choice([JOB, 7, 9], p=(0.6, 0.35, 0.05))), "rank": rank, "kind": kind}
        fields |= {"chunk": number // 40 + int(dice.integers(1, 4)), "page": int(dice.choice(3, p=(0.6, 0.3, 0.1)))}
        fields |= {"line": int(dice.integers(0, 3)), "exponent": int(dice.integers(0, 1 << 16))}
        fields |= {"flags": int(dice.integers(0, 4)), "present": int(dice.integers(0, 1 << 32))}
        if dice.random() < 0.1:
            fields["rank"] = int(dice.choice([SWITCH, 33, 31]))
        if dice.random() < 0.05:  # serial numbers that are far apart, in a slot of their own
            fields |= {"line": 200, "chunk": int(dice.choice([1, 5, 1 << 31, (1 << 31) + 3, (1 << 32) - 1]))}
        sender = int(dice.integers(0, 4)) if dice.random() < 0.1 else rank
        frame = contribution(sender, dice.integers(-(2**31), 2**31, LANES).astype(np.int32), **fields)
        cut = dice.random()
        if cut < 0.05:
            frame = frame[: int(dice.integers(60, len(frame)))]
        elif cut < 0.1:
            frame += dice.bytes(int(dice.integers(1, 40)))
        left = [sent for _, sent in switch.process(PacketBatch.of([(sender + 1, frame)]))]
        if left:
            assert len(set(left)) == 1
            expected.append(
                left[0][: HEADER_BYTES if left[0][HEADER_BYTES - 3] == AllReducePacketType.PULL else frame_bytes(1)]
            )
        await board.send(frame)
    await board.quiet()
    for number, (got, wanted) in enumerate(zip(board.frames, expected, strict=False)):
        assert got == wanted, (number, got.hex(), wanted.hex())
    assert len(board.frames) == len(expected)
    counts = direct.outcomes(switch)
    assert await board.outcomes() == {name: counts[name] for name in OUTCOMES}
    assert min(counts[name] for name in OUTCOMES) > 0, counts
    assert not board.overflows
    report(frames=chosen["frames"], left=len(expected))


@cocotb.test()
async def what_is_not_for_the_switch(dut):
    """Other frames, and damaged ones, leave no trace; a page that is emptied has forgotten its chunks."""
    board = Board(dut)
    await board.begin()
    await board.admit(1, JOB, 1, 0, 1)
    good = contribution(0, np.arange(LANES, dtype=np.int32), job=JOB, chunk=9)
    foreign = [good[:5] + b"\xfd" + good[6:], good[:12] + b"\x86\xdd" + good[14:], good[:14] + b"\x46" + good[15:]]
    foreign += [good[:20] + b"\x00\x01" + good[22:], good[:23] + b"\x11" + good[24:]]
    for frame in foreign:
        await board.send(frame)
    for fault in range(1, 5):
        await board.send(good, fault)
    await board.quiet()
    assert not any((await board.outcomes()).values())
    await board.send(good)
    await board.quiet()
    assert len(board.frames) == 1
    await board.send(contribution(0, np.ones(LANES, np.int32), job=JOB, chunk=8))
    await board.quiet()
    assert (await board.outcomes())["stale"] == 1
    await board.write("CLEAR", 0x100 | PAGES)  # which is not there
    await board.send(contribution(0, np.ones(LANES, np.int32), job=JOB, chunk=8))
    await board.quiet()
    assert (await board.outcomes())["stale"] == 2
    await board.admit(1, JOB, 1, 0, 1)
    await board.send(contribution(0, np.ones(LANES, np.int32), job=JOB, chunk=8))
    await board.quiet()
    assert len(board.frames) == 2
    await board.write("RANKS1", 0)
    await board.send(good)
    await board.quiet()
    assert await board.outcomes() == dict.fromkeys(OUTCOMES, 0) | {"completed": 2, "stale": 2, "stranger": 1}


@cocotb.test()
async def ranks_sum(dut):
    """Ranks' own endpoints around the board, over a wire that loses, doubles and delays frames both ways."""
    chosen = settings()
    board = Board(dut, chosen["seed"])
    await board.begin()
    ranks, trouble = chosen["ranks"], chosen["trouble"]
    await board.admit(3, JOB, ranks, 2, 1)
    endpoints = [AllReduceEndpoint(rank, ranks, JOB, segments=1, pages=1, retry_s=20) for rank in range(ranks)]
    up, down = (UnrulyChannel(chosen["seed"] * 2 + side, trouble, trouble, trouble) for side in range(2))
    dice, turn = np.random.default_rng(chosen["seed"]), 0
    for dtype in ("int32", "float32", "float64"):
        arrays = random_tensor(dice, dtype, 1500, ranks)
        expected = exact_sum(arrays, LANES, 128)
        for endpoint, array in zip(endpoints, arrays, strict=True):
            endpoint.begin(array)
        while not all(endpoint.idle for endpoint in endpoints):
            turn += 1
            assert turn < 5000, [endpoint.state() for endpoint in endpoints]
            sent = []
            for rank, endpoint in enumerate(endpoints):
                sent += [(rank, frame) for _, frame in endpoint.outgoing(8)]
            for _, frame in up(PacketBatch.of(sent)) if sent else ():
                await board.send(frame)
            await ClockCycles(dut.clk, 60)
            came, board.frames = board.frames, []
            # Every rank has a wire of its own behind whatever copies the board's frames.
            copies = [(rank, frame) for frame in came for rank in range(ranks)]
            arrived = down(PacketBatch.of(copies))
            for rank, endpoint in enumerate(endpoints):
                endpoint.incoming(arrived.select(np.equal(arrived.ports, rank)))
                endpoint.tick(turn)
        for array in arrays:
            assert equal(array, expected), dtype
    assert not board.overflows
    report(turns=turn, repeated=int(sum(endpoint.stats.repeated for endpoint in endpoints)))
