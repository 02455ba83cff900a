# SPDX-License-Identifier: Apache-2.0
"""Loss, pauses and small buffers: everything arrives, or one line says why not. Blind to faults of real hardware."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.hermod.dag import Coflow, Dag, Flows
from offramp.hermod.factors import CType, Factors
from offramp.hermod.job import HermodJob
from offramp.hermod.models import DecoderTransformer
from offramp_base.errors import OfframpError
from offramp_sim.hermod.faults import Pause, RunFaults, parse_pause
from offramp_sim.hermod.flow.fabric import BisectionFabric
from offramp_sim.hermod.flow.network import Loaded, load
from offramp_sim.hermod.flow.study import SimulationSetup, prepare
from offramp_sim.hermod.simulate import PacketResult, simulate_packets
from offramp_sim.hermod.wire import WireProperties

MODEL = DecoderTransformer("dense", 4, 256, 4, 4, 100, 1024)
JOB = HermodJob(MODEL, 4, 2, micro_batches=2, gpus_per_server=1, nics_per_server=1, nic_gbps=2)


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return prepare(JOB, SimulationSetup(2, granularity="flow"))


@pytest.fixture(scope="module")
def quiet(loaded: Loaded) -> PacketResult:
    return run(loaded)


def run(loaded: Loaded, *, buffer_bytes: int | None = None, seed: int = 0, **faults: object) -> PacketResult:
    wire = WireProperties(3_000, engine="python", buffer_bytes=buffer_bytes)
    return simulate_packets(loaded, "hermod", wire=wire, faults=RunFaults(**faults), seed=seed)  # type: ignore[arg-type]


@pytest.mark.full
@pytest.mark.parametrize("loss", [0.001, 0.01, 0.1])
def test_what_is_lost_is_sent_again(loaded: Loaded, quiet: PacketResult, loss: float) -> None:
    outcome = run(loaded, loss=loss, seed=1)
    assert outcome.lost > 0
    assert outcome.data - outcome.retransmitted == quiet.data
    assert outcome.end[-1] >= quiet.end[-1]
    assert (outcome.end >= outcome.start).all()
    assert run(loaded, loss=loss, seed=1).end.tolist() == outcome.end.tolist()
    assert run(loaded, loss=loss, seed=2).end.tolist() != outcome.end.tolist()


@pytest.mark.full
def test_small_buffers_drop_and_all_arrives(loaded: Loaded, quiet: PacketResult) -> None:
    outcome = run(loaded, buffer_bytes=2 * 4200)
    assert outcome.dropped > 0
    assert outcome.data - outcome.retransmitted == quiet.data


@pytest.mark.full
def test_a_pause_holds_up_and_ends(loaded: Loaded, quiet: PacketResult) -> None:
    middle, long = float(quiet.end[-1]) / 2, 0.02
    outcome = run(loaded, pauses=(Pause(1, middle, long),))
    assert quiet.end.max() < outcome.end.max() < quiet.end.max() + 1.5 * long
    assert outcome.data - outcome.retransmitted == quiet.data
    into = [k for k, coflow in loaded.dag.coflows() if 1 in loaded.fabric.ports[coflow.flows.sink]]
    assert not [k for k in into if middle + 1e-3 < outcome.end[k] < middle + long]


def test_a_port_paused_for_ever_is_named(loaded: Loaded) -> None:
    with pytest.raises(OfframpError, match=r"stuck at .* from NIC \d to \d .*paused: NIC 2 from 0.01 s forever"):
        run(loaded, pauses=(Pause(2, 0.01, None),))


def test_links_that_lose_everything_are_named(loaded: Loaded) -> None:
    with pytest.raises(OfframpError, match=r"PP activation of microbatch 0, layer 1 has 0 of .*links lose 100%"):
        run(loaded, loss=1.0)


def test_what_cannot_be_asked_for() -> None:
    small = prepare(JOB, SimulationSetup(2, granularity="flow"))
    with pytest.raises(OfframpError, match="pause NIC 9 from 0 s for 1 s: there are 4 NICs"):
        run(small, pauses=(Pause(9, 0, 1),))
    with pytest.raises(OfframpError, match="loss 2: expected a probability, 0 to 1"):
        run(small, loss=2.0)
    with pytest.raises(OfframpError, match="pause 3: expected NIC@START or NIC@START"):
        parse_pause("3")
    with pytest.raises(OfframpError, match="none of them negative"):
        parse_pause("3@-1")
    with pytest.raises(OfframpError, match="packets 0: expected at least 1"):
        WireProperties(0)
    many = HermodJob(JOB.model, 32, 2, gpus_per_server=1, nics_per_server=1)
    with pytest.raises(OfframpError, match="packet level: 32 NICs, expected at most 16"):
        simulate_packets(prepare(many, SimulationSetup(2)), "fair")
    deep = prepare(
        HermodJob(JOB.model, 4, 2, micro_batches=8, gpus_per_server=1, nics_per_server=1), SimulationSetup(2)
    )
    with pytest.raises(OfframpError, match="policy hermod: 20 classes for 8 queues of the switch; expected queues"):
        simulate_packets(deep, "hermod")
    spread = prepare(JOB, SimulationSetup(2, "spray", 2, granularity="flow"))
    with pytest.raises(OfframpError, match="routing spray: packets of a flow must stay in order here, expected ecmp"):
        simulate_packets(spread, "fair")
    assert parse_pause("3@0.5+0.25") == Pause(3, 0.5, 0.25)
    assert parse_pause("3@0.5") == Pause(3, 0.5, None)


def test_a_flow_to_its_own_nic_is_refused() -> None:
    own = Coflow("activation", Factors(0, CType.PP, 0), 0, 0, Flows(np.array([0]), np.array([0]), np.array([9.0])))
    ranks = np.arange(2)
    alone = load(Dag([own], 2, 1, 1, 1, 1, False), BisectionFabric(ranks, ranks, 2, 1, 1e9))
    with pytest.raises(OfframpError, match="a flow from NIC 0 to itself, which no switch sends back"):
        simulate_packets(alone, "fair")
