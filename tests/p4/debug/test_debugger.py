# SPDX-License-Identifier: Apache-2.0
"""The debugger itself: programs that replace each other, clients that leave at any time, values that are shown."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from debugged import PROGRAM, STF, line
from offramp_base.errors import OfframpError
from offramp_p4.engines import make_switch
from offramp_p4.frontend import load, load_text
from offramp_p4.maker import SwitchMaker
from offramp_p4.stf.replay import replay
from offramp_p4.switch import Switch
from offramp_p4_tools.debug.asked import RequestArguments
from offramp_p4_tools.debug.breakpoints import Breakpoint
from offramp_p4_tools.debug.debugger import Debugger
from offramp_p4_tools.debug.inspector import MAX_NODES, Inspector
from offramp_p4_tools.debug.stops import Stop

pytestmark = pytest.mark.p4
FRAME = bytes.fromhex("000000000001AABBCCDDEEFF0800")


class Client:
    """Remembers what it is told, and lets every packet go unless it is told not to."""

    def __init__(self, debugger: Debugger) -> None:
        self.debugger, self.stops, self.programs = debugger, [], 0
        self.keep, self.held = False, threading.Event()

    def stopped(self, stop: Stop) -> None:
        self.stops.append(stop)
        self.held.set()
        if not self.keep:
            self.debugger.go()

    def wrote(self, text: str, location: object) -> None:
        raise AssertionError(text, location)

    def loaded(self) -> None:
        self.programs += 1


@pytest.fixture
def debugger() -> Debugger:
    return Debugger()


@pytest.fixture
def client(debugger: Debugger) -> Client:
    client = Client(debugger)
    assert debugger.enter(client)
    return client


def test_breakpoints_stand_in_the_next_program_too(debugger: Debugger, client: Client) -> None:
    first = make_switch(load(PROGRAM), debugger=debugger)
    assert first.engine == "python"
    wanted = Breakpoint(1, str(PROGRAM), line("meta.seen = now"))
    debugger.set_breakpoints([wanted])
    second = SwitchMaker(debugger=debugger)(load(PROGRAM))
    for number, switch in enumerate([first, second, first], 1):  # a pipeline that is saved does not run yet
        switch.process_one(1, FRAME)
        assert len(client.stops) == number
        assert client.stops[-1].code.switch is switch
    assert client.programs == 2
    other = load_text(PROGRAM.read_text().replace("meta.seen = now;", ""), str(PROGRAM))
    Switch(other, debugger=debugger)
    assert wanted.actual == line("meta.seen = now")


@pytest.mark.full
def test_a_program_that_is_gone_is_forgotten(debugger: Debugger, client: Client) -> None:
    switch = Switch(load(PROGRAM), debugger=debugger)
    debugger.set_breakpoints([Breakpoint(1, str(PROGRAM), line("meta.seen = now"), condition="now == 1")])
    switch.process_one(1, FRAME)
    code = weakref.ref(debugger.codes[0])
    assert client.stops.pop().code is code()
    del switch
    Switch(load(PROGRAM), debugger=debugger)
    gc.collect()
    assert code() is None


def test_the_maker_of_a_process_that_tries_a_program_has_no_debugger(debugger: Debugger) -> None:
    assert "debugger" not in SwitchMaker(debugger=debugger).to_plain()
    with pytest.raises(OfframpError, match="a debugger needs the Python engine"):
        make_switch(load(PROGRAM), "native", debugger=debugger)
    with pytest.raises(OfframpError, match="without a debugger"):
        Switch(load(PROGRAM), debugger=debugger, trace=lambda _: None)


def test_who_leaves_or_closes_lets_the_packet_go(debugger: Debugger, client: Client) -> None:
    switch = Switch(load(PROGRAM), debugger=debugger)
    for end in (lambda: debugger.leave(client), debugger.close):
        assert debugger.enter(client) or client.stops == []
        client.keep = True
        client.held.clear()
        debugger.pause()
        thread = threading.Thread(target=switch.process_one, args=(1, FRAME))
        thread.start()
        assert client.held.wait(20)
        end()
        thread.join(20)
        assert not thread.is_alive()
    before = len(client.stops)
    replay(switch, STF.read_text(), "counted.stf")
    assert len(client.stops) == before
    assert debugger.leave(client) is False


@pytest.mark.full
def test_references_to_a_stop_are_bounded(debugger: Debugger, client: Client) -> None:
    switch = Switch(load(PROGRAM), debugger=debugger)
    debugger.pause()
    switch.process_one(1, FRAME)
    inspector = Inspector(client.stops[0])
    with pytest.raises(OfframpError, match=f"more than {MAX_NODES} references"):
        _greedy(inspector)


def _greedy(inspector: Inspector) -> None:
    for _ in range(MAX_NODES):
        inspector.scopes(RequestArguments({}))


def test_lines_are_counted_as_the_client_does(debugger: Debugger, client: Client) -> None:
    switch = Switch(load(PROGRAM), debugger=debugger)
    debugger.pause()
    switch.process_one(1, FRAME)
    frames = [
        Inspector(client.stops[0], first).stack_trace(RequestArguments(None))["stackFrames"][0] for first in (0, 1)
    ]
    assert [frame["line"] for frame in frames] == [line("parser P(") - 1, line("parser P(")]
