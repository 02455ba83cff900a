# SPDX-License-Identifier: Apache-2.0
"""A P4 switch takes a plan or stays as it is, whatever fails. Oracle: what a read of everything gives."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from in_process_switch import LocalConnection
from offramp.hermod.deploy.limits import LineLimits
from offramp.hermod.deploy.p4 import P4Target, rendered, switch_plan
from offramp.hermod.plan_file import load_plan
from offramp.hermod.switch.control import HermodControl
from offramp.hermod.switch.entries import FORWARD, MACS
from offramp.p4src import p4_source, p4_text
from offramp_base.errors import OfframpError
from offramp_base.p4rt.connection import GrpcConnection
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.session import Session
from offramp_base.p4rt.state import GROUP, State, StateCodec
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.embedded import EmbeddedSwitch
from offramp_p4.runtime import transaction
from p4rt_lab import Lab

pytestmark = pytest.mark.p4

PORTS, HOSTS = (1, 2, 3), {0x0200_0000_0001: 1}
OLD = switch_plan(
    load_plan("mixtral-8x7b", 3, ecn_bytes={0: 30_000}), PORTS[:2], HOSTS, members=(2,), limits=LineLimits(10**8)
)
NEW = switch_plan(
    load_plan("mixtral-8x7b", 6, ecn_bytes={1: 60_000}),
    PORTS,
    {**HOSTS, 0x0200_0000_0002: 3},
    members=(1, 3),
    limits=LineLimits(10**9, police_bps={3: 10**8}),
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    program = tmp_path_factory.mktemp("hermod") / "hermod.p4"
    program.write_text(p4_text("hermod/v1model.p4"))
    lab = Lab("python", program)
    yield lab
    lab.close()


@pytest.fixture(params=["empty", "old"])
def before(lab: Lab, request: pytest.FixtureRequest) -> State:
    """A switch that holds nothing, or another plan."""
    target = P4Target(lab.session, OLD)
    target.undo()
    if request.param == "old":
        target.apply()
    return HermodControl(lab.session).read()


class Bmv2Like(LocalConnection):
    """A server that cannot undo, and refuses the update ``fails`` of the first batch."""

    fails = 0

    def unary(self, method: str, request: Any, timeout_s: float) -> Any:
        if method != "Write":
            return super().unary(method, request, timeout_s)
        if request.atomicity != v1.WriteRequest.CONTINUE_ON_ERROR:
            raise RpcError(Code.UNIMPLEMENTED, "atomicity")
        at, self.fails = self.fails, -1
        if at < 0:
            return super().unary(method, request, timeout_s)
        rest = v1.WriteRequest()
        rest.CopyFrom(request)
        del rest.updates[at]
        super().unary(method, rest, timeout_s)
        errors = [v1.Error(canonical_code=Code.UNKNOWN if i == at else Code.OK) for i in range(len(request.updates))]
        raise RpcError(Code.UNKNOWN, "", errors)


def steps(lab: Lab, before: State) -> int:
    control = HermodControl(lab.session)
    return len(StateCodec(lab.session.index).updates(control.wanted(NEW), before))


@pytest.mark.full
def test_a_failure_at_every_step(lab: Lab, before: State, monkeypatch: pytest.MonkeyPatch) -> None:
    target, apply = P4Target(lab.session, NEW), transaction._apply
    count = steps(lab, before)
    assert count > 10
    for fails in range(count):
        done = iter(range(count))

        def failing(*arguments: Any, fails: int = fails, done: Iterator[int] = done) -> None:
            if next(done) == fails:
                raise RpcError(Code.INTERNAL, "the chip is on fire")
            apply(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(transaction, "_apply", failing)
            with pytest.raises(OfframpError, match=rf"update {fails} .*the chip is on fire") as caught:
                target.apply(replace=True)
        assert "\n" not in str(caught.value)
        assert HermodControl(lab.session).read() == before
    assert target.apply(replace=True)
    assert target.differences() == []


@pytest.mark.full
def test_a_failure_at_every_step_of_a_switch_that_cannot_undo(
    lab: Lab, before: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = Bmv2Like(lab.service)
    monkeypatch.setattr(lab.session, "_connection", connection)
    target = P4Target(lab.session, NEW)
    for fails in range(steps(lab, before)):
        connection.fails = fails
        with pytest.raises(OfframpError, match=rf"1 of \d+ updates; update {fails} "):
            target.apply(replace=True)
        assert HermodControl(lab.session).read() == before
    assert target.apply(replace=True)


def test_a_switch_that_holds_something_else_than_was_written(
    lab: Lab, before: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = P4Target(lab.session, NEW)
    read = target._control.read
    wrong = iter([False, True])

    def lying() -> State:
        state = read()
        if next(wrong, False):
            state.popitem()
        return state

    monkeypatch.setattr(target._control, "read", lying)
    with pytest.raises(OfframpError, match=r"does not hold what was written: .*floor.upper.*: missing, planned rate"):
        target.apply(replace=True)
    assert HermodControl(lab.session).read() == before


def test_another_plan_is_in_the_way(lab: Lab) -> None:
    P4Target(lab.session, OLD).apply(replace=True)
    before = HermodControl(lab.session).read()
    with pytest.raises(OfframpError, match=r"in use otherwise: DSCP \d+: enqueue\(queue \d, profile \d\), planned enq"):
        P4Target(lab.session, NEW).apply()
    assert HermodControl(lab.session).read() == before


def test_forwarding_of_somebody_else_stays(lab: Lab) -> None:
    control = HermodControl(lab.session)
    control.write({}, control.read())
    lab.session.insert([lab.session.table_entry(MACS, {"dst_addr": 5}, FORWARD, {"port": 2})])
    target = P4Target(lab.session, switch_plan(load_plan("gpt3-13b")))
    assert target.apply()
    assert target.differences() == []
    assert target.undo()
    (entry,) = lab.session.read_table(MACS)
    assert entry.match[0].exact.value == b"\x05"
    control.write({}, control.read())


def test_more_hosts_than_the_table_has_room_for(lab: Lab) -> None:
    hosts = dict.fromkeys(range(5000), 1)
    with pytest.raises(OfframpError, match="macs: the plan has 5000 hosts, expected up to 4096"):
        P4Target(lab.session, switch_plan(load_plan("gpt3-13b"), PORTS, hosts))


def test_a_switch_that_cannot_be_restored_either(lab: Lab, before: State, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = Bmv2Like(lab.service)
    monkeypatch.setattr(lab.session, "_connection", connection)
    target = P4Target(lab.session, NEW)
    reads = iter([target._control.read()])
    monkeypatch.setattr(target._control, "read", lambda: next(reads, None) or fail())

    def fail() -> None:
        raise RpcError(Code.UNAVAILABLE, "gone")

    with pytest.raises(OfframpError, match=r"update 0 .*; and what was there before could not be restored: gone$"):
        target.apply(replace=True)


@pytest.mark.full
def test_a_tofino(tmp_path: Path) -> None:
    """Names begin with the pipe's there; the same plan, and a frame goes its way."""
    program = tmp_path / "hermod.p4"
    program.write_text(p4_text("hermod/tna.p4"))
    lab = Lab("python", program)
    try:
        target = P4Target(lab.session, NEW)
        assert target.apply()
        assert target.differences() == []
        assert "pipe.HermodIngress.forward.macs(dst_addr 020000000002)" in target.deployed()
        assert "DSCP 63" in target.deployed()
        frame = bytes.fromhex("020000000002020000000001 0800") + bytes([0x45, 63 << 2]) + bytes(18)
        assert lab.packets(1, frame) == [(3, frame)]
        assert HermodControl(lab.session).sent([3])[3, NEW.queues[63]] == (1, len(frame))
        assert target.undo()
        assert lab.packets(1, frame) == []
    finally:
        lab.close()


def test_thresholds_are_packets_and_rates_are_bytes() -> None:
    plan = load_plan("gpt3-13b", ecn_bytes={0: 100, 1: 30_000, 2: 31_499})
    marked = switch_plan(plan, PORTS, mtu=1500, drops=True, limits=LineLimits(10**9, police_bps={0: 4, 1: 80}))
    assert {queue: (each.threshold, each.drops) for queue, each in marked.profiles.items()} == {
        0: (1, True),
        1: (20, True),
        2: (20, True),
    }
    assert [marked.police[queue].bytes_per_s for queue in (0, 1)] == [1, 10]
    assert f"{GROUP} 1 -> " in rendered(OLD)


def test_a_port_that_the_switch_does_not_have() -> None:
    with pytest.raises(OfframpError, match="host 020000000001: port 1 is not one of the switch's"):
        switch_plan(load_plan("gpt3-13b"), (2, 3), HOSTS)


def test_another_program_and_none(tmp_path: Path) -> None:
    reflector = Lab("python", p4_source("examples/reflector.p4"))
    try:
        with pytest.raises(OfframpError, match="runs another program; expected p4/hermod"):
            P4Target(reflector.session, NEW)
    finally:
        reflector.close()


class Killer(GrpcConnection):
    """Ends the switch's process just before the batch is sent to it."""

    pid = 0

    def unary(self, method: str, request: Any, timeout_s: float) -> Any:
        if method == "Write":
            os.kill(self.pid, signal.SIGKILL)
        return super().unary(method, request, timeout_s)


@pytest.mark.full
def test_the_switch_dies_in_the_midst(tmp_path: Path) -> None:
    source = p4_source("hermod/v1model.p4")
    with EmbeddedSwitch(source, 2, workdir=tmp_path, engine="python") as switch:
        connection = Killer(switch.address)
        connection.pid = switch.pid
        with Session(connection) as session:
            target = P4Target(session, switch_plan(load_plan("gpt3-13b")))
            with pytest.raises(OfframpError, match="does not answer") as caught:
                target.apply()
            assert "\n" not in str(caught.value)
