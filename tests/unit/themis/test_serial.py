# SPDX-License-Identifier: Apache-2.0
"""Serial delays against ASTRA-sim at its own latencies: to the nanosecond.

Measured with ASTRA-sim at commit aefa354 and its analytical back end as they are (congestion-unaware), one collective
on all NPUs; the last test measures again, with the program that ``OFFRAMP_ASTRA_SIM`` names, on networks below the
folder that ``OFFRAMP_ASTRA_INPUTS`` names. Blind to: a direct all-reduce on a ring, where messages of ASTRA-sim's
second round leave before all of the first has been added (2 to 6 %), and sizes that chunks do not divide, which it
rounds up.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from astra_sim_program import NEEDED, TYPES, ends_ns, network_files, system_of
from offramp.cluster.formats import astra_sim
from offramp.hermod.chakra import schema
from offramp.hermod.chakra.node import ChakraNode, ChakraTrace
from offramp.hermod.chakra.trace import write_trace
from offramp.themis.bound import best_bound
from offramp.themis.demand import Demand
from offramp.themis.network import Collective, Dimension, DimensionTopology, Network, kind_named
from offramp.themis.network_file import load_network
from offramp.themis.plan import Scheduler, make_plan, replay
from offramp.themis.system_file import SystemFile
from offramp.themis.topologies import PAPER
from offramp_base.errors import OfframpError

MIB = 1 << 20
NETWORKS = [  # kind, NPUs, GiB/s and nanoseconds of a link
    (SystemFile(endpoint_ns=10, memory_bps=50 * 8e9), [("Ring", 8, 50, 500)]),
    (SystemFile(endpoint_ns=10, memory_bps=50 * 8e9), [("Switch", 8, 50, 500)]),
    (SystemFile(endpoint_ns=1, memory_bps=1000000 * 8e9), [("FullyConnected", 64, 50, 500)]),
    (
        SystemFile(endpoint_ns=10, memory_bps=50 * 8e9),
        [("Ring", 2, 200, 50), ("FullyConnected", 8, 100, 500), ("Switch", 4, 50, 2000)],
    ),
    (SystemFile(endpoint_ns=1, memory_bps=3350 * 8e9), [("Switch", 8, 400, 936.25), ("Ring", 4, 50, 1000)]),
    (SystemFile(endpoint_ns=10, memory_bps=50 * 8e9), [("Ring", 4, 80, 1000), ("Ring", 8, 80, 1000)]),
]
MEASURED = [  # network, collective, MiB, chunks, nanoseconds
    (0, "all-reduce", 1, 1, 96_365),
    (0, "all-reduce", 1, 64, 545_408),
    (0, "all-reduce", 64, 16, 5_824_720),
    (0, "all-reduce", 1024, 64, 91_828_544),
    (0, "reduce-scatter", 16, 8, 1_182_688),
    (0, "all-gather", 16, 8, 302_032),
    (0, "all-to-all", 16, 8, 1_207_888),
    (1, "all-reduce", 1, 1, 63_835),
    (1, "all-reduce", 1, 64, 445_760),
    (1, "all-reduce", 64, 16, 3_794_464),
    (1, "all-reduce", 1024, 64, 59_547_584),
    (1, "reduce-scatter", 16, 8, 675_192),
    (1, "all-gather", 16, 8, 297_744),
    (1, "all-to-all", 16, 8, 47_216),
    (2, "all-reduce", 1, 1, 1_613),
    (2, "all-reduce", 1, 64, 64_704),
    (2, "all-reduce", 64, 16, 55_088),
    (2, "all-reduce", 1024, 64, 689_088),
    (2, "reduce-scatter", 16, 8, 8_896),
    (2, "all-gather", 16, 8, 8_896),
    (2, "all-to-all", 16, 8, 8_896),
    (3, "all-reduce", 1, 1, 61_528),
    (3, "all-reduce", 1, 64, 1_031_647),
    (3, "all-reduce", 64, 16, 2_327_984),
    (3, "all-reduce", 1024, 64, 37_221_120),
    (3, "reduce-scatter", 16, 8, 564_348),
    (3, "all-gather", 16, 8, 85_572),
    (3, "all-to-all", 16, 8, 118_193),
    (4, "all-reduce", 1, 1, 25_611),
    (4, "all-reduce", 1, 64, 723_904),
    (4, "all-reduce", 64, 16, 475_792),
    (4, "all-reduce", 1024, 64, 5_454_976),
    (4, "reduce-scatter", 16, 8, 91_587),
    (4, "all-gather", 16, 8, 85_800),
    (4, "all-to-all", 16, 8, 519_260),
    (5, "all-reduce", 1, 1, 104_803),
    (5, "all-reduce", 1, 64, 930_611),
    (5, "all-reduce", 64, 16, 4_288_976),
    (5, "all-reduce", 1024, 64, 67_457_408),
    (5, "reduce-scatter", 16, 8, 965_636),
    (5, "all-gather", 16, 8, 183_206),
    (5, "all-to-all", 16, 8, 952_432),
]


def network_of(system: SystemFile, rows: list[tuple[str, int, float, float]]) -> Network:
    lines = ("topology", "npus_count", "bandwidth", "latency")
    columns = zip(*rows, strict=True)
    text = "\n".join(f"{key}: [ {', '.join(map(str, each))} ]" for key, each in zip(lines, columns, strict=True))
    dims = [
        Dimension(kind_named(d.type), d.size, d.rate_bps, d.latency_ns)
        for d in astra_sim.network(text, "theirs").dimensions
    ]
    return system.on(Network("theirs", tuple(dims)))


@pytest.mark.parametrize(("which", "collective", "mib", "chunks", "theirs"), MEASURED)
def test_collectives(which, collective, mib, chunks, theirs):
    network = network_of(*NETWORKS[which])
    ours = make_plan(network, [Demand(Collective(collective), mib * MIB)], Scheduler.BASELINE, chunks)
    assert ours.finish_ps == theirs * 1000


def test_a_ring_by_hand():
    """Two all-reduces of 4,096 bytes in turn: six steps of 1,000 ns + 1,024 bytes at 1 byte/ns, seven endpoints."""
    ring = Network("ring", (Dimension(DimensionTopology.RING, 4, 16e9, 1000),))
    system = SystemFile(endpoint_ns=10, memory_bps=80e9).on(ring)
    added = 3 * 3 * 102  # three steps, two reads and a write of 1,024 bytes at 10 bytes/ns, cut to nanoseconds
    once = 6 * (1000 + 1024) + 7 * 10 + added
    assert make_plan(system, [Demand(Collective.ALL_REDUCE, 8192)], Scheduler.BASELINE, 2).finish_ps == 2000 * once
    # In the paper's model both links carry bytes, and the second chunk's follow the first's at once.
    usual = make_plan(ring, [Demand(Collective.ALL_REDUCE, 8192)], Scheduler.BASELINE, 2)
    assert usual.finish_ps == 1000 * (3 * 3 * 512 + 2 * 3 * 1000)


def test_several_chunks_at_once():
    network = network_of(*NETWORKS[0])
    wide = Network("wide", tuple(replace(d, messages=replace(d.messages, at_once=2)) for d in network.dimensions))
    demand = [Demand(Collective.ALL_REDUCE, 64 * MIB)]
    narrow, parallel = (make_plan(each, demand, Scheduler.BASELINE, 16) for each in (network, wide))
    assert parallel.finish_ps * 2 == narrow.finish_ps
    assert replay(parallel).finish_ps == parallel.finish_ps


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("collective", list(Collective))
def test_no_schedule_beats_the_bound_nor_the_overlapped_delays(name, collective):
    demand = [Demand(collective, 64 * MIB)]
    network = SystemFile().on(PAPER[name])
    least = best_bound(network, demand).finish_ps
    for scheduler in (Scheduler.BASELINE, Scheduler.THEMIS_SCF):
        took = make_plan(network, demand, scheduler, 16).finish_ps
        assert took >= least * (1 - 1e-6)
        if collective is not Collective.ALL_TO_ALL:  # through a switch they all send at once, at full speed
            assert took >= make_plan(PAPER[name], demand, scheduler, 16).finish_ps * (1 - 1e-6)


def test_speeds_and_parts():
    network = network_of(*NETWORKS[3])
    fast = network.at_speed([2, 2, 2])
    size = [Demand(Collective.ALL_REDUCE, 1024 * MIB)]
    ratio = (
        make_plan(network, size, Scheduler.BASELINE, 1).finish_ps
        / make_plan(fast, size, Scheduler.BASELINE, 1).finish_ps
    )
    assert 1 < ratio < 2  # memory is as slow as before
    near, far = SystemFile().on(Network("r", (Dimension(DimensionTopology.RING, 8, 16e9, 5),))).dimensions[0].divided(4)
    assert near.messages is not None
    assert far.messages is not None
    assert (near.messages.hop_ns, far.messages.hop_ns) == (15, 20)


def test_what_has_no_messages():
    with pytest.raises(OfframpError, match="in-network dimension: expected one whose NPUs send each other messages"):
        SystemFile().on(Network("n", (Dimension(DimensionTopology.IN_NETWORK, 4, 1e9),)))
    odd = SystemFile(algorithms=(None, None, None, ("halvingDoubling",))).on(
        Network("n", (Dimension(DimensionTopology.RING, 6, 1e9),))
    )
    with pytest.raises(OfframpError, match="all-to-all among 6 NPUs: halving and doubling needs a reduction"):
        make_plan(odd, [Demand(Collective.ALL_TO_ALL, 600)], Scheduler.BASELINE, 1)


BOTH_WAYS = [  # NPUs of a ring, collective, MiB, chunks, nanoseconds
    (4, "all-reduce", 16, 8, 636_320),
    (8, "all-reduce", 1, 1, 51_740),
    (8, "reduce-scatter", 64, 4, 2_322_752),
    (8, "all-gather", 16, 8, 1_122_376),
    (16, "all-reduce", 64, 4, 3_120_340),
    (16, "all-to-all", 16, 8, 1_660_880),
]


def both_ways(npus: int, collective: str, mib: int, chunks: int) -> int:
    """Nanoseconds; ``mib`` are what an NPU brings."""
    links = network_of(NETWORKS[0][0], [("Ring", npus, 50, 500)])
    ring = Network("ring", tuple(replace(d, messages=None) for d in links.dimensions))
    system = NETWORKS[0][0].on(ring.with_rings(bidirectional=True))
    size = mib * MIB * (npus if collective == "all-gather" else 1)
    return make_plan(system, [Demand(Collective(collective), size)], Scheduler.BASELINE, chunks).finish_ps // 1000


@pytest.mark.parametrize(("npus", "collective", "mib", "chunks", "theirs"), BOTH_WAYS)
def test_both_ways_round(npus, collective, mib, chunks, theirs):
    """As ASTRA-sim has it with two queues, of which the second goes anticlockwise, and twice as many chunks."""
    assert both_ways(npus, collective, mib, chunks) == theirs


@pytest.mark.slow
@NEEDED
@pytest.mark.parametrize("npus", [4, 8, 16])
@pytest.mark.parametrize("collective", list(Collective))
def test_both_ways_round_beside_astra_sim(tmp_path, npus, collective):
    path = tmp_path / "ring.yml"
    path.write_text(f"topology: [ Ring ]\nnpus_count: [ {npus} ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n")
    ring = NETWORKS[0][0].on(load_network(str(path)))
    for mib, chunks in ((1, 1), (16, 8), (64, 4)):
        system = system_of(ring, 2 * chunks, **{"collective-optimization": "baseline"})
        theirs = measured_ns(tmp_path, path, npus, collective, mib * MIB, system, "--num-queues-per-dim=2")
        assert both_ways(npus, collective, mib, chunks) == theirs


def measured_ns(
    folder: Path, network: Path, npus: int, collective: Collective, size: int, system: dict, *more: str
) -> int:
    """ASTRA-sim's time of one collective on all NPUs."""
    for npu in range(npus):
        facts = {"is_cpu_op": False, "comm_type": TYPES[collective], "comm_size": size}
        write_trace(
            ChakraTrace([ChakraNode(1, "collective", schema.COLLECTIVE, attributes=facts)]), folder / f"trace.{npu}.et"
        )
    ended = ends_ns(folder, folder / "trace", network, system, None, *more)
    assert len(ended) == npus
    return max(ended)


@pytest.mark.slow
@NEEDED
@pytest.mark.parametrize("path", network_files(), ids=lambda path: path.stem)
def test_beside_astra_sim(tmp_path, path):
    network = SystemFile(endpoint_ns=10, memory_bps=50 * 8e9).on(load_network(str(path)))
    for collective, mib, chunks in ((c, m, n) for c in Collective for m in (1, 32, 1024) for n in (1, 8, 64)):
        theirs = system_of(network, chunks)
        share = network.npus if collective is Collective.ALL_GATHER else 1
        size = mib * MIB // (share * chunks) * chunks  # what chunks do not divide, they round up
        ours = make_plan(network, [Demand(collective, size * share)], Scheduler.BASELINE, chunks).finish_ps
        assert math.isclose(
            measured_ns(tmp_path, path, network.npus, collective, size, theirs) * 1000, ours, rel_tol=1e-3
        )
