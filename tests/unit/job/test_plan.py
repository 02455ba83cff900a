# SPDX-License-Identifier: Apache-2.0
"""The planner against closed forms; a calibration of the test's own stands for the cluster's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from offramp.allreduce.wire import frame_bytes
from offramp.cluster import ClusterSwitch, parse_cluster
from offramp.fabric import Fabric
from offramp.job.kind import KINDS, CalibrationResult, PlacedJob, Prediction, measure_each
from offramp.job.kinds.full_graph import FeatureTransport as GraphWay
from offramp.job.kinds.full_graph import FullGraph
from offramp.job.kinds.sums import SumsJob
from offramp.job.network import ReductionNetwork
from offramp.job.planner import make_job_plan
from offramp.job.settings import JobSettings
from offramp.job.switches import pages_of
from offramp.job.tree import roles
from offramp_base.errors import OfframpError


def row(plan, way):
    return next(each for each in plan.choices if each.way == way)


def test_models_are_the_closed_forms(racks, job):
    plan = make_job_plan(job, racks)
    assert row(plan, ReductionNetwork.GLOO).step_s == pytest.approx(2 * 3 / 4 * 10e6 * 8 / 100e6)
    share = 4 * 256 / frame_bytes(4)
    assert row(plan, ReductionNetwork.SWITCH).step_s == pytest.approx(10e6 / share * 8 / 100e6)
    assert plan.taken.way == ReductionNetwork.SWITCH
    assert plan.gain == pytest.approx(1.5 * share)
    assert "dimensions" in row(plan, ReductionNetwork.THEMIS).reason


def test_all_to_alls_are_everybodys_bytes_for_everybody_else(racks, job):
    experts = replace(job, all_reduce=0, all_to_all=8_000_000, exchanges=2)
    plan = make_job_plan(experts, racks)
    assert row(plan, ReductionNetwork.GLOO).step_s == pytest.approx(3 / 4 * 8e6 * 8 / 100e6)
    assert row(plan, ReductionNetwork.HERMOD).step_s == row(plan, ReductionNetwork.GLOO).step_s
    assert row(plan, ReductionNetwork.SWITCH).reason == "the job sums nothing, and all-to-alls are not its business"
    sizes = []

    def measured(ways, size):
        sizes.append(size)
        return CalibrationResult({ReductionNetwork.GLOO: [0.2], ReductionNetwork.HERMOD: [0.1]})

    plan = make_job_plan(experts, racks, measured)
    assert sizes == [0]
    # 1 MiB was exchanged in 0.1 s, the step has two of 4 MB
    assert (plan.taken.way, plan.taken.step_s) == (ReductionNetwork.HERMOD, pytest.approx(0.1 * 8e6 / (1 << 20)))
    combined = make_job_plan(replace(experts, all_reduce=10_000_000), racks)
    assert row(combined, ReductionNetwork.GLOO).step_s == pytest.approx((3 / 4 * 8e6 + 2 * 3 / 4 * 10e6) * 8 / 100e6)
    assert combined.taken.way == ReductionNetwork.SWITCH


def test_loss_must_be_allowed(racks, job):
    assert row(make_job_plan(job, racks), ReductionNetwork.SYLVIE).reason == "the job does not allow loss (lossy)"
    plan = make_job_plan(replace(job, lossy=True), racks)
    assert plan.taken.way == ReductionNetwork.SYLVIE
    assert plan.taken.step_s == pytest.approx(1.2 * (8 / 32 + 8 / 1024))


def test_calibration_decides(racks, job):
    sizes = []

    def measured(ways, size):
        sizes.append(size)
        return CalibrationResult(
            {ReductionNetwork.GLOO: [0.4, 0.4, 0.9], ReductionNetwork.HERMOD: [0.2], ReductionNetwork.SWITCH: [5.0]}
        )

    plan = make_job_plan(job, racks, measured)
    assert sizes == [1 << 20]
    assert plan.taken.way == ReductionNetwork.HERMOD
    assert plan.gain == pytest.approx(2)
    assert row(plan, ReductionNetwork.SWITCH).reason.endswith("of gloo's speed")
    assert row(make_job_plan(replace(job, lossy=True), racks, measured), ReductionNetwork.SYLVIE).reason.startswith(
        "calibration"
    )


@pytest.mark.parametrize(
    ("gloo", "hermod", "taken"),
    [
        ([0.20, 0.20, 0.20], [0.10, 0.10, 0.90], ReductionNetwork.HERMOD),
        ([0.20, 0.24, 0.20], [0.10, 0.23, 0.19], ReductionNetwork.HERMOD),
        (
            [0.30, 0.20, 0.30],
            [0.90, 0.21, 0.10],
            ReductionNetwork.GLOO,
        ),  # the smaller median, and slower in two rounds of three
    ],
)
def test_an_offload_must_be_faster_in_most_rounds(racks, job, gloo, hermod, taken):
    plan = make_job_plan(
        job, racks, lambda ways, size: CalibrationResult({ReductionNetwork.GLOO: gloo, ReductionNetwork.HERMOD: hermod})
    )
    assert plan.taken.way == taken


def test_rounds_take_turns_until_the_time_is_over(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("offramp.job.kind.time.monotonic", lambda: clock[0])
    asked = []

    def one(way, left):
        asked.append((way, left))
        clock[0] += 10
        if way == "b" and clock[0] > 30:
            raise OfframpError("gone")
        return None if way == "c" else clock[0]

    measured = measure_each(["a", "b", "c"], 60, one)
    assert asked == [("a", 60), ("b", 50), ("c", 40), ("a", 30), ("b", 20)]  # a third round might not end in time
    assert measured.seconds == {"a": [10, 40], "b": [20]}
    assert measured.failed == {"b": "gone", "c": "its run did not say how long it took"}


def _predicts(monkeypatch, known):
    class Known(SumsJob):
        def predict(self, placed, measure):
            return known

    monkeypatch.setattr("offramp.job.planner.kind_of", lambda job: Known())


@pytest.mark.parametrize(
    ("share", "gains", "taken"), [(0.979, True, 1), (0.981, True, 0), (0.5, False, 0), (1.0, False, 0), (1.5, True, 0)]
)
def test_an_offload_is_taken_for_two_percent_that_are_certain(racks, job, monkeypatch, share, gains, taken):
    """Not for less, and not where the job does not say what it sums."""
    ways, times = (
        [ReductionNetwork.GLOO, ReductionNetwork.HERMOD],
        {ReductionNetwork.GLOO: 10.0, ReductionNetwork.HERMOD: 10.0 * share},
    )
    _predicts(monkeypatch, Prediction(ways, times, times, {}, {}, gains))
    assert make_job_plan(job, racks).taken.way == ways[taken]


def test_a_switch_has_the_pages_that_its_memory_holds():
    """A page has 256 slots, each with its segments of 256 bytes and 16 bytes beside; the program numbers 16 pages."""
    page = 256 * (4 * 256 + 16)
    memories = [0, page - 1, page, 2 * page - 1, 15 * page, 16 * page, 17 * page, 100 * page]
    assert [pages_of(ClusterSwitch(name="s", memory=each), 4) for each in memories] == [0, 0, 1, 1, 15, 16, 16, 16]


def test_a_job_that_cannot_gain_is_told_so(racks, job):
    plan = make_job_plan(replace(job, compute_s=3600.0), racks)
    assert plan.taken.way == ReductionNetwork.GLOO
    assert plan.taken.reason.startswith("no offload gains 2%")
    assert make_job_plan(replace(job, all_reduce=0), racks).taken.reason.startswith("the job says nothing")


@pytest.mark.full
def test_full_graph_training_by_the_bytes_of_its_partition(racks, job, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "train.yaml").write_text("graph: karate\nhidden: 8\nepochs: 2\n")
    (tmp_path / "job.yaml").write_text("train: train.yaml\nlossy: true\n")
    mine = JobSettings.read(tmp_path / "job.yaml")
    sent = FullGraph().bytes_of_epoch(PlacedJob.on(mine, racks))
    plan = make_job_plan(mine, racks)
    assert row(plan, GraphWay.P2P).step_s == pytest.approx(sent / 4 * 8 / 100e6)
    assert row(plan, GraphWay.G3_SYLVIE).step_s == pytest.approx(sent / 16 * 8 / 100e6)
    assert plan.taken.way == GraphWay.G3_SYLVIE
    plan = make_job_plan(mine, racks, lambda ways, size: CalibrationResult({GraphWay.P2P: [0.2], GraphWay.G3: [0.1]}))
    assert plan.taken.way == GraphWay.G3
    assert row(plan, GraphWay.G3_SYLVIE).reason == "calibration: the deadline had passed"
    (tmp_path / "train.yaml").write_text("graph: karate\nhiddn: 8\n")
    with pytest.raises(OfframpError, match=r"train.yaml:2: hiddn: no such field; the nearest is hidden"):
        make_job_plan(mine, racks)


@pytest.mark.parametrize("kind", KINDS.names())
def test_every_kind_has_a_plain_way_and_ways_of_its_own(kind):
    job_kind = KINDS.get(kind)
    assert len(set(job_kind.ways)) == len(job_kind.ways) >= 2
    assert kind in JobSettings.__dataclass_fields__


def test_roles_of_leaves_and_spine(racks, job):
    roles_by_switch = roles(Fabric(racks), racks.hosts)
    assert list(roles_by_switch) == ["leaf1", "leaf2", "spine"]
    assert [(c.port, c.rank, c.ranks) for c in roles_by_switch["leaf2"].members] == [(1, 2, (2,)), (2, 3, (3,))]
    assert [(c.port, c.rank, c.ranks) for c in roles_by_switch["spine"].members] == [(1, 0, (0, 1)), (2, 2, (2, 3))]
    assert (roles_by_switch["leaf1"].uplink, roles_by_switch["spine"].uplink) == (3, None)
    assert list(roles(Fabric(racks), racks.hosts[:2])) == ["leaf1"]
    assert PlacedJob.on(job, racks).ring_bps == 100e6


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("memory: 8MB}\n  - {name: spine", "memory: 1KB}\n  - {name: spine", "cluster.yaml:5: leaf1 has not"),
        ("spine, control: 'unix:/z'", "spine, target: sonic", "no switch that takes programs joins leaf1, leaf2"),
        ('"h[1-4]"}', '"h[1-4]", ranks: 2}', "cluster.yaml:3: h1: 2 ranks: all-reduce in the switch expects one"),
        ("control: 'unix:/x'", "target: tna", "cluster.yaml:5: leaf1: target tna: all-reduce among plain frames"),
    ],
)
def test_why_the_switch_is_not_taken(job, old, new, reason):
    text = """\
name: racks
hosts:
  - {name: "h[1-4]"}
switches:
  - {name: leaf1, control: 'unix:/x', memory: 8MB}
  - {name: spine, control: 'unix:/z', memory: 8MB}
  - {name: leaf2, control: 'unix:/y', memory: 8MB}
links:
  - {ends: ["h[1-2]", leaf1], rate: 100mbit}
  - {ends: ["h[3-4]", leaf2], rate: 100mbit}
  - {ends: ["leaf[1-2]", spine], rate: 400mbit}
"""
    assert old in text
    said = row(make_job_plan(job, parse_cluster(text.replace(old, new, 1))), ReductionNetwork.SWITCH)
    assert said.step_s is None
    assert reason in said.reason


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x", "job.yaml: command: expected a program, or one of train"),
        ("command: []", "job.yaml:1: command: expected a program"),
        ("command: [a]\nsegments: 3", "job.yaml:2: segments 3: expected 1, 4 or 32"),
        ("command: [a]\nall_reduce: much", "job.yaml:2: all_reduce much: expected a size"),
        ("command: [a]\nenvironment: [x]", "job.yaml:2: environment x: expected NAME=VALUE"),
        ("command: [a]\nallreduce: 1", "job.yaml:2: allreduce: no such field; the nearest is all_reduce"),
    ],
)
def test_faults_of_job_files(tmp_path, text, message):
    (tmp_path / "job.yaml").write_text(text)
    with pytest.raises(OfframpError, match=message):
        JobSettings.read(tmp_path / "job.yaml")
