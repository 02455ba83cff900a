# SPDX-License-Identifier: Apache-2.0
"""The text workloads of ASTRA-sim 1 and SimAI: who takes part in what, for how many bytes, and when training waits.

Blind to: ASTRA-sim's own times of the same files, whose first version is not run here.
"""

from __future__ import annotations

import pytest

from offramp.themis.demand import Demand
from offramp.themis.network import Collective, Dimension, DimensionTopology, Network
from offramp.themis.plan import Scheduler, make_plan
from offramp_base.errors import OfframpError
from offramp_sim.themis.astra_workload import read_workload
from offramp_sim.themis.iteration import train
from offramp_sim.themis.workload import CommunicationScope

NETWORK = Network(
    "pod",
    (
        Dimension(DimensionTopology.SWITCH, 4, 8e9, 100),
        Dimension(DimensionTopology.RING, 8, 8e9, 500),
        Dimension(DimensionTopology.FULLY_CONNECTED, 3, 8e9),
    ),
)
ROW = "conv -1 100 ALLGATHER 4096 200 ALLREDUCE 8192 300 ALLREDUCE 16384 10"


def read(header: str, *rows: str, network: Network = NETWORK):
    return read_workload("\n".join([header, str(len(rows)), *rows]), "w", network)


def scopes(header: str, row: str = ROW) -> tuple[CommunicationScope | None, ...]:
    (layer,) = read(header, row).layers
    return tuple(each[0].scope if each else None for each in (layer.forward, layer.input, layer.weight))


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("DATA", (None, None, CommunicationScope.ALL)),
        ("MICRO", (None, None, CommunicationScope.ALL)),
        ("MODEL", (CommunicationScope.ALL, CommunicationScope.ALL, None)),
        ("DISTRIBUTED_INFERENCE", (CommunicationScope.ALL, None, None)),
        ("HYBRID_DATA_MODEL", (CommunicationScope.FIRST, CommunicationScope.FIRST, CommunicationScope.REST)),
        ("HYBRID_MODEL_DATA", (CommunicationScope.REST, CommunicationScope.REST, CommunicationScope.FIRST)),
        ("HYBRID_TRANSFORMER", (CommunicationScope.FIRST, CommunicationScope.FIRST, CommunicationScope.REST)),
        (
            "HYBRID_TRANSFORMER model_parallel_NPU_group: 4",
            (CommunicationScope.MODEL, CommunicationScope.MODEL, CommunicationScope.DATA),
        ),
        (
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 checkpoints: 0 checkpoint_initiates: 0",
            (CommunicationScope.MODEL, CommunicationScope.MODEL, CommunicationScope.DATA),
        ),
    ],
)
def test_who_takes_part(header, expected):
    assert scopes(header) == expected


def test_each_layer_has_its_own_parallelism_where_they_are_customised():
    assert scopes("HYBRID_CUSTOMIZED", f"{ROW} HYBRID_MODEL_DATA") == (
        CommunicationScope.REST,
        CommunicationScope.REST,
        CommunicationScope.FIRST,
    )
    with pytest.raises(OfframpError, match="line 3: layer conv: 10: expected its parallelism, such as DATA, in the"):
        scopes("HYBRID_CUSTOMIZED")


def test_bytes_of_an_all_gather_are_those_before_it_in_astra_sim_and_after_it_in_simai():
    (layer,) = read("HYBRID_TRANSFORMER model_parallel_NPU_group: 8", ROW).layers
    assert (layer.forward[0].size, layer.input[0].size) == (8 * 4096, 8192)
    (layer,) = read("HYBRID_TRANSFORMER model_parallel_NPU_group: 8 ep: 1 pp: 1", ROW).layers
    assert layer.forward[0].size == 4096


def test_simai_groups():
    """TP 4, EP 2, four sets of experts, three stages: the ring of 8 is divided."""
    rows = (
        "moe -1 1 ALLTOALL_EP 4096 1 ALLTOALL 4096 1 ALLREDUCE_DP_EP 512 100",
        "moe -1 1 NONE 0 1 ALLGATHER_EP 64 1 REDUCESCATTER 512 100",
    )
    header = (
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 ep: 2 pp: 3 vpp: 1 ga: 4 all_gpus: 96 pp_comm 7"
    )
    workload = read(header, *rows)
    first, second = workload.layers
    assert [each.name for each in workload.layers] == ["moe", "moe#2"]
    scopes = [each.scope for each in (*first.forward, *first.input, *first.weight, *second.input, *second.weight)]
    assert scopes == [
        CommunicationScope.EXPERT,
        CommunicationScope.MODEL,
        CommunicationScope.EXPERT_DATA,
        CommunicationScope.EXPERT,
        CommunicationScope.DATA,
    ]
    fitted = workload.fitted(NETWORK)
    assert [(d.kind, d.size) for d in fitted.dimensions] == [
        (DimensionTopology.SWITCH, 4),
        (DimensionTopology.RING, 2),
        (DimensionTopology.RING, 4),
        (DimensionTopology.FULLY_CONNECTED, 3),
    ]
    dims = workload.dims(fitted)
    assert [
        dims[s]
        for s in (
            CommunicationScope.MODEL,
            CommunicationScope.EXPERT,
            CommunicationScope.EXPERT_DATA,
            CommunicationScope.DATA,
        )
    ] == [(0,), (1,), (2,), (1, 2)]
    assert workload.group_sizes(NETWORK)[CommunicationScope.DATA] == 8
    assert workload.facts == ("one stage of 3: without the pipeline's sends, and its bubble of 2/4 of the time",)
    assert train(workload, NETWORK, Scheduler.BASELINE).exposed[CommunicationScope.EXPERT] > 0


def test_a_divided_dimension_has_the_links_that_its_groups_can_use():
    near, far = Dimension(DimensionTopology.FULLY_CONNECTED, 8, 70e9, 5).divided(4)
    assert (near.size, near.bandwidth_bps, far.size, far.bandwidth_bps) == (4, 30e9, 2, 10e9)
    near, far = Dimension(DimensionTopology.RING, 8, 20e9, 5).divided(4)
    assert (near.size, near.bandwidth_bps, near.latency_ns) == (4, 10e9, 15)  # back over the links' other direction
    assert (far.size, far.bandwidth_bps, far.latency_ns) == (2, 5e9, 20)  # four rings share each link
    near, far = Dimension(DimensionTopology.SWITCH, 8, 10e9, 5).divided(2)
    assert (near.size, far.size, near.bandwidth_bps, far.latency_ns) == (2, 4, 10e9, 5)
    with pytest.raises(OfframpError, match="a group of 12 NPUs does not divide pod"):
        NETWORK.divided(12)
    assert NETWORK.divided(32) is NETWORK


def test_gradients_of_inputs_travel_beside_those_of_weights_and_are_awaited():
    """Forward 100 ns and its exchange; then 200 ns, and 300 ns beside the exchange of the inputs' gradients."""

    def alone(collective: Collective, size: int) -> int:
        return make_plan(NETWORK, [Demand(collective, size)], Scheduler.BASELINE, 4).finish_ps

    layers = [f"{name} {ROW.split(maxsplit=1)[1]}" for name in "ab"]
    breakdown = train(read("MODEL", *layers), NETWORK, Scheduler.BASELINE, 1, 4)
    there, back = alone(Collective.ALL_GATHER, NETWORK.npus * 4096), alone(Collective.ALL_REDUCE, 8192)
    assert back > 300_000
    assert breakdown.total == 2 * (100_000 + there) + 2 * (200_000 + back)


def test_forward_passes_run_again_from_the_last_checkpoint():
    rows = [f"layer{k} -1 {10**k} NONE 0 0 NONE 0 0 NONE 0 0" for k in range(5)]
    header = (
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 checkpoints: 2 0 2 checkpoint_initiates: 2 4 1"
    )
    workload = read(header, *rows)
    assert [layer.recompute for layer in workload.layers] == [True, False, True, True, False]
    assert train(workload, NETWORK, Scheduler.BASELINE).total == 1000 * (11111 + 1101)


def test_collectives_alone_and_inference():
    micro = train(read("MICRO", ROW), NETWORK, Scheduler.BASELINE, 1, 4)
    assert (micro.compute, micro.total) == (
        0,
        make_plan(NETWORK, [Demand(Collective.ALL_REDUCE, 16384)], Scheduler.BASELINE, 4).finish_ps,
    )
    assert train(read("DISTRIBUTED_INFERENCE", ROW), NETWORK, Scheduler.BASELINE).compute == 100_000


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        ("PIPELINE", ROW, "line 1: parallelism 'PIPELINE': expected one of DATA"),
        ("HYBRID_TRANSFORMER groups: 4", ROW, "line 1: groups:: expected a number, or one of model_parallel_NPU"),
        ("HYBRID_TRANSFORMER ep: 4 ep: 4", ROW, "line 1: ep for a second time"),
        ("HYBRID_TRANSFORMER ep: 0", ROW, "line 1: ep: expected one number of at least 1"),
        ("HYBRID_TRANSFORMER ep: 4 4", ROW, "line 1: ep: expected one number of at least 1"),
        ("HYBRID_TRANSFORMER checkpoints: 2 1", ROW, "line 1: checkpoints: expected a count, and that many layers"),
        ("HYBRID_TRANSFORMER checkpoints: 1 1", ROW, "line 1: checkpoints: 1: there are 1 layers"),
        ("HYBRID_TRANSFORMER checkpoint_initiates: 1 0", ROW, "layer 0 has no checkpoint before it"),
        ("DATA", ROW.replace("16384", "1e9"), "line 3: layer conv: 1e9: expected bytes"),
        ("DATA", ROW.replace("300", "-300"), "line 3: layer conv: -300: expected nanoseconds"),
        ("DATA", ROW.replace("8192 300", "8192"), "line 3: layer conv: ALLREDUCE: expected nanoseconds"),
        ("DATA", "conv -1 100", "line 3: layer conv: expected 11 columns or more, there are 3"),
        ("DATA", ROW.replace("ALLREDUCE 16384", "ALLREDUCEALLTOALL 1"), "'ALLREDUCEALLTOALL': expected NONE, or ALL"),
        ("HYBRID_TRANSFORMER model_parallel_NPU_group: 7", ROW, "1 stages of groups of 7 NPUs: they do not divide"),
    ],
)
def test_bad_files(header, row, message):
    with pytest.raises(OfframpError, match=message):
        read(header, row)


def test_9216_gpus_in_servers_of_8() -> None:
    """The groups of SimAI's own example: 1,152 servers behind switches, of which experts and stages take 24 and 12."""
    dimensions = (
        Dimension(DimensionTopology.SWITCH, 8, 2.88e12, 300),
        Dimension(DimensionTopology.SWITCH, 1152, 3.88e11, 5000),
    )
    network = Network("simai", dimensions)
    rows = (
        "attention -1 1750840 ALLGATHER 50331648 875420 REDUCESCATTER 0 875420 NONE 0 100",
        "experts -1 7956367 ALLTOALL_EP 1572864 7956367 ALLTOALL_EP 1572864 1 ALLREDUCE_DP_EP 38654705 100",
        "gradients -1 1 NONE 0 1 NONE 0 1 REDUCESCATTER 5615517696 100",
    )
    header = (
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 16 pp: 12 vpp: 8 ga: 24 all_gpus: 9216 "
        "checkpoints: 0 checkpoint_initiates: 0 pp_comm 50331648"
    )
    workload = read(header, *rows)
    assert [d.size for d in workload.fitted(network).dimensions] == [2, 4, 4, 24, 12]
    times = [train(workload, network, scheduler, 1, 16).total for scheduler in ("themis+scf", "baseline", None)]
    assert times[0] <= times[1]
    assert times[0] > times[2]
