# SPDX-License-Identifier: Apache-2.0
"""``cmac_frames`` by itself: every byte both ways between two unrelated clocks, and what becomes of bad frames."""

import random
from itertools import repeat

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge, with_timeout

from offramp_sim.rtl.bench import report, settings
from offramp_sim.rtl.models.streams import forget, pauses
from rtl.cmac import LEAST, MOST, CmacPins
from rtl.coverage import Coverage

BEAT = 16
NONE, CORRUPT, RUNT, JUMBO = range(4)
"""``ethernet_pkg``."""
LENGTHS = (60, 61, 63, 64, 65, 127, 128, 129, 575, 576, 1472, 1473, 1513, 1514)


class Card:
    """The card's side: takes beats in every cycle, gives frames with pauses.

    ``frames`` are those that came, each with its fault; ``lost`` is how many did not.
    """

    def __init__(self, dut, idle=None):
        self.dut, self.idle = dut, idle or repeat(False)
        self.frames, self.lost = [], 0
        self._rest()
        cocotb.start_soon(self._take())

    def _rest(self):
        """Give no beat; its fields have no value."""
        self.dut.tx_valid.value = 0
        forget(self.dut.tx_data, self.dut.tx_count, self.dut.tx_last)

    async def _take(self):
        dut, frame = self.dut, bytearray()
        while True:
            await FallingEdge(dut.clk)
            if dut.rst.value == 1:
                continue
            self.lost += int(dut.rx_lost.value)
            if dut.rx_valid.value != 1:
                continue
            last, count = int(dut.rx_last.value), int(dut.rx_count.value) + 1
            assert last or count == BEAT
            cut = last and int(dut.rx_fault.value) == CORRUPT  # whose bytes may have no value
            frame += bytes(count) if cut else int(dut.rx_data.value).to_bytes(BEAT, "little")[:count]
            if last:
                self.frames.append((bytes(frame), int(dut.rx_fault.value)))
                frame.clear()

    async def send(self, frame, dice):
        """Give a frame; what stands behind its last byte is anything."""
        dut = self.dut
        for at in range(0, len(frame), BEAT):
            beat = frame[at : at + BEAT]
            while next(self.idle):
                self._rest()
                await FallingEdge(dut.clk)
            dut.tx_data.value = int.from_bytes(beat + dice.randbytes(BEAT - len(beat)), "little")
            dut.tx_count.value, dut.tx_last.value = len(beat) - 1, at + BEAT >= len(frame)
            dut.tx_valid.value = 1
            while True:
                taken = dut.tx_ready.value == 1
                await FallingEdge(dut.clk)
                if taken:
                    break
        self._rest()


async def joined(dut, **options):
    chosen = settings()
    dut.usr_rst.value = 1
    pins = CmacPins(dut, chosen["clock_ns"], **options)
    await ClockCycles(dut.usr_clk, 16)
    await ClockCycles(dut.clk, 16)
    dut.usr_rst.value = 0
    await pins.reset()
    await FallingEdge(dut.clk)
    return pins


@cocotb.test()
async def to_the_line(dut):
    """Frames of every length leave whole, filled up to 60 bytes, however the card and the CMAC pause."""
    chosen = settings()
    dice = random.Random(chosen["seed"])
    pins = await joined(dut, pause=pauses(chosen["seed"] + 1, chosen["pause"]))
    card = Card(dut, pauses(chosen["seed"], chosen["idle"]))
    lengths = [1, 15, 16, 17, 42, 59, *LENGTHS, *(dice.randint(1, MOST) for _ in range(chosen["frames"]))]
    dice.shuffle(lengths)
    expected = [dice.randbytes(length) for length in lengths]

    async def compare():
        for frame in expected:
            assert await with_timeout(pins.next(), 100, "us") == frame.ljust(LEAST, b"\0")

    comparing = cocotb.start_soon(compare())
    for frame in expected:
        await card.send(frame, dice)
    await comparing
    await ClockCycles(dut.usr_clk, 50)
    assert not pins.frames


def arrival(dice):
    """A frame, how it comes, and the fault that the card has to hear of."""
    if dice.random() < 0.5:
        return dice.randbytes(dice.choice((*LENGTHS, dice.randint(LEAST, MOST)))), {}, NONE
    kind = dice.choice((CORRUPT, RUNT, JUMBO, "cut"))
    bad = {"bad": dice.random() < 0.5}
    if kind == RUNT:
        return dice.randbytes(dice.choice((1, 16, 59, dice.randint(1, 59)))), bad, RUNT
    if kind == JUMBO:
        return dice.randbytes(dice.choice((1515, 1535, 1536, 1537, 1600, 4000))), bad, JUMBO
    length = dice.randint(65, MOST)
    options = {"bad": True} if kind == CORRUPT else {"cut_at": 64 * dice.randint(1, (length - 1) // 64)}
    return dice.randbytes(length), options, CORRUPT


@cocotb.test()
async def from_the_line(dut):
    """Good frames come with every byte, the others as one beat that tells of the fault; none is lost."""
    chosen = settings()
    dice = random.Random(chosen["seed"])
    pins = await joined(dut, idle=pauses(chosen["seed"] + 1, chosen["idle"]))
    card = Card(dut)
    cover = Coverage(fault=(NONE, CORRUPT, RUNT, JUMBO), cut=(True, False), back_to_back=(True, False))
    expected = []
    for _ in range(chosen["frames"]):
        frame, options, fault = arrival(dice)
        expected.append((frame, fault))
        pins.send(frame, **options)
        waits = dice.random() < 0.5
        if waits:
            await pins.sent()
            await ClockCycles(dut.clk, dice.randint(1, 100))
        cover.hit(fault=fault, cut="cut_at" in options, back_to_back=not waits)
    await pins.sent()
    for _ in range(100):
        await ClockCycles(dut.clk, 100)
        if len(card.frames) == len(expected):
            break
    assert card.lost == 0
    assert [fault for _, fault in card.frames] == [fault for _, fault in expected]
    for (frame, fault), (wanted, _) in zip(card.frames, expected, strict=True):
        assert frame == wanted if fault == NONE else len(frame) <= 64
    cover.check()


@cocotb.test()
async def more_than_there_is_room_for(dut):
    """A beat in every cycle, three times what the card takes: frames come whole and in order, or are counted."""
    chosen = settings()
    dice = random.Random(chosen["seed"])
    pins = await joined(dut)
    card = Card(dut)
    sent = []
    for number in range(chosen["frames"]):
        length = 60 if chosen["short"] else dice.choice((60, 64, 200, 1514))
        sent.append(number.to_bytes(4, "little") + dice.randbytes(length - 4))
        pins.send(sent[-1], bad=dice.random() < 0.1)
    await pins.sent()
    await ClockCycles(dut.clk, 4000)
    whole = [frame for frame, fault in card.frames if fault == NONE]
    numbers = [int.from_bytes(frame[:4], "little") for frame in whole]
    assert numbers == sorted(set(numbers))
    assert whole == [sent[number] for number in numbers]
    assert {fault for _, fault in card.frames} == {NONE, CORRUPT}
    assert card.lost + len(card.frames) == len(sent)
    assert card.lost > len(sent) // 10
    report(lost=card.lost, sent=len(sent))
