# SPDX-License-Identifier: Apache-2.0
"""The speed of the main job's parts; docs/results has the table.

Times depend on the machine: nothing here passes or fails by them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from offramp.graph.boundary import Boundary
from offramp.graph.load import load as load_graph
from offramp.graph.partition import partition
from offramp.p4src import p4_root, p4_text
from offramp.switchgnn.control import SwitchGnnControl, sizes_for
from offramp.switchgnn.plan import make_plan
from offramp_base.p4rt.session import Session
from offramp_p4.embedded import EmbeddedSwitch
from offramp_p4.frontend import load
from offramp_p4.switch import Switch
from offramp_sim.switchgnn import direct
from offramp_sim.switchgnn.jobs import random_job
from offramp_sim.switchgnn.lockstep import Lockstep

pytestmark = pytest.mark.bench
PROGRAM = p4_root() / "switchgnn/v1model.p4"


def test_front_end_and_engine_load_the_program(benchmark) -> None:
    switch = benchmark(lambda: Switch(load(PROGRAM)))
    assert switch.tables


@pytest.mark.parametrize("features", [8, 32, 128])
def test_exchange_in_process(benchmark, features: int) -> None:
    job = random_job(1, vertices=400, edges=2000, workers=4, limit=400, features=(features,))
    switch = Switch(load(PROGRAM))
    direct.load(switch, job.plans, job.ports)
    lockstep = Lockstep(job.plans, job.ports, switch.process)
    lockstep.start()
    values = np.random.default_rng(0).integers(-1000, 1000, (400, features)).astype(np.int32)
    before = switch.stats.passes
    per_worker = [values[endpoint.boundaries[0]] for endpoint in lockstep.endpoints]
    lockstep.exchange(0, per_worker)
    passes = switch.stats.passes - before
    sums = benchmark(lockstep.exchange, 0, per_worker)
    expected = job.expected(values)
    for endpoint, got in zip(lockstep.endpoints, sums, strict=True):
        assert np.array_equal(got, expected[endpoint.boundaries[0]])
    benchmark.extra_info["passes per second"] = round(passes / benchmark.stats.stats.median)


def test_plan_entries_over_p4runtime(benchmark, tmp_path: Path) -> None:
    graph = load_graph("digits")
    plan = make_plan(Boundary(graph, partition(graph, 4, "hash", 0), 4), 1, 4_000_000)
    with EmbeddedSwitch(PROGRAM, ports=4, workdir=tmp_path) as switch, Session(switch.address) as session:
        text = p4_text("switchgnn/v1model.p4", sizes_for([plan]))
        control = SwitchGnnControl(session)

        def load_plan() -> None:
            session.push(b"", text.encode())
            control.load([plan], [1, 2, 3, 4])

        benchmark.pedantic(load_plan, rounds=3)
    benchmark.extra_info["entries"] = plan.passes + plan.uploads


def test_many_entries_over_p4runtime(benchmark, tmp_path: Path) -> None:
    graph = load_graph("sbm:n=20000,k=8,degree=16")
    plan = make_plan(Boundary(graph, partition(graph, 8, "hash", 0), 8), 1, 4_000_000)
    entries = plan.passes + 2 * plan.uploads
    with EmbeddedSwitch(PROGRAM, ports=8, workdir=tmp_path) as switch, Session(switch.address) as session:
        text = p4_text("switchgnn/v1model.p4", sizes_for([plan]))
        control = SwitchGnnControl(session)
        benchmark.pedantic(
            lambda: control.load([plan], list(range(8))), setup=lambda: session.push(b"", text.encode()), rounds=3
        )
    benchmark.extra_info["entries per second"] = round(entries / benchmark.stats.stats.min)
    sys.stdout.write(f"\n{entries} entries, {entries / benchmark.stats.stats.min:.0f} a second\n")


@pytest.mark.parametrize("method", ["metis-volume", "kahypar"])
def test_partition_and_plan(benchmark, method: str) -> None:
    graph = load_graph("sbm:n=20000,k=8,degree=16")

    def run() -> int:
        return make_plan(Boundary(graph, partition(graph, 8, method, 0), 8), 4, 1_000_000).uploads

    assert benchmark.pedantic(run, rounds=1) > 0
