# SPDX-License-Identifier: Apache-2.0
"""Cost of an epoch's exchanges for workers and switch, in processor time: other work on the machine counts little.

``OFFRAMP_GRAPH`` names another graph than the generated one, ``OFFRAMP_TRANSPORT`` other links. docs/results has
the table; nothing passes or fails by it.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from offramp.switchgnn.fabric import SwitchEndpoint, SwitchFabric
from offramp.switchgnn.worker_link import open_worker
from offramp.train.job import exchange_widths, layer_widths
from offramp.train.planned import plan_run
from offramp.train.settings import TrainSettings
from offramp_p4.embedded import EmbeddedSwitch

pytestmark = pytest.mark.bench
GRAPH = os.environ.get("OFFRAMP_GRAPH", "sbm:n=20000,k=8,degree=15,features=500,homophily=0.9")
TRANSPORT = os.environ.get("OFFRAMP_TRANSPORT", "auto")
WORKERS, EPOCHS = 8, 20


def processor_s(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_exchanges_of_an_epoch() -> None:
    settings = TrainSettings(GRAPH, workers=WORKERS, layers=2, hidden=128, partition="metis-volume")
    graph = settings.load()
    planned = plan_run(graph, settings)
    plans = planned.plans
    of_width = {width: plans.index(each.plan) for width, each in planned.exchanges.items()}
    widths = exchange_widths(settings, layer_widths(graph, settings))
    context = multiprocessing.get_context("fork")
    barrier, answers = context.Barrier(WORKERS + 1), context.Queue()

    def work(rank: int, link: str) -> None:
        worker = open_worker(rank, plans, link, ExitStack(), 60.0)
        worker.start()
        rng = np.random.default_rng(rank)
        values = {
            w: rng.integers(-999, 999, (len(worker.boundary(i)), w)).astype(np.int32) for w, i in of_width.items()
        }
        for width in widths:
            worker.exchange(of_width[width], values[width])
        barrier.wait()
        clock, used = time.perf_counter(), time.process_time()
        for _ in range(EPOCHS):
            for width in widths:
                worker.exchange(of_width[width], values[width])
        answers.put((time.perf_counter() - clock, time.process_time() - used))
        barrier.wait()

    with EmbeddedSwitch(None, WORKERS, transport=TRANSPORT) as switch:
        ports = list(zip(switch.port_numbers, switch.port_specs, strict=True))
        with SwitchFabric(SwitchEndpoint(switch.address, ports), "switch") as fabric:
            fabric.load(plans, settings.memory // 128)
            workers = [context.Process(target=work, args=(rank, link)) for rank, link in enumerate(fabric.links)]
            for worker in workers:
                worker.start()
            barrier.wait()
            before = processor_s(switch.pid)
            outcomes = [answers.get(timeout=300) for _ in workers]
            of_switch = processor_s(switch.pid) - before
            barrier.wait()
            for worker in workers:
                worker.join()
    passes = sum(plans[of_width[width]].passes for width in widths)
    clock, used = max(c for c, _ in outcomes), sum(u for _, u in outcomes)
    sys.stdout.write(
        f"\n{GRAPH}: an epoch is {passes} passes in {len(widths)} exchanges; clock {1e3 * clock / EPOCHS:.1f} ms; "
        f"processor: workers {1e3 * used / EPOCHS:.1f} ms, switch {1e3 * of_switch / EPOCHS:.1f} ms\n"
    )
