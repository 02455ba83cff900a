# SPDX-License-Identifier: Apache-2.0
"""LEO's runtime between two processes: what it sustains, what each side's processor pays, and a mix of paths."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from offramp.leo.applications import kvs
from offramp.leo.applications.compare import compare
from offramp.leo.applications.load import closed_loop
from offramp.leo.applications.named import open_application
from offramp.leo.applications.times import ApplicationTimes
from offramp.leo.runtime.process import ResponderProcess
from offramp.leo.runtime.requester import Requester, RequesterSettings

pytestmark = pytest.mark.bench

SECONDS = 2.0


def processor_s(pid: int) -> float:
    """Seconds of processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().split()
    return (int(fields[13]) + int(fields[14])) / 100


@pytest.mark.parametrize(("transport", "least"), [("shm", 1e6), ("tcp", 3e5), ("ucx", 1e5)])
def test_look_ups_a_second(transport: str, least: float) -> None:
    """GETs of two round trips each, over the CPU's path, every value checked."""
    plan = replace(kvs.plan({}), listen="127.0.0.1:0" if transport == "tcp" else "")
    process = ResponderProcess(plan)
    try:
        program = kvs.program(["cpu"], ApplicationTimes(lambda *_: 500.0))
        requester = Requester(program, [process], settings=RequesterSettings(stride=64, transport=transport))
        workload = kvs.Ycsb("C")
        closed_loop(requester, workload, 0.3, 3072)
        begun = time.process_time(), processor_s(process.pid)
        outcomes = [closed_loop(requester, workload, SECONDS, 3072) for _ in range(3)]
        sent = sum(o.sent for o in outcomes)
        near, far = (time.process_time() - begun[0]) / sent, (processor_s(process.pid) - begun[1]) / sent
        rate = float(np.median([o.rate for o in outcomes]))
        print(f"{transport}: {rate:,.0f}/s; {near * 1e9:.0f} and {far * 1e9:.0f} ns of processor a request")  # noqa: T201
        assert not any(o.wrong for o in outcomes)
        requester.close()
        assert rate > least
    finally:
        process.close()


@pytest.mark.parametrize(
    ("name", "workload"),
    [("kvs", "C"), ("kvs", "B"), ("ebs", "4K"), ("ebs", "64K"), ("allreduce", ""), ("dfs", "")],
    ids=lambda text: text or "-",
)
def test_a_mix_sustains_the_sum_of_its_paths_and_answers_as_soon_as_the_better(name: str, workload: str) -> None:
    """CPU and modelled accelerator, in turns; on a machine with other load it may fail."""
    comparison = compare(open_application([name], devices={}, workload=workload), seconds=0.3, rounds=21)
    rates = ", ".join(f"{'+'.join(row.paths)} {row.rate:,.0f}/s {row.median_us:,.1f} us" for row in comparison.rows)
    print(f"{comparison.name}: {rates}; {comparison.share_of_sum:.0%}, {comparison.against_better:.2f}")  # noqa: T201
    assert not any(row.wrong for row in comparison.rows)
    assert comparison.share_of_sum >= 0.9
    assert comparison.against_better <= 1.1
