# SPDX-License-Identifier: Apache-2.0
"""No prediction is below what links, cuts, switches and processors allow; what is planned is what runs, in time."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
import yaml
from rich.console import Console

from offramp.cluster import parse_cluster
from offramp.fabric import Fabric
from offramp.job import floor, run
from offramp.job.bounded import Deadline, wait_for_abandoned
from offramp.job.cuts import cuts
from offramp.job.floor import Bottleneck, Floors, StepTraffic
from offramp.job.kind import CalibrationResult, Deployment, PlacedJob, kind_of
from offramp.job.kinds.sums import SumsJob
from offramp.job.measuring import measurer
from offramp.job.network import ReductionNetwork
from offramp.job.planner import make_job_plan
from offramp.job.ranks import RankProcesses
from offramp.job.settings import JobSettings
from offramp.themis.demand import Demand
from offramp.themis.kinds import Collective
from offramp.themis.network_file import network_of
from offramp.themis.plan import make_plan
from offramp_base.errors import OfframpError
from offramp_cli.job.job import plan_of
from random_jobs import as_text, cluster_document, contradiction, job_document, network_floor_s, sums_floor_s

ONE_NIC = """\
name: one-nic
hosts:
  - {name: "h[1-4]", address: 10.51.0.1}
switches:
  - {name: "leaf[1-2]", target: plain}
links:
  - {ends: ["h[1-2]", leaf1], rate: 100mbit}
  - {ends: ["h[3-4]", leaf2], rate: 100mbit}
  - {ends: [leaf1, leaf2], rate: 200mbit}
dimensions:
  - {type: switch, size: 2, rate: 100mbit}
  - {type: switch, size: 2, rate: 100mbit}
"""
D3 = """\
name: d3
hosts:
  - {name: "h[1-120]", address: 10.52.0.1}
switches:
  - {name: s1, target: plain, ports: 256}
links:
  - {ends: ["h[1-120]", s1], rate: RATE}
dimensions:
  - {type: fully-connected, size: 6, rate: 900gbit}
  - {type: fully-connected, size: 5, rate: 200gbit}
  - {type: fully-connected, size: 4, rate: 50gbit}
"""


def row(plan, way):
    return next(each for each in plan.choices if each.way == way)


# --- the cases ----------------------------------------------------------------------------------------------


def test_a_nic_carries_both_dimensions():
    job = JobSettings(command=("true",), all_reduce=8_000_000)
    plan = make_job_plan(job, parse_cluster(ONE_NIC))
    assert min(each.step_s for each in plan.choices if each.step_s is not None) == pytest.approx(0.96)
    themis = row(plan, ReductionNetwork.THEMIS)
    assert (themis.bound, themis.model_s) == (Bottleneck.LINKS, pytest.approx(0.48, rel=1e-3))
    assert plan.taken.way == ReductionNetwork.GLOO
    assert row(plan, ReductionNetwork.GLOO).bound is Bottleneck.MODEL


@pytest.mark.parametrize(
    ("rate", "bound", "step_s"), [("900gbit", Bottleneck.LINKS, 1.1283e-3), ("2tbit", Bottleneck.MODEL, 0.8830e-3)]
)
def test_themis_is_planned_as_its_executor_runs(rate, bound, step_s):
    """The scheduler of executors needs 0.883 ms, the paper's 1.44; links of 900 Gb/s do not carry 1,150 at once."""
    job = JobSettings(command=("true",), all_reduce=64_000_000)
    plan = make_job_plan(job, parse_cluster(D3.replace("RATE", rate)))
    themis = row(plan, ReductionNetwork.THEMIS)
    assert themis.model_s == pytest.approx(0.8830e-3, rel=1e-3)
    assert (themis.bound, themis.step_s) == (bound, pytest.approx(step_s, rel=1e-3))
    assert "120 ranks: a sum in the switch has at most 32 ranks" in row(plan, ReductionNetwork.SWITCH).reason


def test_messages_list_a_handful_at_most():
    plan = make_job_plan(JobSettings(command=("true",), all_reduce=1), parse_cluster(D3.replace("RATE", "900gbit")))
    assert all(sum(word.strip("[],.").isdecimal() for word in each.reason.split()) <= 6 for each in plan.choices)


def test_a_slow_uplink_is_the_narrowest_cut(racks, job):
    slow = replace(racks, links=tuple(replace(e, rate_bps=10**7) if e.b.node == "spine" else e for e in racks.links))
    plan = make_job_plan(job, slow)
    for choice in plan.choices:
        if choice.step_s is not None:
            assert choice.step_s >= 10e6 * 8 / 1e7
    assert row(plan, ReductionNetwork.SWITCH).bound is Bottleneck.CUT


def test_dimensions_faster_than_all_links_name_both_lines():
    text = ONE_NIC.replace("size: 2, rate: 100mbit}\n  -", "size: 2, rate: 101mbit}\n  -")
    said = (
        r"cluster.yaml:11: dimensions\[0\].rate: 101Mbit of a rank on h1: expected at most 100Mbit,.*\(cluster.yaml:7\)"
    )
    with pytest.raises(OfframpError, match=said):
        parse_cluster(text)
    inside = text.replace('"h[1-4]", address', '"h[1-2]", ranks: 2, address').replace(
        '["h[3-4]", leaf2]', "[h1, leaf2]"
    )
    assert parse_cluster(inside.replace('["h[1-2]", leaf1]', "[h2, leaf1]")).dimensions[0].rate_bps == 101e6
    alone = "name: pod\ndimensions:\n  - {type: switch, size: 4, rate: 900gbit}\n"
    assert parse_cluster(alone).dimensions[0].rate_bps == 900e9
    unlinked = alone.replace("dimensions", 'hosts:\n  - {name: "h[1-4]"}\ndimensions')
    assert parse_cluster(unlinked).dimensions[0].size == 4


def test_the_software_switch_is_named_where_it_is_the_limit(racks, job, monkeypatch):
    """Hosts that are this machine share its processors with switches; measurements have that in them."""
    fast = replace(racks, links=tuple(replace(each, rate_bps=10**11) for each in racks.links))
    assert make_job_plan(job, fast).warning == ""
    monkeypatch.setattr("offramp.job.floor.is_here", lambda host: True)
    monkeypatch.setattr("offramp.job.floor.processors", lambda: 2)
    plan = make_job_plan(job, fast)
    frames = -(-job.all_reduce // (4 * 256))
    expected = 4 * frames * (floor.SUMMED_FRAME_S + floor.SUMMED_BYTE_S * 4 * 256) / 2
    assert row(plan, ReductionNetwork.SWITCH).step_s == pytest.approx(expected)
    assert row(plan, ReductionNetwork.SWITCH).bound is Bottleneck.PROCESSORS
    assert "allreduce" in plan.warning
    monkeypatch.setattr("offramp.job.floor.processors", lambda: 4)
    assert row(make_job_plan(job, fast), ReductionNetwork.SWITCH).step_s == pytest.approx(expected / 2)
    seconds = {ReductionNetwork.GLOO: [1.0], ReductionNetwork.SWITCH: [0.001]}
    assert (
        row(make_job_plan(job, fast, lambda ways, size: CalibrationResult(seconds)), ReductionNetwork.SWITCH).step_s
        < expected
    )


def test_a_switch_elsewhere_makes_its_passes_one_after_the_other(racks, job):
    fast = replace(racks, links=tuple(replace(each, rate_bps=10**12) for each in racks.links))
    frames = -(-job.all_reduce // (4 * 256))
    switch = row(make_job_plan(job, fast), ReductionNetwork.SWITCH)
    assert switch.bound is Bottleneck.PASSES
    assert switch.step_s == pytest.approx(3 * frames * floor.PASS_S["v1model"])


# --- calibrations that fail ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("ratio", "taken"), [(1.9, ReductionNetwork.GLOO), (2.1, ReductionNetwork.SYLVIE)])
def test_without_the_wanted_calibration_only_what_is_far_better_is_taken(racks, job, ratio, taken):
    """Sylvie's model by the number of its bits and a step's computation is as many times as fast as the ring's."""
    lossy = replace(job, lossy=True, bits=1)
    plain, fast = (
        row(make_job_plan(lossy, racks), way).step_s for way in (ReductionNetwork.GLOO, ReductionNetwork.SYLVIE)
    )
    apart = (plain - ratio * fast) / (ratio - 1)
    lossy = replace(lossy, compute_s=apart)

    def overdue(ways, size):
        raise OfframpError("has not ended within 60.0 s")

    plan = make_job_plan(lossy, racks, overdue)
    assert (plan.calibrated, plan.reason) == (False, "has not ended within 60.0 s")
    assert plan.taken.way == taken
    assert ("calibration did not end" in plan.taken.reason) == (taken == ReductionNetwork.GLOO)
    assert {each.correction for each in plan.choices} == {None}
    trusted = make_job_plan(lossy, racks)
    assert (trusted.taken.way, trusted.calibrated, trusted.reason) == (ReductionNetwork.SYLVIE, False, "")


def test_a_calibration_without_the_plain_way_is_none(racks, job):
    plan = make_job_plan(job, racks, lambda ways, size: CalibrationResult({ReductionNetwork.HERMOD: [0.001]}))
    assert not plan.calibrated
    assert plan.reason.startswith("gloo: calibration")
    assert plan.taken.way == ReductionNetwork.GLOO
    plan = make_job_plan(
        job, racks, lambda ways, size: CalibrationResult({ReductionNetwork.GLOO: [0.5], ReductionNetwork.HERMOD: [0.4]})
    )
    assert plan.calibrated
    assert [each.correction is None for each in plan.choices] == [False, True, False, True, True]


def test_a_calibration_that_hears_nothing_is_abandoned_at_the_deadline(racks, job, monkeypatch):
    released, ended, heard = threading.Event(), threading.Event(), []

    def slow(*given, stopped, engine):
        released.wait()
        heard.append(stopped())
        ended.set()
        raise OfframpError("late")

    monkeypatch.setattr(run, "calibrate", slow)
    try:
        plan = plan_of(Console(quiet=True), replace(job, deadline_s=0.2), racks, measure=True)
        assert not ended.is_set()
        assert plan.reason == "has not ended within 0.2 s" or "models took all" in plan.reason
    finally:
        released.set()
    wait_for_abandoned()
    assert "models" in plan.reason or heard == [True]


def test_ranks_for_whom_nobody_waits_are_killed(tmp_path: Path):
    cluster = parse_cluster("name: a\nhosts:\n  - {name: h1, reach: local}\n")
    job = JobSettings(command=("sh", "-c", "trap '' TERM; while :; do sleep 1; done"))
    ranks = RankProcesses(job, cluster, cluster.hosts, None, tmp_path)
    ranks.start()
    with pytest.raises(OfframpError, match="nobody waits"):
        ranks.wait(600, stopped=lambda: True)
    assert all(each.poll() is not None for each in ranks.processes)


def test_deploying_is_part_of_the_deadline(racks, job, tmp_path, monkeypatch):
    """A step that takes long leaves no time for the next one, and none for ranks."""
    clock = [0.0]
    monkeypatch.setattr(run, "Deadline", lambda seconds: Deadline(seconds, lambda: clock[0]))
    applied, undone = [], []

    class Slow:
        def __init__(self, name):
            self.name = name

        def apply(self):
            clock[0] += 40
            applied.append(self.name)

        def undo(self):
            undone.append(self.name)

        def holds(self):
            return ""

    steps = Deployment([Slow("a"), Slow("b"), Slow("c")])
    monkeypatch.setattr(SumsJob, "deployment", lambda *given: steps)
    monkeypatch.setattr(run, "undo_later", lambda cluster: None)
    with pytest.raises(OfframpError, match=r"not deployed within 60\.0 s: c"):
        run.calibrate(job, racks, [ReductionNetwork.GLOO], 1024, tmp_path, 60.0)
    assert (applied, undone) == (["a", "b"], ["b", "a"])


# --- random clusters and jobs -------------------------------------------------------------------------------


def _check_one(draw: Random, folder: Path, monkeypatch: pytest.MonkeyPatch, seen: Counter[str]) -> None:
    document = cluster_document(draw)
    if contradiction(document):
        seen["refused"] += 1
        with pytest.raises(OfframpError, match=r"drawn.yaml:\d+: dimensions\[\d\].rate: .*\(drawn.yaml:\d+\)"):
            parse_cluster(as_text(document), "drawn.yaml")
        document.pop("dimensions")
    cluster = parse_cluster(as_text(document), "drawn.yaml")
    job = JobSettings(**job_document(draw))
    clock = [draw.uniform(0, 1e6)]
    ends = clock[0] + job.deadline_s
    outcome = draw.choice(["none", "good", "bad"])

    def calibrate(job, cluster, ways, size, folder, timeout_s, *, stopped, engine):
        assert clock[0] + timeout_s <= ends
        clock[0] += draw.uniform(0.1, 1.0) * timeout_s
        if outcome == "bad":
            raise OfframpError("gone")
        return CalibrationResult({way: [10 ** draw.uniform(-6, 1) for _ in range(3)] for way in ways})

    monkeypatch.setattr(run, "calibrate", calibrate)
    plan = make_job_plan(job, cluster, None if outcome == "none" else measurer(job, cluster, lambda: clock[0]))
    assert clock[0] <= ends
    assert plan.calibrated == (outcome == "good")
    assert bool(plan.reason) == (outcome == "bad")
    kind, placed = kind_of(job), PlacedJob.on(job, cluster)
    for choice in plan.choices:
        if choice.step_s is None:
            continue
        least = sums_floor_s(cluster, job, choice.way)
        assert choice.step_s >= (job.compute_s + least) * (1 - 1e-9), (choice, as_text(document), job)
        assert (choice.correction is None) == (outcome != "good")
        seen[f"{choice.way}: {choice.bound}"] += 1
        if choice.way in (ReductionNetwork.THEMIS, ReductionNetwork.GLOO):
            placed_so = replace(placed, decided=choice.decided)
            network = yaml.safe_load(kind.deployment(placed_so, [choice.way], 1, folder).network)
            if choice.way == ReductionNetwork.THEMIS:
                _same_plan(cluster, job, network, choice.model_s)
    if outcome == "bad" and plan.taken is not plan.plain:
        assert plan.gain >= 2


def _same_plan(cluster, job, network, model_s):
    """The executor's plan by what its file says takes what the plan says."""
    ranks = len(cluster.ranks)
    size = -(-job.all_reduce // (job.collectives * 4 * ranks)) * 4 * ranks
    demand = Demand(Collective.ALL_REDUCE, size)
    plan = make_plan(network_of(cluster), [demand], network["scheduler"], network["chunks"], unit=4 * ranks)
    exchanges = model_s - job.collectives * plan.finish_ps / 1e12
    assert exchanges >= -1e-9 * model_s
    if not job.all_to_all:
        assert exchanges == pytest.approx(0, abs=1e-9 * model_s)


@pytest.mark.parametrize("part", range(4))
def test_random_clusters_and_jobs(part, tmp_path, monkeypatch):
    seen: Counter[str] = Counter()
    for number in range(5):
        _check_one(Random(1000 * part + number), tmp_path, monkeypatch, seen)
    assert sum(seen.values()) > 5


@pytest.mark.slow
def test_a_thousand_random_clusters_and_jobs(tmp_path, monkeypatch):
    seen: Counter[str] = Counter()
    for number in range(1000):
        _check_one(Random(number), tmp_path, monkeypatch, seen)
    assert seen["refused"] > 100
    for bound in (Bottleneck.MODEL, Bottleneck.LINKS, Bottleneck.CUT):
        assert sum(count for key, count in seen.items() if key.endswith(bound)) > 50, seen
    assert {key.partition(":")[0] for key in seen} >= {"gloo", "hermod", "themis", "sylvie", "allreduce"}


@pytest.mark.parametrize("number", range(20))
def test_any_traffic_has_the_oracles_floor(number):
    """Bytes between hosts of all kinds of jobs come as a matrix."""
    draw = Random(number)
    document = cluster_document(draw)
    document.pop("dimensions", None)
    cluster = parse_cluster(as_text(document))
    ranks = len(cluster.ranks)
    sent = np.random.default_rng(number).integers(0, 10**7, (ranks, ranks)).astype(float)
    host = np.repeat(np.arange(len(cluster.hosts)), [each.processes for each in cluster.hosts])
    between = np.zeros((len(cluster.hosts),) * 2)
    for a in range(ranks):
        for b in range(ranks):
            between[host[a], host[b]] += sent[a, b]
    placed = PlacedJob.on(JobSettings(command=("true",)), cluster)
    mine = Floors(placed).floor(StepTraffic(between=sent)).seconds
    least = network_floor_s(cluster, [each.name for each in cluster.hosts], 0.0, between)
    assert mine == pytest.approx(least, rel=1e-9)


def test_minimum_cuts_where_there_are_many_places():
    """Beyond the exhaustive search the narrowest cut between hosts is still the minimum one."""
    for number in range(10):
        draw = Random(number)
        switches = [f"s{n}" for n in range(12)]
        rates = {
            (a, b): draw.choice([10, 20, 50]) for a in range(12) for b in range(a) if b == a - 1 or draw.random() < 0.2
        }
        links = [{"ends": [switches[a], switches[b]], "rate": f"{rate}mbit"} for (a, b), rate in rates.items()]
        at = draw.sample(switches, 5)
        links += [{"ends": [f"h{n}", place], "rate": "1gbit"} for n, place in enumerate(at)]
        document = {
            "hosts": [{"name": f"h{n}"} for n in range(5)],
            "switches": [{"name": name} for name in switches],
            "links": links,
        }
        cluster = parse_cluster(as_text(document))
        narrowest = min(each.rate_bps for each in cuts(Fabric(cluster), cluster.hosts))
        least = network_floor_s(cluster, [each.name for each in cluster.hosts], 1.0, np.zeros((5, 5)), adds=True)
        assert 8 / narrowest == pytest.approx(least)
