# SPDX-License-Identifier: Apache-2.0
"""The packet-level simulator beside ns-3 on a star of 32 hosts with plain unicast flows: same times, ten times faster.

Needs an interpreter with the ``ns3`` wheel (GPL, so not of this project's environment), named by the variable
``OFFRAMP_NS3_PYTHON``: ``python -m venv DIR && DIR/bin/pip install ns3``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from offramp_sim.packets import Framing, Links, flows, simulate, star

pytestmark = pytest.mark.bench

PAYLOAD, HEADER = 1020, 30  # UDP, IPv4 and PPP; 1050 bytes take whole nanoseconds at 10 Gbit/s
RATE_BPS, DELAY_NS = 10_000_000_000, 2_000


@pytest.fixture(scope="module")
def ns3():
    python = os.environ.get("OFFRAMP_NS3_PYTHON")
    if not python:
        pytest.skip("OFFRAMP_NS3_PYTHON does not name an interpreter with the ns3 wheel")

    def run(hosts, table, *, watch):
        job = {"hosts": hosts, "rate_bps": RATE_BPS, "delay_ns": DELAY_NS, "payload": PAYLOAD}
        job |= {"flows": [[a, b, size // PAYLOAD] for a, b, size, _ in table], "watch": watch, "stop_s": 1.0}
        script = Path(__file__).with_name("ns3_star.py")
        done = subprocess.run([python, str(script)], input=json.dumps(job), capture_output=True, text=True, check=True)
        return json.loads(done.stdout.splitlines()[-1])

    return run


def ours(hosts, table):
    links = Links(RATE_BPS, DELAY_NS * 1000)
    begun = time.process_time()
    run = simulate(star(hosts, links), flows=flows(table), framing=Framing(PAYLOAD, HEADER))
    return run, time.process_time() - begun


def one_flow_each(hosts, packets, seed):
    """Every host sends one flow to a random other, so that what it sends needs no scheduling of its own."""
    rng = np.random.default_rng(seed)
    sinks = (np.arange(hosts) + rng.integers(1, hosts, hosts)) % hosts
    sizes = rng.integers(packets // 2, packets + 1, hosts) * PAYLOAD
    return [(int(a), int(b), int(s), 0) for a, b, s in zip(range(hosts), sinks, sizes, strict=True)]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_completion_times_agree(ns3, seed):
    """Within one packet: who of two goes first at the same instant is not defined."""
    table = one_flow_each(32, 60, seed)
    run, _ = ours(32, table)
    theirs = ns3(32, table, watch=True)
    assert theirs["received"] == sum(size // PAYLOAD for _, _, size, _ in table)
    np.testing.assert_allclose(run.finish_ps / 1e12, theirs["finish_s"], rtol=0, atol=1050 * 0.8e-9 + 1e-9)


def test_ten_times_as_fast(ns3):
    table = one_flow_each(32, 4000, 0)
    ours(32, table)  # compiled
    _, seconds = ours(32, table)
    theirs = ns3(32, table, watch=False)
    packets = sum(size // PAYLOAD for _, _, size, _ in table)
    assert theirs["received"] == packets
    speeds = f"{packets / seconds:,.0f} packets/s, ns-3 {packets / theirs['seconds']:,.0f}"
    sys.stdout.write(f"{speeds}\n")
    assert seconds * 10 < theirs["seconds"], speeds
