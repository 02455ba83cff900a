"""Traces that are known to the last value: one packet of SwitchGNN, a table's life, drops and copies."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from offramp.p4src import p4_source
from offramp_base.wire.batch import PacketBatch
from offramp_p4.frontend import load
from offramp_p4.stf.replay import replay
from offramp_p4.switch import Switch
from offramp_p4.trace import PacketTrace
from offramp_sim.switchgnn import direct
from offramp_sim.switchgnn.jobs import six_vertices
from offramp_sim.switchgnn.lockstep import Lockstep
from trace_text import shown

pytestmark = pytest.mark.p4
GOLDEN = Path(__file__).parent / "golden"
STF = Path(__file__).parents[1] / "stf"


def completing_upload() -> PacketTrace:
    """The first upload of the six-vertex example that completes an aggregator and goes on to another."""
    job, traces = six_vertices(), []
    switch = Switch(load(p4_source("switchgnn/v1model.p4")), trace=traces.append)
    direct.load(switch, job.plans, job.ports)
    lockstep = Lockstep(job.plans, job.ports, switch.process)
    lockstep.start()
    values = np.array([[3], [-1], [10], [4], [-7], [2]], np.int32)
    lockstep.exchange(0, [values[endpoint.boundaries[0]] for endpoint in lockstep.endpoints])
    return next(t for t in traces if {"ingress clone", "recirculate"} <= {span.cause for span in t.spans})


def test_switchgnn_upload_that_completes_an_aggregator_and_recirculates() -> None:
    trace = completing_upload()
    assert shown(trace) == (GOLDEN / "switchgnn.txt").read_text(encoding="utf-8")
    assert trace.to_json() == json.loads((GOLDEN / "switchgnn.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["clones", "registers", "tables", "passes", "replication", "stacks"])
def test_features(name: str) -> None:
    traces: list[PacketTrace] = []
    replay(Switch(load(STF / f"{name}.p4"), trace=traces.append), (STF / f"{name}.stf").read_text(), name)
    assert shown(*traces) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def test_a_packet_that_never_ends_is_cut_off_and_the_trace_says_so() -> None:
    traces: list[PacketTrace] = []
    switch = Switch(load(STF / "passes.p4"), max_passes=2, trace=traces.append)
    replay(switch, (STF / "passes.stf").read_text(), "passes")
    assert any(s.dropped == "the packet has used up its 2 passes" for t in traces for s in t.spans)
    assert switch.stats.looped > 0


def test_batches_are_traced_packet_by_packet() -> None:
    traces: list[PacketTrace] = []
    switch = Switch(load(STF / "registers.p4"), trace=traces.append)
    switch.process(PacketBatch.of([(1, bytes(6)), (2, bytes(6))]))
    assert [(t.number, t.port) for t in traces] == [(0, 1), (1, 2)]
