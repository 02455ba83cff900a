# SPDX-License-Identifier: Apache-2.0
"""Kinds of jobs other than programs that sum: what each way costs by its model, and what its ranks run."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from offramp.job.gnn_switches import GnnNetwork
from offramp.job.kind import CalibrationResult, JobStart, PlacedJob, kind_of
from offramp.job.planner import make_job_plan
from offramp.job.settings import JobSettings
from offramp_base.errors import OfframpError

pytest.importorskip("torch")
TEXTS = {
    "train": "graph: karate\nhidden: 8\npartition: hash\n",
    "dgs": "graph: karate\nhidden: 8\npartition: hash\nfanout: '3,3'\n",
    "torchgt": "graph: karate\nlayers: 2\nhidden: 16\nheads: 4\nclusters: 2\nblock: 4\n",
    "unitg": "graph: karate\nlayers: 4\nhidden: 8\nepochs: 30\nlm_epochs: 3\n",
    "leo": "names: [kvs]\nrequests: 500\n",
}


@pytest.fixture
def read(tmp_path):
    """A job of a kind, as its files say."""

    def make(kind: str, more: str = "") -> JobSettings:
        (tmp_path / "what.yaml").write_text(TEXTS[kind])
        (tmp_path / "job.yaml").write_text(f"{kind}: what.yaml\n{more}")
        return JobSettings.read(tmp_path / "job.yaml")

    return make


def times(plan):
    return {each.way: each.step_s for each in plan.choices}


@pytest.mark.parametrize("kind", ["dgs", "torchgt"])
def test_ways_that_compute_something_else_must_be_allowed(read, racks, kind):
    job = read(kind)
    plan = make_job_plan(job, racks)
    assert times(plan)[plan.plain.way] > 0
    lossy = kind_of(job).lossy
    assert {way for way, seconds in times(plan).items() if seconds is None} == set(lossy)
    assert all(each.reason == "the job does not allow loss (lossy)" for each in plan.choices if each.way in lossy)
    step_s = times(make_job_plan(replace(job, lossy=True), racks))
    assert None not in step_s.values()


def test_what_travels_decides_where_nothing_was_measured(read, racks):
    step_s = times(make_job_plan(read("torchgt", "lossy: true"), racks))
    assert step_s["reformed+bfloat16"] == pytest.approx(step_s["full"] / 2)
    # 34 vertices and 16 columns over 4 ranks, 4 tensors forward, backward and in the evaluation, 2 layers, 100 Mb/s
    assert step_s["full"] == pytest.approx(34 / 4 * (16 / 4) * 4 * 3 * 4 * 3 * 2 * 8 / 100e6)
    step_s = times(make_job_plan(read("dgs", "lossy: true"), racks))
    assert step_s["replicated"] <= step_s["random"]
    assert step_s["dgs"] < step_s["random"]


def test_a_calibration_decides_for_every_kind(read, racks):
    for kind in ("dgs", "torchgt", "unitg"):
        job = read(kind, "lossy: true")
        first, *others = kind_of(job).ways

        def measured(ways, _, last=others[-1]):
            return CalibrationResult({way: [0.1 if way == last else 0.4] for way in ways})

        plan = make_job_plan(job, racks, measured)
        assert plan.taken.way == others[-1]
        assert plan.gain == pytest.approx(4)
        plan = make_job_plan(job, racks, lambda ways, _, first=first: CalibrationResult({first: [0.4]}))
        assert plan.taken.way == first
        assert all(each.reason == "calibration: the deadline had passed" for each in plan.choices[1:])


def test_a_short_run_of_unitg_has_the_same_share_of_both_models(read, racks, tmp_path):
    placed = PlacedJob.on(read("unitg"), racks)
    words = kind_of(placed.job).program(placed, "interleaved", JobStart(tmp_path, rounds=6)).command
    given = dict(pairwise(words))
    said = [given[f"--{name}"] for name in ("epochs", "lm-epochs", "mode", "stages")]
    assert said == ["10", "1", "interleaved", "4"]


@pytest.mark.parametrize(
    ("name", "way"), [("train", "p2p"), ("dgs", "random"), ("torchgt", "full"), ("unitg", "sequential")]
)
def test_training_resumes_from_its_checkpoint(read, racks, tmp_path, name, way):
    import numpy as np

    placed = PlacedJob.on(read(name), racks)
    kind = kind_of(placed.job)
    path = tmp_path / "checkpoint.npz"
    path.write_bytes(b"an earlier run's")
    assert "--resume" not in kind.program(placed, way, JobStart(tmp_path)).command
    assert not path.exists()
    np.savez(path, epoch=10)
    words = kind.program(placed, way, JobStart(tmp_path, attempt=1)).command
    assert words[words.index("--resume") + 1] == str(path)
    for bad in (60, 0):  # it had ended, or makes no sense
        np.savez(path, epoch=bad)
        assert "--resume" not in kind.program(placed, way, JobStart(tmp_path, attempt=1)).command
    path.write_bytes(b"half of one")
    assert "--resume" not in kind.program(placed, way, JobStart(tmp_path, attempt=1)).command


def test_where_switchgnn_finds_leaves_and_spines(racks):
    """Only leaves with as many hosts, side by side, and ports as its plans number them."""
    network = GnnNetwork.of(racks, racks.hosts)
    assert [switch.name for switch in network.switches] == ["leaf1", "leaf2", "spine"]
    assert network.racks is not None
    with pytest.raises(OfframpError, match="expected as many of the job's hosts under each leaf, side by side"):
        GnnNetwork.of(racks, [racks.hosts[k] for k in (0, 2, 1, 3)])
    with pytest.raises(
        OfframpError, match=r"cluster.yaml:\d+: leaf1: spine is at port 3, expected 2: SwitchGNN counts"
    ):
        GnnNetwork.of(racks, [racks.hosts[0], racks.hosts[2]])
    assert GnnNetwork.of(racks, racks.hosts[:2]).racks is None


def test_a_leo_application_is_between_two_hosts(read, racks, tmp_path):
    with pytest.raises(OfframpError, match="4 ranks: a LEO application has 2: expected hosts that name two"):
        make_job_plan(read("leo"), racks)
    job = read("leo", "hosts: h1,h3\n")
    plan = make_job_plan(job, racks)
    assert plan.plain.way == "one-path"
    placed = PlacedJob.on(job, racks)
    (_, _, script) = kind_of(job).program(placed, "lookahead", JobStart(tmp_path)).command
    assert "--policy lookahead" in script
    assert f"--listen {racks.hosts[2].address}:29500" in script
    assert "--requests 500" in script


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("train: a.yaml\ndgs: b.yaml\n", "job.yaml:2: dgs: goes without train"),
        ("command: [a]\nleo: b.yaml\n", "job.yaml:2: leo: goes without command"),
    ],
)
def test_a_job_is_of_one_kind(tmp_path, text, message):
    (tmp_path / "job.yaml").write_text(text)
    with pytest.raises(OfframpError, match=message):
        JobSettings.read(tmp_path / "job.yaml")


def test_a_leo_file_without_an_application(read, racks, tmp_path):
    job = read("leo", "hosts: h1,h3\n")
    (tmp_path / "what.yaml").write_text("requests: 5\n")
    with pytest.raises(OfframpError, match=r"what.yaml: names: expected an application"):
        make_job_plan(job, racks)


def test_auto_chooses_under_the_rate_of_the_links(read, racks, tmp_path):
    for more, rates in (("", None), ("scheme: auto\n", '{"link_bps": 100000000}'), ("scheme: auto\nrates: r\n", "r")):
        job = read("train")
        (tmp_path / "what.yaml").write_text(TEXTS["train"] + more)
        assert kind_of(job).settings(PlacedJob.on(job, racks), "switchgnn").rates == rates
    (tmp_path / "what.yaml").write_text(TEXTS["train"] + "scheme: auto\n")
    assert kind_of(job).settings(PlacedJob.on(job, racks), "switchgnn+q8").rates is None
