"""LEO's runtime between two processes: requests a second over each transport, and what each side's processor pays."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from offramp.leo.applications import kvs
from offramp.leo.applications.load import closed_loop
from offramp.leo.applications.times import Times
from offramp.leo.runtime.process import ResponderProcess
from offramp.leo.runtime.requester import Requester, Settings

pytestmark = pytest.mark.bench

SECONDS = 2.0


def processor_s(pid: int) -> float:
    """Seconds of processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().split()
    return (int(fields[13]) + int(fields[14])) / 100


@pytest.mark.parametrize(("transport", "least"), [("shm", 1e6), ("tcp", 3e5), ("ucx", 1e5)])
def test_look_ups_a_second(transport: str, least: float) -> None:
    """GETs of two round trips each, over the CPU's path, every value checked."""
    process = ResponderProcess(kvs.plan({}))
    try:
        program = kvs.program(["cpu"], Times(lambda *_: 500.0))
        requester = Requester(program, [process.address], settings=Settings(stride=64, transport=transport))
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
