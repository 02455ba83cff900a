# SPDX-License-Identifier: Apache-2.0
"""The control plane through BF-RT, against a fake server that knows the tables as p4c's Tofino back end lists them.

Blind to real devices: none was ever asked. ``test_p4c_tofino`` keeps the list true.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fake_bfrt import FakeBfrt
from offramp.bfrt.info import BfrtInfo
from offramp.bfrt.session import BfrtSession
from offramp.p4src import p4_source
from offramp.switchgnn import barrier, origin, telemetry
from offramp.switchgnn.bfrt_control import SwitchGnnBfrt
from offramp.switchgnn.control import NEXT_PASS_SESSION, entries_for
from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.target import TNA
from offramp_base.errors import OfframpError
from offramp_p4 import make_switch
from offramp_p4.frontend import load
from offramp_p4.state import ActionData, CloneSession, Exact, Replica, TableEntry
from offramp_sim.switchgnn.jobs import Job, random_job, six_vertices
from offramp_sim.switchgnn.lockstep import Lockstep
from switchgnn_channel import UnrulyChannel

pytestmark = pytest.mark.p4

INFO, FIXED = (Path(__file__).with_name(name).read_text() for name in ("bf-rt.json", "bf-rt-fixed.json"))


@pytest.fixture
def device(tmp_path: Path) -> Iterator[FakeBfrt]:
    with FakeBfrt(tmp_path, "switchgnn", INFO, FIXED) as fake:
        yield fake


@pytest.fixture
def session(device: FakeBfrt) -> Iterator[BfrtSession]:
    with BfrtSession(device.address, "switchgnn", client_id=3) as opened:
        opened.push(INFO.encode(), b"context", b"binary")
        yield opened


def test_a_job_that_was_written_through_bfrt_runs(device: FakeBfrt, session: BfrtSession) -> None:
    """What the device was told goes into the embedded switch, and nothing else."""
    job = random_job(7, vertices=14, edges=30, workers=4, limit=6, features=(40,))
    SwitchGnnBfrt(session).load(job.plans, job.ports, acks=True)
    switch = make_switch(load(p4_source("switchgnn/tna.p4"), defines={"AGGREGATORS": "1024"}), "python")
    fill(switch, device)
    up, down = UnrulyChannel(1, 0.1, 0.1, 0.1), UnrulyChannel(2, 0.1, 0.1, 0.1)
    lockstep = Lockstep(job.plans, job.ports, switch.process, up=up, down=down, recovery=Recovery(20, 40, acks=True))
    lockstep.start()
    x = np.random.default_rng(1).integers(-1000, 1000, (len(job.boundary.owner), 40)).astype(np.int32)
    sums = lockstep.exchange(0, [x[e.boundaries[0]] for e in lockstep.endpoints])
    for endpoint, got in zip(lockstep.endpoints, sums, strict=True):
        assert np.array_equal(got, job.expected(x)[endpoint.boundaries[0]])


def fill(switch, device: FakeBfrt) -> None:
    for name, entries in device.entries.items():
        if name.startswith("pipe."):
            for key, (action, data) in entries.items():
                made = ActionData(action, tuple(data.values()))
                switch.tables[name].insert(TableEntry(tuple(map(Exact, key)), made))
    nodes = {node: data for (node,), (_, data) in device.entries["$pre.node"].items()}
    for (group,), (_, data) in device.entries["$pre.mgid"].items():
        members = [nodes[n] for n in data["$MULTICAST_NODE_ID"]]
        switch.pre.multicast[group] = tuple(Replica(p, m["$MULTICAST_RID"]) for m in members for p in m["$DEV_PORT"])
    for (number,), (_, data) in device.entries["$mirror.cfg"].items():
        switch.pre.clones[number] = CloneSession((Replica(data["$ucast_egress_port"], 0),))


def test_the_rows_are_those_of_p4runtime(device: FakeBfrt, session: BfrtSession) -> None:
    job = six_vertices()
    SwitchGnnBfrt(session).load(job.plans, job.ports)
    expected: dict[str, dict] = {}
    for rows in entries_for(session.info, job.plans, job.ports, TNA)[0]:
        table = expected.setdefault(rows.table, {})
        table |= {tuple(keys.values()): (rows.action, params) for keys, params in rows.entries()}
    assert {name: device.entries[name] for name in expected} == expected
    assert device.entries["$pre.mgid"][barrier.GROUP,][1]["$MULTICAST_NODE_ID"] == [1, 2, 3]
    assert device.entries["$pre.node"][2,][1] == {"$MULTICAST_RID": 2, "$MULTICAST_LAG_ID": [], "$DEV_PORT": [2]}
    mirror = device.entries["$mirror.cfg"][NEXT_PASS_SESSION,]
    assert mirror == (
        "$normal",
        {
            "$session_enable": True,
            "$direction": "INGRESS",
            "$ucast_egress_port": 68,
            "$ucast_egress_port_valid": True,
            "$max_pkt_len": 16384,
        },
    )


def test_another_pipe(device: FakeBfrt, session: BfrtSession) -> None:
    job = dataclasses.replace(six_vertices(), ports=[256, 300, 383])
    SwitchGnnBfrt(session, pipe=2).load(job.plans, job.ports)
    assert device.entries["$mirror.cfg"][NEXT_PASS_SESSION,][1]["$ucast_egress_port"] == 2 * 128 + 68


def test_counters(device: FakeBfrt, session: BfrtSession) -> None:
    for outcome in telemetry.Outcome:
        device.counters[TNA.full(telemetry.OUTCOMES), int(outcome)] = 100 + outcome
    device.counters["pipe.SwitchGnnIngress.guard.uploads", 0] = 5
    device.counters["pipe.SwitchGnnIngress.recirculations", 0] = 1 << 40
    outcomes = {int(o): 100 + o for o in telemetry.Outcome}
    assert SwitchGnnBfrt(session).counters() == telemetry.totals(outcomes, 5, 1 << 40)


def test_strangers_by_port(device: FakeBfrt, session: BfrtSession) -> None:
    device.counters[TNA.full(origin.STRANGERS), 9] = 3
    device.counters[TNA.full(origin.STRANGERS), 127] = 1
    assert SwitchGnnBfrt(session).strangers() == {9: 3, 127: 1}


def test_what_is_pushed(device: FakeBfrt, session: BfrtSession) -> None:
    (config,) = device.pushed
    (profile,) = config.profiles
    assert (config.p4_name, config.bfruntime_info) == ("switchgnn", INFO.encode())
    assert (profile.context, profile.binary, list(profile.pipe_scope)) == (b"context", b"binary", [0])


def test_what_the_device_refuses_is_said_and_changes_nothing(device: FakeBfrt, session: BfrtSession) -> None:
    job = six_vertices()
    control = SwitchGnnBfrt(session)
    control.load(job.plans, job.ports)
    before = {name: dict(entries) for name, entries in device.entries.items()}
    with pytest.raises(OfframpError, match=r"update 0: ALREADY_EXISTS: pipe\.SwitchGnnIngress\.origin\.members"):
        control.load(job.plans, job.ports)
    assert device.entries == before


def job_on(ports: list[int]) -> Job:
    return dataclasses.replace(six_vertices(), ports=ports)


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


def test_what_the_client_refuses(device: FakeBfrt, session: BfrtSession) -> None:
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
        pytest.raises(OfframpError, match="no program other"),
    ):
        other.bind()
    with (
        pytest.raises(OfframpError, match="client 3: client id is in use"),
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
