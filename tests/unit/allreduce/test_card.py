# SPDX-License-Identifier: Apache-2.0
"""Admission to an FPGA card by registers, on a card in Python that speaks the request layer.

Blind spot: the RTL, which ``tests/fpga`` has behind the same control.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

import pytest

from offramp.allreduce import card
from offramp.allreduce.control import segments_of, with_control
from offramp.allreduce.entries import leaf, star
from offramp.allreduce.verdict import PacketVerdict
from offramp.fpga.card import CardEngine
from offramp.fpga.registers import register_map
from offramp.switchgnn.leaf_spine import LeafSpine
from offramp_base.errors import OfframpError
from register_card import RegisterCard, register_card

SIZE = 4


def simulated() -> AbstractContextManager[tuple[RegisterCard, str]]:
    return register_card(CardEngine.ALLREDUCE, {0x04: card.VERSION, 0x10: SIZE})


def test_offsets_are_those_of_the_register_map() -> None:
    described = register_map("allreduce_regs")
    offsets = {register.name: register.offset for register in described.registers}
    assert described.version == card.VERSION
    assert {name: offsets[name] for name in card.REGISTERS} == card.REGISTERS
    assert {verdict: offsets[verdict.name] for verdict in card.COUNTS} == card.COUNTS
    for job in range(card.JOBS):
        assert offsets[f"RANKS{job}"] == card.REGISTERS["RANKS0"] + job * card.JOB_BYTES
    assert PacketVerdict.DESCENDED not in card.COUNTS


def test_jobs_get_pages_of_their_own_and_give_them_back() -> None:
    with simulated() as (there, name):
        assert segments_of(name, 5) == 1
        assert with_control(name, lambda control: control.admit(7, star([0, 1, 2]), 2), 5) == [0, 1]
        cleared = [value for offset, value in there.written if offset == card.REGISTERS["CLEAR"]]
        assert cleared == [0x100, 0x101]
        assert with_control(name, lambda control: control.admit(8, star([0, 1]), 1), 5) == [2]
        assert (there.registers[0x20], there.registers[0x24], there.registers[0x28]) == (7, 0b111, 0x200)
        assert (there.registers[0x30], there.registers[0x34], there.registers[0x38]) == (8, 0b11, 0x102)
        with pytest.raises(OfframpError, match=r"job 9: needs 2 pages .* has 1 of 4 left beside 2 other jobs"):
            with_control(name, lambda control: control.admit(9, star([0]), 2), 5)
        with_control(name, lambda control: control.release(7), 5)
        assert there.registers[0x24] == 0
        assert with_control(name, lambda control: control.admit(9, star([0]), 2), 5) == [0, 1]
        assert with_control(name, lambda control: control.admit(9, star([0]), 2), 5) == [0, 1]  # again
        for job in (10, 11, 12):
            if job < 11:
                with_control(name, lambda control, job=job: control.admit(job, star([0]), 1), 5)
        with pytest.raises(OfframpError, match="needs 1 pages"):
            with_control(name, lambda control: control.admit(12, star([0]), 1), 5)
        counts = with_control(name, lambda control: control.outcomes(), 5)
        assert counts["completed"] == 0


def test_what_registers_cannot_hold_and_a_page_that_stays_are_one_line() -> None:
    with simulated() as (there, name):
        for job, pages in ((1 << 32, 1), (7, 0), (7, 256)):
            with pytest.raises(OfframpError, match="expected a number of 32 bits, and 1 to 255 pages"):
                with_control(name, lambda control, job=job, pages=pages: control.admit(job, star([0]), pages), 5)
        there.registers[card.REGISTERS["STATUS"]] = 1
        with pytest.raises(OfframpError, match="does not empty page 0"):
            with_control(name, lambda control: control.admit(7, star([0])), 5)


def test_roles_among_several_switches_are_refused() -> None:
    network = LeafSpine((0, 0, 1))
    with simulated() as (_, name), pytest.raises(OfframpError, match="not as one of several switches"):
        with_control(name, lambda control: control.admit(7, leaf(network, 0)), 5)


def test_what_is_no_such_card_is_one_line() -> None:
    with simulated() as (there, name):
        there.registers[0x04] = 5
        with pytest.raises(OfframpError, match="no allreduce with registers of version 0x41520001, but of 0x5"):
            with_control(name, lambda control: control.pages, 5)
        there.registers[0x00] = 0
        with pytest.raises(OfframpError, match=r"no allreduce with registers of version 0x41520001$"):
            with_control(name, lambda control: control.pages, 5)
        there.busy = True
        with pytest.raises(OfframpError, match="the card serves another host"):
            with_control(name, lambda control: control.pages, 0.5)
        there.silent = True
        with pytest.raises(OfframpError, match=r"no answer in 0\.5 s"):
            with_control(name, lambda control: control.pages, 0.5)
    with pytest.raises(OfframpError, match="expected HOST or HOST:PORT"):
        with_control("fpga:udp=", lambda control: control.pages, 0.5)
