# SPDX-License-Identifier: Apache-2.0
"""The control plane through BF-RT, on the embedded switch behind its own BF-RT server.

Blind to real devices: none was ever asked. ``test_p4c_tofino`` compares the tables with p4c's list of them.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bfrt_device import BfrtDevice, bfrt_device
from offramp.bfrt.info import BfrtInfo
from offramp.bfrt.session import BfrtSession
from offramp.p4src import p4_source
from offramp.switchgnn import barrier, origin, telemetry
from offramp.switchgnn.bfrt_control import SwitchGnnBfrt
from offramp.switchgnn.control import NEXT_PASS_SESSION, entries_for
from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.target import TNA
from offramp_base.errors import OfframpError
from offramp_p4.frontend import load
from offramp_p4.state import CloneSession, Replica
from offramp_p4.tna.replication import MulticastNode
from offramp_p4_tools.bfrt.describe import describe
from offramp_sim.switchgnn.jobs import GraphPlans, random_job, six_vertices
from offramp_sim.switchgnn.lockstep import Lockstep
from switchgnn_channel import UnrulyChannel

pytestmark = pytest.mark.p4

SMALL = {"AGGREGATORS": "1024"}


@pytest.fixture(scope="module")
def program():
    return load(p4_source("switchgnn/tna.p4"), defines=SMALL)


@pytest.fixture
def device(tmp_path: Path, program) -> Iterator[BfrtDevice]:
    with bfrt_device(tmp_path, dataclasses.replace(program, file="switchgnn.p4")) as running:
        yield running


@pytest.fixture
def session(device: BfrtDevice) -> Iterator[BfrtSession]:
    with BfrtSession(device.address, "switchgnn", client_id=3) as opened:
        opened.bind()
        yield opened


def entries(device: BfrtDevice, table: str) -> dict[tuple[int, ...], tuple[str | None, dict]]:
    store = device.store(table)
    by_key = {}
    for key in store.keys():  # noqa: SIM118 (it is not a mapping)
        data = store.get(key)
        by_key[tuple(part.value for part in key)] = (data.action and data.action.name, dict(data.values))
    return by_key


@pytest.mark.full
def test_the_tables_are_those_of_p4c() -> None:
    theirs = json.loads(Path(__file__).with_name("bf-rt.json").read_text())["tables"]
    program = load(p4_source("switchgnn/tna.p4"), defines={"SEGMENTS": "1"})
    ours = {t["name"]: t for t in json.loads(describe(program).json())["tables"]}
    assert [ours[table["name"]] for table in theirs] == theirs


@pytest.mark.full
def test_a_job_that_was_written_through_bfrt_runs(device: BfrtDevice, session: BfrtSession) -> None:
    job = random_job(7, vertices=14, edges=30, workers=4, limit=6, features=(40,))
    SwitchGnnBfrt(session).load(job.plans, job.ports, acks=True)
    up, down = UnrulyChannel(1, 0.1, 0.1, 0.1), UnrulyChannel(2, 0.1, 0.1, 0.1)
    recovery = Recovery(20, 40, acks=True)
    lockstep = Lockstep(job.plans, job.ports, device.device.process, up=up, down=down, recovery=recovery)
    lockstep.start()
    x = np.random.default_rng(1).integers(-1000, 1000, (len(job.boundary.owner), 40)).astype(np.int32)
    sums = lockstep.exchange(0, [x[e.boundaries[0]] for e in lockstep.endpoints])
    for endpoint, got in zip(lockstep.endpoints, sums, strict=True):
        assert np.array_equal(got, job.expected(x)[endpoint.boundaries[0]])


@pytest.mark.full
def test_the_rows_are_those_of_p4runtime(device: BfrtDevice, session: BfrtSession) -> None:
    job = six_vertices()
    SwitchGnnBfrt(session).load(job.plans, job.ports)
    expected: dict[str, dict] = {}
    for rows in entries_for(session.info, job.plans, job.ports, TNA)[0]:
        table = expected.setdefault(rows.table, {})
        table |= {tuple(keys.values()): (rows.action, params) for keys, params in rows.entries()}
    assert {name: entries(device, name) for name in expected} == expected
    assert device.switch.pre.trees[barrier.GROUP].nodes == tuple(MulticastNode(n, (n,)) for n in (1, 2, 3))
    assert device.switch.pre.clones == {NEXT_PASS_SESSION: CloneSession((Replica(68, 0),), packet_length=16384)}


@pytest.mark.full
def test_another_pipe(device: BfrtDevice, session: BfrtSession) -> None:
    job = dataclasses.replace(six_vertices(), ports=[256, 300, 383])
    SwitchGnnBfrt(session, pipe=2).load(job.plans, job.ports)
    assert device.switch.pre.clones[NEXT_PASS_SESSION].replicas == (Replica(2 * 128 + 68, 0),)


@pytest.mark.full
def test_counters(device: BfrtDevice, session: BfrtSession) -> None:
    counters = device.switch.counters
    for outcome in telemetry.Disposition:
        counters[TNA.full(telemetry.OUTCOMES)].write(int(outcome), 100 + outcome, 0)
    counters["pipe.SwitchGnnIngress.guard.uploads"].write(0, 5, 0)
    counters["pipe.SwitchGnnIngress.recirculations"].write(0, 1 << 40, 0)
    outcomes = {int(o): 100 + o for o in telemetry.Disposition}
    assert SwitchGnnBfrt(session).counters() == telemetry.totals(outcomes, 5, 1 << 40)


@pytest.mark.full
def test_strangers_by_port(device: BfrtDevice, session: BfrtSession) -> None:
    device.switch.counters[TNA.full(origin.STRANGERS)].write(9, 3, 0)
    device.switch.counters[TNA.full(origin.STRANGERS)].write(127, 1, 0)
    assert SwitchGnnBfrt(session).strangers() == {9: 3, 127: 1}


@pytest.mark.full
def test_a_program_that_is_pushed_runs(tmp_path: Path, program) -> None:
    text = program.source.encode()
    with (
        bfrt_device(tmp_path) as device,
        BfrtSession(device.address, "switchgnn", client_id=3, timeout_s=60) as session,
    ):
        session.push(b"", b"", text)
        assert "pipe.SwitchGnnIngress.fanout.v2agg" in session.info
        with pytest.raises(OfframpError, match="the binary is not text; this switch takes the text of a P4 program"):
            session.push(b"", b"", b"\xff\xfe")
        assert device.service._current().tables.name == "switchgnn"


@pytest.mark.full
def test_what_the_device_refuses_is_said_and_changes_nothing(device: BfrtDevice, session: BfrtSession) -> None:
    job = six_vertices()
    control = SwitchGnnBfrt(session)
    control.load(job.plans, job.ports)
    before = entries(device, "pipe.SwitchGnnIngress.origin.members")
    with pytest.raises(OfframpError, match=r"update 0: ALREADY_EXISTS: table pipe\.SwitchGnnIngress\.origin\.members"):
        control.load(job.plans, job.ports)
    assert entries(device, "pipe.SwitchGnnIngress.origin.members") == before


def job_on(ports: list[int]) -> GraphPlans:
    return dataclasses.replace(six_vertices(), ports=ports)


@pytest.mark.full
@pytest.mark.parametrize(
    ("ports", "message"),
    [
        ([1, 2, 68], "port 68: tna recirculates there; expected a port without a link"),
        ([1, 2, 128], "port 128: expected a port of pipe 0, 0 to 127"),
    ],
)
def test_ports_that_tofino_cannot_serve(session: BfrtSession, ports: list[int], message: str) -> None:
    job = job_on(ports)
    with pytest.raises(OfframpError) as error:
        SwitchGnnBfrt(session).load(job.plans, job.ports)
    assert str(error.value) == message


@pytest.mark.full
def test_what_the_client_refuses(device: BfrtDevice, session: BfrtSession) -> None:
    hosts = "pipe.SwitchGnnIngress.barrier.hosts"
    cases = [
        (lambda: session.entry("pipe.SwitchGnnIngress.barrier.host", {}), "BF-RT table .* did you mean .*hosts?"),
        (lambda: session.entry(hosts, {"host": 1}), "key host: expected host_id"),
        (lambda: session.entry(hosts, {"host_id": 1 << 32}), "host_id = 4294967296: expected 0 to 4294967295"),
        (lambda: session.entry(hosts, {"host_id": 1}, "drop", {}), "action drop: the device has none"),
        (lambda: BfrtInfo.parse("[]"), "bf-rt.json: expected BF-RT's description"),
        (lambda: BfrtSession(device.address, "other", client_id=4).info, "neither pushed nor bound"),
    ]
    for call, message in cases:
        with pytest.raises(OfframpError, match=message):
            call()
    with (
        BfrtSession(device.address, "other", client_id=5) as other,
        pytest.raises(OfframpError, match="no program 'other'; this switch runs switchgnn"),
    ):
        other.bind()
    with (
        pytest.raises(OfframpError, match="client 3: client id 3 is in use"),
        BfrtSession(device.address, "switchgnn", client_id=3),
    ):
        pass


def test_no_device(tmp_path: Path) -> None:
    with (
        pytest.raises(OfframpError, match=r"does not answer within 0\.2 s"),
        BfrtSession(f"unix:{tmp_path}/nobody", "switchgnn", timeout_s=0.2),
    ):
        pass


@pytest.mark.parametrize(
    "text",
    [
        '{"tables": ["x"]}',
        '{"tables": [{"name": 1}]}',
        '{"tables": [{"name": [], "id": 1, "size": 1, "key": []}]}',
        '{"tables": 3}',
        "[" * 100_000,
        '{"a": NaN}',
    ],
)
def test_a_description_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(OfframpError, match=r"bf-rt\.json: expected"):
        BfrtInfo.parse(text)
