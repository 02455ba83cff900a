# SPDX-License-Identifier: Apache-2.0
"""Being debugged changes nothing: every STF sample, held at every step or passing breakpoints that never hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from offramp_p4.frontend import load, load_text
from offramp_p4.stf.replay import replay
from offramp_p4.switch import Switch
from offramp_p4_tools.debug.breakpoints import Breakpoint
from offramp_p4_tools.debug.debugger import Debugger
from offramp_p4_tools.debug.stops import How, Stop
from tna_programs import packet, tna

pytestmark = pytest.mark.p4
FOLDERS = [Path(__file__).parents[1] / "stf", Path(__file__).parent, Path(__file__).parents[3] / "p4/examples"]
TESTS = sorted(test for folder in FOLDERS for test in folder.glob("*.stf"))


class Stepping:
    """A client that lets every packet go at once, in or over in turns."""

    def __init__(self, debugger: Debugger) -> None:
        self.debugger, self.stops = debugger, 0

    def stopped(self, stop: Stop) -> None:
        assert stop.stack
        self.stops += 1
        how: How = "in" if stop.packet.number % 2 else "over"
        self.debugger.go(how)

    def wrote(self, text: str, location: object) -> None:
        raise AssertionError(text, location)

    def loaded(self) -> None:
        """Breakpoints do not matter."""


class Noting(Stepping):
    """Lets every packet go on, and notes why it was held."""

    def __init__(self, debugger: Debugger) -> None:
        super().__init__(debugger)
        self.texts: list[str] = []

    def stopped(self, stop: Stop) -> None:
        self.texts.append(stop.text)
        self.debugger.go()


@pytest.mark.parametrize("test", TESTS, ids=lambda path: path.stem)
def test_a_debugged_switch_does_the_same(test: Path) -> None:
    program, text = load(test.with_suffix(".p4")), test.read_text()
    plain, debugger = Switch(program), Debugger()
    debugged = Switch(program, debugger=debugger)
    expected = replay(plain, text, test.name)
    client = Stepping(debugger)
    assert debugger.enter(client)
    debugger.errors = debugger.drops = True
    debugger.pause()
    assert replay(debugged, text, test.name) == expected
    assert debugged.stats == plain.stats
    assert {n: r.values for n, r in debugged.registers.items()} == {n: r.values for n, r in plain.registers.items()}
    assert [t.hits for t in debugged.tables.values()] == [t.hits for t in plain.tables.values()]
    assert client.stops > plain.stats.packets_in

    debugger = Debugger()
    again, client = Switch(program, debugger=debugger), Stepping(debugger)
    assert debugger.enter(client)
    lines = {location.pos.line for code in debugger.codes for location in code.locations if location is not None}
    never = [Breakpoint(n, program.file, line, condition="false") for n, line in enumerate(sorted(lines), 1)]
    debugger.set_breakpoints(never)
    assert any(each.actual == each.line for each in never)
    assert replay(again, text, test.name) == expected
    assert client.stops == 0


def test_code_without_a_debugger_knows_nothing_of_it() -> None:
    program = load(FOLDERS[0] / "registers.p4")
    before = Switch(program).source
    debugger = Debugger()
    assert "here = at_" in Switch(program, debugger=debugger).source
    assert Switch(program).source == before
    assert "at_1(m" not in before


def test_what_a_tofino_drops_is_held() -> None:
    program = load_text(tna("tm.ucast_egress_port = 3; if (hdr.h.a == 1) { dprsr.drop_ctl = 1; }"), "prog.p4")
    debugger = Debugger()
    switch, client = Switch(program, debugger=debugger), Noting(debugger)
    assert debugger.enter(client)
    debugger.drops = True
    assert switch.process_one(0, packet(a=2)) == [(3, packet(a=2))]
    assert switch.process_one(0, packet(a=1)) == []
    assert client.texts == ["drop_ctl is 1 after ingress"]
