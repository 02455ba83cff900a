# SPDX-License-Identifier: Apache-2.0
"""ASTRA-sim's numbers without latencies beside the paper's cost model: its analytical back end, nanoseconds.

Published are the reference output of its regression test (``tests/rt_template``) and the sends that the tests of
astra-network-analytical expect. The tables below were measured with ASTRA-sim at commit aefa354, built as it is but for
the two members of its class Sys that choose Themis's schedulers: congestion-unaware, FIFO, one active chunk for each
dimension, endpoint delay 1, memory without limits. Its rings use one link of two.
Blind to: fixed delays of several chunks at a time, which overlap here and not there; `test_serial.py` has their model.
"""

from __future__ import annotations

import pytest

from offramp.themis.demand import Demand
from offramp.themis.network import Collective, Dimension, DimensionTopology, Network
from offramp.themis.network_file import load_network
from offramp.themis.plan import Scheduler, make_plan
from offramp.themis.system_file import SystemFile

GIB_S = 8 * 2**30
MIB = 2**20
RING, FULL, SWITCH = DimensionTopology.RING, DimensionTopology.FULLY_CONNECTED, DimensionTopology.SWITCH

MEASURED = [
    # kinds, sizes, GiB/s of an NPU, ns of a step, MiB, chunks, scheduler, ns
    ([RING], [8], [50], [500], 64, 1, Scheduler.BASELINE, 2_194_515),
    ([FULL], [8], [350], [500], 64, 1, Scheduler.BASELINE, 313_503),
    ([SWITCH], [8], [50], [1000], 64, 1, Scheduler.BASELINE, 2_193_507),
    ([RING, SWITCH], [4, 4], [100, 50], [0, 0], 64, 1, Scheduler.BASELINE, 1_406_263),
    ([RING, SWITCH], [4, 4], [100, 50], [0, 0], 64, 16, Scheduler.BASELINE, 937_568),
    ([RING, SWITCH], [4, 4], [100, 50], [0, 0], 64, 64, Scheduler.BASELINE, 937_856),
    ([FULL, RING, SWITCH], [4, 4, 4], [300, 50, 25], [0, 0, 0], 64, 1, Scheduler.BASELINE, 1_015_641),
    ([FULL, RING, SWITCH], [4, 4, 4], [300, 50, 25], [0, 0, 0], 64, 4, Scheduler.BASELINE, 546_904),
    ([FULL, RING, SWITCH], [4, 4, 4], [300, 50, 25], [0, 0, 0], 64, 16, Scheduler.BASELINE, 488_334),
    ([FULL, RING, SWITCH], [4, 4, 4], [300, 50, 25], [0, 0, 0], 64, 64, Scheduler.BASELINE, 473_878),
    ([SWITCH, SWITCH], [16, 64], [150, 100], [0, 0], 1024, 4, Scheduler.BASELINE, 12_500_024),
    ([SWITCH, SWITCH], [16, 64], [150, 100], [0, 0], 1024, 64, Scheduler.BASELINE, 12_500_352),
    ([SWITCH, SWITCH, SWITCH], [16, 8, 8], [100, 100, 100], [0, 0, 0], 1024, 64, Scheduler.BASELINE, 18_750_464),
    ([SWITCH, SWITCH, SWITCH], [16, 8, 8], [200, 100, 50], [0, 0, 0], 1024, 64, Scheduler.BASELINE, 9_375_360),
    ([SWITCH, SWITCH], [16, 64], [150, 100], [0, 0], 1024, 64, Scheduler.THEMIS_FIFO, 9_130_463),
    ([SWITCH, SWITCH, SWITCH], [16, 8, 8], [200, 100, 50], [0, 0, 0], 1024, 64, Scheduler.THEMIS_SCF, 5_778_842),
    ([SWITCH, SWITCH], [4, 4], [100, 50], [0, 0], 256, 4, Scheduler.THEMIS_FIFO, 3_750_027),
    ([SWITCH, SWITCH], [4, 4], [100, 50], [0, 0], 256, 64, Scheduler.THEMIS_FIFO, 3_135_028),
]

OTHER_TIES = [  # the paper's topologies, where their Themis breaks ties and sets thresholds otherwise
    ([SWITCH, SWITCH], [16, 64], [150, 100], Scheduler.THEMIS_SCF, 8_250_043),
    ([SWITCH, SWITCH, SWITCH], [16, 8, 8], [200, 100, 50], Scheduler.THEMIS_FIFO, 5_887_481),
]


@pytest.mark.parametrize(("kinds", "sizes", "gib_s", "ns", "mib", "chunks", "scheduler", "theirs"), MEASURED)
def test_all_reduces(kinds, sizes, gib_s, ns, mib, chunks, scheduler, theirs):
    """They add an endpoint delay to each message and cut it to whole nanoseconds: never less than ours, 0.06 % more."""
    rows = zip(kinds, sizes, gib_s, ns, strict=True)
    network = Network("theirs", tuple(Dimension(kind, size, rate * GIB_S, delay) for kind, size, rate, delay in rows))
    ours = make_plan(network, [Demand(Collective.ALL_REDUCE, mib * MIB)], scheduler, chunks).finish_ps / 1e3
    assert ours <= theirs <= ours * 1.0006


@pytest.mark.parametrize(("kinds", "sizes", "gib_s", "scheduler", "theirs"), OTHER_TIES)
def test_all_reduces_that_differ_in_ties(kinds, sizes, gib_s, scheduler, theirs):
    """1 GiB in 64 chunks, within 1.3 %, and ours is not behind."""
    rows = zip(kinds, sizes, gib_s, strict=True)
    network = Network("theirs", tuple(Dimension(kind, size, rate * GIB_S) for kind, size, rate in rows))
    ours = make_plan(network, [Demand(Collective.ALL_REDUCE, 1024 * MIB)], scheduler, 64).finish_ps / 1e3
    assert ours <= theirs <= ours * 1.013


def test_the_published_regression_test():
    """1 MiB on a ring of 8 in four chunks, one after the other: 117,780 cycles of a nanosecond."""
    ring = Network("ring", (Dimension(RING, 8, 2 * 50 * GIB_S, 500),))
    network = SystemFile(endpoint_ns=10, memory_bps=50 * 8e9).on(ring)
    assert make_plan(network, [Demand(Collective.ALL_REDUCE, MIB)], Scheduler.BASELINE, 4).finish_ps == 117_780_000


@pytest.mark.parametrize(("dim", "published"), [(0, 4_932), (1, 10_265), (2, 23_531)])
def test_published_sends_on_each_dimension(tmp_path, dim, published):
    """1 MiB over one link, in Ring_FullyConnected_Switch.yml."""
    (tmp_path / "n.yml").write_text(
        "topology: [ Ring, FullyConnected, Switch ]\nnpus_count: [ 2, 8, 4 ]\n"
        "bandwidth: [ 200.0, 100.0, 50.0 ]  # GB/s\nlatency: [ 50.0, 500.0, 2000.0 ]  # ns\n"
    )
    along = load_network(str(tmp_path / "n.yml")).dimensions[dim]
    links = along.size - 1 if along.kind is FULL else 1
    assert published <= MIB * 8e9 * links / along.bandwidth_bps + along.latency_ns < published + 1
