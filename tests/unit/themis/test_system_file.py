# SPDX-License-Identifier: Apache-2.0
"""ASTRA-sim's system files in both syntaxes, and one line for every fault."""

from __future__ import annotations

import json
import math

import pytest

from offramp.themis import system_file
from offramp.themis.demand import Demand
from offramp.themis.network import Collective, Dimension, DimensionTopology, Network
from offramp.themis.plan import Scheduler, make_plan
from offramp.themis.system_file import read_system
from offramp_base.errors import OfframpError

NETWORK = Network("n", (Dimension(DimensionTopology.RING, 4, 8e9, 5), Dimension(DimensionTopology.SWITCH, 4, 8e9, 8)))
SYSTEM = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 3,
    "active-chunks-per-dimension": 2,
    "preferred-dataset-splits": 16,
    "all-reduce-implementation": ["direct", "ring"],
    "all-to-all-implementation": ["oneDirect"],
    "collective-optimization": "localBWAware",
    "local-mem-bw": 50,
    "boost-mode": 0,
}
LINES = """scheduling-policy: LIFO
endpoint-delay: 3
active-chunks-per-dimension: 2
preferred-dataset-splits: 16
all-reduce-implementation: direct_ring
all-to-all-implementation: oneDirect
collective-optimization: localBWAware
boost-mode: 0
"""


def read(tmp_path, text):
    (tmp_path / "sys.txt").write_text(text)
    return read_system(str(tmp_path / "sys.txt"))


def test_the_slowest_memory_that_is_taken(tmp_path):
    slowest = 1 / system_file._MOST
    assert read(tmp_path, json.dumps(SYSTEM | {"local-mem-bw": slowest})) is not None
    with pytest.raises(OfframpError, match="local-mem-bw"):
        read(tmp_path, json.dumps(SYSTEM | {"local-mem-bw": slowest * 0.999}))


def test_computation(tmp_path):
    assert read(tmp_path, json.dumps(SYSTEM)).peak_flops is None
    extra = {"peak-perf": 2, "roofline-enabled": 1}
    system = read(tmp_path, json.dumps({**SYSTEM, **extra, "replay-only": 1}))
    assert (system.peak_flops, system.replay_only) == (2e12, True)
    assert system.computation_ns(0, 0, 50) == 0
    assert (system.computation_ns(0, 4000, 0), system.computation_ns(9, 4000, 500)) == (2, 10)
    for fault, said in (
        ({"peak-perf": 0}, "peak-perf: 0: expected TFLOPS"),
        ({"local-mem-bw": None}, "local-mem-bw: expected GB/s, with the roofline"),
        ({"roofline-enabled": 2}, "roofline-enabled: 2: expected 0 or 1"),
    ):
        with pytest.raises(OfframpError, match=said):
            read(tmp_path, json.dumps({**SYSTEM, **extra, **fault}))


def test_both_syntaxes(tmp_path):
    system = read(tmp_path, json.dumps(SYSTEM))
    assert (system.chunks, system.endpoint_ns, system.memory_bps, system.at_once) == (16, 3, 400e9, 2)
    lines = read(tmp_path, LINES)
    assert (lines.chunks, lines.algorithms, lines.memory_bps) == (16, system.algorithms, math.inf)
    ring, switch = system.on(NETWORK).dimensions
    assert ring.messages is not None
    assert switch.messages is not None
    assert (ring.messages.link_bps, ring.messages.hop_ns, ring.messages.algorithms[0]) == (4e9, 5, "direct")
    assert (switch.messages.link_bps, switch.messages.hop_ns, switch.messages.algorithms[:2]) == (
        8e9,
        4,
        ("ring", "halvingDoubling"),
    )


def test_an_algorithm_over_all_dimensions_is_refused_where_it_is_run(tmp_path):
    network = read(tmp_path, LINES).on(NETWORK)
    make_plan(network, [Demand(Collective.ALL_REDUCE, 4096)], Scheduler.BASELINE, 1)
    with pytest.raises(OfframpError, match="all-to-all on a ring dimension: algorithm 'oneDirect': expected one of"):
        make_plan(network, [Demand(Collective.ALL_TO_ALL, 4096)], Scheduler.BASELINE, 1)
    single = Network("n", NETWORK.dimensions[:1])
    messages = read(tmp_path, LINES.replace("direct_ring", "oneRing")).on(single).dimensions[0].messages
    assert messages is not None
    assert (messages.algorithms[0], messages.algorithms[3]) == ("ring", "direct")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "sys.txt: expected JSON"),
        ("endpoint-delay 3", "sys.txt: line 1: expected KEY: VALUE"),
        (LINES + "boost-mode: 1", "line 9: boost-mode for a second time"),
        (LINES.replace("LIFO", "SOON"), "scheduling-policy: 'SOON': expected LIFO, FIFO or EXPLICIT"),
        (LINES.replace("splits: 16", "splits: 0"), "preferred-dataset-splits: 0: expected an integer of at least 1"),
        (LINES.replace("delay: 3", "delay: x"), "endpoint-delay: 'x': expected an integer of at least 0"),
        (LINES.replace("localBWAware", "best"), "collective-optimization: 'best': expected baseline or localBWAware"),
        (json.dumps(SYSTEM | {"local-mem-bw": 0}), "local-mem-bw: 0: expected GB/s"),
        (json.dumps(SYSTEM | {"local-mem-bw": 1e-300}), "local-mem-bw: 1e-300: expected GB/s"),
        (json.dumps(SYSTEM | {"model-shared-bus": 1}), "model-shared-bus: not modelled: expected 0"),
        (json.dumps(SYSTEM | {"all-reduce-implementation": "ring"}), "all-reduce-implementation: 'ring': expected an"),
        (json.dumps(SYSTEM | {"all-reduce-implementation-chakra": ["x"]}), "-chakra: not modelled here: expected one"),
        (LINES + "collective-implementation: allToAll", "collective-implementation: not modelled here"),
    ],
)
def test_faults(tmp_path, text, message):
    with pytest.raises(OfframpError, match=message):
        read(tmp_path, text)


def test_systems_for_other_networks(tmp_path):
    system = read(tmp_path, LINES.replace("direct_ring", "ring_ring_ring"))
    with pytest.raises(OfframpError, match="all-reduce-implementation: 3 algorithms, but n has 2 dimensions"):
        system.on(NETWORK)
    with pytest.raises(OfframpError, match="collective-optimization: baseline: expected localBWAware on several"):
        read(tmp_path, LINES.replace("localBWAware", "baseline")).on(NETWORK)


def test_a_dimension_of_one_has_no_messages_and_one_of_two_has_one_link(tmp_path):
    sizes = Network("n", tuple(Dimension(DimensionTopology.RING, n, 8e9, 5, bidirectional=True) for n in (1, 2)))
    alone, pair = read(tmp_path, json.dumps(SYSTEM)).on(sizes).dimensions
    assert alone == sizes.dimensions[0]
    assert (pair.messages.link_bps, pair.messages.bidirectional) == (8e9, False)
