# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN in RTL beside the P4 program and the plain reference: the same packets, in the same order, the same counts.

Packets are those of whole jobs, whose workers run around the reference beforehand.
"""

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from offramp_pynq.registers import SWITCHGNN_REGS, SWITCHGNN_REGS_VERSION

from offramp.p4src import p4_source
from offramp.switch_packets import host_mac
from offramp.switchgnn.card_tables import edge_entries, vertex_entries
from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.telemetry import Disposition
from offramp.switchgnn.wire import (
    DATA_FRAME_BYTES,
    MOST_SEGMENTS,
    SHORT_FRAME_BYTES,
    SwitchGnnPacketType,
    build_frames,
    frame_bytes,
    parse_frames,
)
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import make_switch
from offramp_p4.frontend import load
from offramp_sim.rtl.bench import report, settings
from offramp_sim.switchgnn import direct
from offramp_sim.switchgnn.jobs import random_job, six_vertices
from offramp_sim.switchgnn.lockstep import Lockstep
from offramp_sim.switchgnn.reference import ReferenceSwitch
from rtl.switch_board import SwitchBoard
from switchgnn_channel import UnrulyChannel
from switchgnn_soak import SIZES, Soak

NOBODYS = 400
"""A port without a worker behind it."""
EVERYBODY = b"\xff" * 6
MINE = [o for o in Disposition if o not in (Disposition.RAW, Disposition.SHARED, Disposition.WAITING)]
"""Outcomes of a packet."""


class Board(SwitchBoard):
    """The engine, with a job."""

    def __init__(self, dut, seed=1, pause=0.0):
        super().__init__(dut, SWITCHGNN_REGS, seed, pause)
        dut.write.value = 0

    async def load(self, plans):
        """A job, in place of the one before."""
        await self.write("MEMBERS", 0)
        await self.write("CLEAR", 1)
        await self.idle()
        places = await self.read("VERTICES"), await self.read("EDGES")
        for table, entries in enumerate((vertex_entries(plans, places[0]), edge_entries(plans, places[1]))):
            for at, entry in enumerate(entries):
                if entry.any():
                    await self._enter(table, at, entry)
        await self.write("MEMBERS", max(plan.workers for plan in plans))

    async def _enter(self, table, at, entry):
        dut = self.dut
        dut.write_at.value, dut.write_edge.value = at, table
        dut.write_data.value = int.from_bytes(entry.astype("<u4").tobytes()[:12], "little")
        dut.write.value = 1
        await RisingEdge(dut.clk)
        dut.write.value = 0

    async def send(self, frame, fault=0):
        """A frame at the line's pace, and not before the one before is done with."""
        await super().send(frame, fault)
        await self.idle()

    async def counts(self):
        values = {}
        for which in [*map(int, MINE), len(Disposition)]:
            await self.write("WHICH", which)
            values[which] = await self.read("COUNT")
        return values


class Recorder:
    """The reference and the P4 program side by side, and what came to them and left.

    Attributes:
        exchanged: frames, each with what leaves for it as a card sends it; None where the switch lost everything.
    """

    def __init__(self, job, program):
        self.job, self.program, self.exchanged = job, program, []

    def fresh(self):
        """A switch with the job and nothing else."""
        self.exchanged.append(None)
        self.reference = ReferenceSwitch(self.job.plans, self.job.ports)
        self.program.reset()
        direct.load(self.program, self.job.plans, self.job.ports)
        return self.process

    def process(self, batch):
        return PacketBatch.of(sent for port, frame in batch for sent in self.one(port, frame))

    def one(self, port, frame):
        out = self.reference.process_one(port, frame)
        assert sorted(out) == sorted(self.program.process(PacketBatch.of([(port, frame)])))
        self.exchanged.append((frame, self._of_card(out)))
        return out

    def _of_card(self, out):
        """To the workers' addresses, GO to all at once, without what stands behind lanes."""
        if len(out) == len(self.job.ports) and len({frame for _, frame in out}) == 1 and is_done(out[0][1]):
            return [EVERYBODY + out[0][1][6:SHORT_FRAME_BYTES]]
        frames_for_card = []
        for port, frame in out:
            short = parse_frames(PacketBatch.of([(port, frame)])).kind[0] in (
                SwitchGnnPacketType.FETCH,
                SwitchGnnPacketType.DONE,
            )
            to = host_mac(self.job.ports.index(port)).to_bytes(6, "big")
            frames_for_card.append(to + frame[6 : SHORT_FRAME_BYTES if short else DATA_FRAME_BYTES])
        return frames_for_card

    def counts(self):
        values = {int(outcome): self.reference.outcomes[outcome] for outcome in MINE}
        assert direct.counters(self.program) == self.reference.counters()
        return values | {len(Disposition): self.reference.uploads}


def is_done(frame):
    return parse_frames(PacketBatch.of([(0, frame)])).kind[0] == SwitchGnnPacketType.DONE


class Exchanges:
    """A random graph's job in which features of both widths travel, over loss, duplicates and reordering."""

    def __init__(self, seed, trouble=0.03):
        vertices, workers = 16, 2 + seed % 3
        self.job = random_job(seed, vertices=vertices, edges=40, workers=workers, limit=8, features=(5, 40))
        self.values = np.random.default_rng(seed).integers(-(2**26), 2**26, (vertices, 40)).astype(np.int32)
        self.up, self.down = (UnrulyChannel(2 * seed + i, 2 * trouble, 3 * trouble, trouble) for i in range(2))

    def run(self, fresh):
        recovery = Recovery(20, 40)
        around = {"window": 4, "up": self.up, "down": self.down, "recovery": recovery}
        lockstep = Lockstep(self.job.plans, self.job.ports, fresh(), **around)
        lockstep.start()
        for plan, width in enumerate((5, 40)):
            x = self.values[:, :width]
            sums = lockstep.exchange(plan, [x[e.boundaries[plan]] for e in lockstep.endpoints])
            for endpoint, got in zip(lockstep.endpoints, sums, strict=True):
                assert np.array_equal(got, self.job.expected(x)[endpoint.boundaries[plan]])


JOBS = {"exchanges": Exchanges, "soak": Soak}


def program():
    return make_switch(load(p4_source("switchgnn/v1model.p4"), defines=SIZES), "native")


async def replay(board, recorder):
    """Every frame again, through the board; what left must be what leaves."""
    for entry in recorder.exchanged:
        if entry is None:
            await board.load(recorder.job.plans)
            continue
        frame, expected = entry
        await board.send(frame.ljust(60, b"\0"))
        while len(board.frames) < len(expected):
            await RisingEdge(board.dut.clk)
        for got, wanted in zip(board.frames, expected, strict=True):
            assert got == wanted, (frame.hex(), got.hex(), wanted.hex())
        board.frames.clear()
    await board.quiet()
    assert not board.frames
    assert not board.overflows


@cocotb.test()
async def whole_jobs(dut):
    """Jobs of random graphs over loss, duplicates and reordering; a soak's with late starts and restarts, too."""
    chosen = settings()
    board = Board(dut, chosen["seeds"][0], chosen["pause"])
    await board.begin()
    assert await board.read("VERSION") == SWITCHGNN_REGS_VERSION
    switch, frames, sums = program(), 0, 0
    for seed in chosen["seeds"]:
        jobs = JOBS[chosen["jobs"]](seed)
        recorder = Recorder(jobs.job, switch)
        jobs.run(recorder.fresh)
        await replay(board, recorder)
        counts = recorder.counts()
        assert await board.counts() == counts, seed
        frames += len(recorder.exchanged)
        sums += counts[Disposition.COMPLETED] + counts[Disposition.DELIVERED]
    report(frames=frames, sums=sums)


def spoilt(dice, frame):
    """The frame with other bits, or cut; None where a card differs from the program on purpose."""
    changed = bytearray(frame)
    for _ in range(int(dice.integers(1, 3))):
        changed[int(dice.choice([*range(6, 12), *range(15, SHORT_FRAME_BYTES)]))] ^= 1 << int(dice.integers(0, 8))
    if dice.random() < 0.2 and len(changed) > 120:
        changed = changed[: int(dice.integers(60, len(changed)))]
    header = parse_frames(PacketBatch.of([(0, bytes(changed).ljust(frame_bytes(MOST_SEGMENTS), b"\0"))]))
    odd = (
        len(header)
        and header.kind[0] == SwitchGnnPacketType.RESEND
        and (header.field("more")[0] or len(changed) < DATA_FRAME_BYTES)
    )
    return None if odd else bytes(changed)


@cocotb.test()
async def spoilt_packets(dut):
    """A job's packets, some with other bits, cut, or from strangers: what is wrong is counted, and changes nothing."""
    chosen = settings()
    board = Board(dut, chosen["seeds"][0])
    await board.begin()
    switch, total = program(), dict.fromkeys(MINE, 0)
    for seed in chosen["seeds"]:
        dice = np.random.default_rng(seed)
        jobs = JOBS[chosen["jobs"]](seed)
        recorder = Recorder(jobs.job, switch)
        jobs.run(recorder.fresh)
        frames = [entry[0] for entry in recorder.exchanged if entry]
        recorder.exchanged.clear()
        recorder.fresh()
        macs = {host_mac(worker).to_bytes(6, "big"): port for worker, port in enumerate(jobs.job.ports)}
        for frame in frames:
            given = [frame] if dice.random() < 0.9 else []
            if dice.random() < 0.3:
                given += [spoilt(dice, frame)]
            for each in given:
                if each is not None:
                    recorder.one(macs.get(each[6:12], NOBODYS), each.ljust(60, b"\0"))
        await replay(board, recorder)
        counts = recorder.counts()
        got = await board.counts()
        # What is none of its packets a card does not count here; the program does.
        assert got[Disposition.FOREIGN] <= counts[Disposition.FOREIGN]
        assert got | {0: 0} == counts | {0: 0}, seed
        total = {outcome: total[outcome] + counts[outcome] for outcome in MINE}
    never = (Disposition.ACKNOWLEDGED, Disposition.RELAYED, Disposition.HARVESTED)
    lacking = [outcome.name for outcome in MINE if outcome not in never and not total[outcome]]
    assert not lacking or chosen["few"], lacking
    report(**{outcome.name.lower(): total[outcome] for outcome in MINE})


@cocotb.test()
async def what_is_not_for_the_switch(dut):
    """Other frames, and damaged ones, leave no trace; without a job there are strangers alone."""
    board = Board(dut)
    await board.begin()
    job = six_vertices()
    await board.load(job.plans)
    done = [
        bytes(build_frames(w, {"src_id": w, "is_ack": 1, "is_fetch": 1}, 1).data[0]).ljust(60, b"\0") for w in range(3)
    ]
    good = done[0]
    foreign = [good[:5] + b"\xfd" + good[6:], good[:12] + b"\x86\xdd" + good[14:], good[:14] + b"\x46" + good[15:]]
    foreign += [good[:20] + b"\x00\x01" + good[22:], good[:23] + b"\xfe" + good[24:]]
    for frame in foreign:
        await board.send(frame)
    for fault in range(1, 5):
        await board.send(good, fault)
    await board.quiet()
    assert not any((await board.counts()).values())
    for frame in done:
        await board.send(frame)
    await board.quiet()
    assert len(board.frames) == 1
    assert await board.read("ROUND") == 1
    await board.write("MEMBERS", 0)
    await board.send(good)
    await board.quiet()
    assert (await board.counts())[Disposition.STRANGER] == 1
    await board.write("CLEAR", 1)
    await board.idle()
    assert await board.read("ROUND") == 0
    assert not any((await board.counts()).values())
