# SPDX-License-Identifier: Apache-2.0
"""Schemes on paper: names, bytes, predicted times. What travels is in ``tests/p4/switchgnn/test_schemes.py``."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp.switchgnn.cost import Rates, load_rates, predict, save_rates
from offramp.switchgnn.planner import PASS_SHARES, Planner, fastest
from offramp.switchgnn.scheme import SYNTAX, Scheme, candidates, parse_scheme
from offramp.switchgnn.scheme_plan import plan_scheme
from offramp.switchgnn.timing import block_slots
from offramp.switchgnn.volume import host_volume
from offramp_base.errors import OfframpError
from offramp_sim.packets.exchange import ExchangeProtocol
from offramp_sim.packets.simulate import simulate
from offramp_sim.packets.topology import LinkProperties, star
from offramp_sim.slot.ports import StarFabric, exchange_trace
from offramp_sim.switchgnn.jobs import random_job
from scheme_plans import plan_or_none

AGGREGATOR = 128
CASES = {
    "seed": st.integers(0, 2**32 - 1),
    "vertices": st.integers(2, 40),
    "workers": st.integers(1, 6),
    "limit": st.integers(2, 40),
    "features": st.sampled_from([1, 8, 32, 128, 200]),
    "scheme": st.sampled_from(candidates(Scheme(), all_bits=True)),
}


def boundary_of(seed: int, vertices: int, workers: int):
    return random_job(seed, vertices=vertices, edges=3 * vertices, workers=workers, limit=100).boundary


@pytest.mark.parametrize(
    ("text", "scheme", "free"),
    [
        ("paper", Scheme(), False),
        ("auto", Scheme(), True),
        ("pairwise", Scheme(pairwise=True), False),
        ("hybrid+chunk-major+q8", Scheme(chunk_major=True, bits=8, hybrid=True), False),
        ("auto+q16", Scheme(bits=16), True),
        ("balanced", Scheme(balanced=True), False),
    ],
)
def test_names(text: str, scheme: Scheme, free: bool) -> None:
    assert parse_scheme(text) == (scheme, free)
    assert parse_scheme(str(scheme)) == (scheme, False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "best",
            f"scheme best: expected {SYNTAX}",
        ),
        ("q8+q16", "scheme q8+q16: bits is given twice"),
        ("paper+q8", "scheme paper+q8: paper goes without other parts"),
        ("auto+auto", "scheme auto+auto: auto is given twice"),
        (
            "pairwise+balanced",
            "scheme pairwise+balanced: balanced is about blocks of a graph, which pairwise does not cut",
        ),
    ],
)  # fmt: skip
def test_golden_errors(text: str, message: str) -> None:
    with pytest.raises(OfframpError) as error:
        parse_scheme(text)
    assert str(error.value) == message


def test_candidates_keep_what_is_named() -> None:
    for scheme in candidates(Scheme(), all_bits=True):
        schemes = candidates(scheme)
        assert schemes[0] == scheme
        assert all(other.bits == scheme.bits and (other.hybrid or not scheme.hybrid) for other in schemes)
    assert len(candidates(Scheme())) == 12
    assert len(candidates(Scheme(), all_bits=True)) == 36
    assert candidates(Scheme(bits=8), all_bits=True) == candidates(Scheme(bits=8))


@pytest.mark.full
@settings(derandomize=True, deadline=None, max_examples=300)
@given(**CASES)
def test_hybrid_never_sends_more(seed, vertices, workers, limit, features, scheme) -> None:
    """At most the bytes of either way alone, for any graph, memory and number of workers."""
    boundary = boundary_of(seed, vertices, workers)
    memory = limit * scheme.chunks_a_round(features) * AGGREGATOR
    plan = plan_or_none(boundary, replace(scheme, hybrid=True), features, memory)
    if plan is None:
        return
    switch = plan_scheme(boundary, replace(scheme, hybrid=False), features, memory)
    hosts = replace(switch, hosted=np.ones(boundary.R, np.bool_), plan=replace(switch.plan, blocks=[]))
    assert plan.wire_bytes <= min(switch.wire_bytes, hosts.wire_bytes)
    if scheme.bits == 32:
        assert hosts.wire_bytes == 2 * host_volume(boundary, features).wire_bytes


@pytest.mark.full
@settings(derandomize=True, deadline=None, max_examples=200)
@given(**CASES)
def test_predicted_time_is_that_of_the_slot_model(seed, vertices, workers, limit, features, scheme) -> None:
    """Exactly, where pipeline and hosts are free and no host sends to another."""
    boundary = boundary_of(seed, vertices, workers)
    scheme = replace(scheme, hybrid=False, bits=32)
    plan = plan_scheme(boundary, scheme, features, limit * scheme.chunks_a_round(features) * AGGREGATOR)
    fabric = StarFabric()
    for block, trace in zip(plan.plan.blocks, exchange_trace(plan.plan, fabric).blocks, strict=True):
        assert block_slots(block, plan.plan.chunks) == trace.slots - 4 * fabric.delay_slots
    rates = Rates(passes_pps=1e30, host_pps=1e30, delay_s=fabric.delay_slots * fabric.slot_s)
    simulated = plan.slices * exchange_trace(plan.plan, fabric).seconds
    assert predict(plan, rates).seconds == pytest.approx(simulated, rel=1e-9, abs=1e-15)


def test_the_packet_level_simulator_agrees_in_order() -> None:
    boundary = boundary_of(11, 200, 6)
    plans = [
        plan_scheme(boundary, scheme, 64, memory)
        for scheme in (Scheme(), Scheme(balanced=True))
        for memory in (10_000, 20_000, 100_000)
    ]
    predicted = [predict(plan, Rates()).seconds for plan in plans]
    protocol = ExchangeProtocol(acks="none")
    simulated = [simulate(star(6, LinkProperties()), plan.plan, protocol=protocol).end_ps / 1e12 for plan in plans]
    for shorter, longer in permutations(range(len(plans)), 2):
        if predicted[shorter] < 0.98 * predicted[longer]:
            assert simulated[shorter] < simulated[longer]
    np.testing.assert_allclose(simulated, predicted, rtol=0.1)


def test_what_limits_an_exchange() -> None:
    boundary = boundary_of(3, 40, 4)
    plan = plan_scheme(boundary, Scheme(), 128, 10**6)
    free = Rates(link_bps=1e30, passes_pps=1e30, host_pps=1e30, delay_s=0)
    assert predict(plan, replace(free, passes_pps=1e3)).seconds == pytest.approx(plan.passes / 1e3)
    assert predict(plan, replace(free, round_s=2.0)).barrier_s == 2.0 * plan.rounds
    slow = replace(free, passes_pps=1e3, round_s=1.0, overlap=False)
    assert predict(plan, slow).seconds == pytest.approx(plan.passes / 1e3 + plan.rounds, rel=1e-6)
    (block,) = plan.plan.blocks
    busiest = 2 * np.bincount(block.owner).max() * plan.plan.chunks
    assert predict(plan, replace(free, host_pps=1e3)).seconds == pytest.approx(busiest / 1e3)


@pytest.mark.full
def test_the_planner_takes_the_least_predicted_time() -> None:
    boundary = boundary_of(5, 40, 5)
    planner = Planner(boundary, 12 * AGGREGATOR, rates=Rates(passes_pps=1e6))
    options = planner.options(candidates(Scheme()), 40)
    best = fastest(options)
    assert best.prediction.seconds == min(option.prediction.seconds for option in options)
    # A pipeline this slow pays for every pass: partial sums need one each.
    assert best.scheme_plan.scheme.pairwise or best.scheme_plan.hosted.all()
    for option in options:
        alone = plan_scheme(boundary, option.scheme_plan.scheme, 40, 12 * AGGREGATOR)
        assert (alone.wire_up, alone.wire_down, alone.passes) == (
            option.scheme_plan.wire_up,
            option.scheme_plan.wire_down,
            option.scheme_plan.passes,
        )


def test_quantised_fields_that_cannot_hold_a_sum_are_refused() -> None:
    boundary = random_job(0, vertices=300, edges=6000, workers=2, limit=400).boundary
    boundary.need[7] = 300
    with pytest.raises(OfframpError) as error:
        Planner(boundary, 10**6).option(Scheme(bits=8), 4)
    assert str(error.value) == (
        f"scheme q8: vertex {boundary.vertices[7]} sums 300 contributions, fields of 8 bits hold at most 255; "
        "expected pairwise, or more bits"
    )
    Planner(boundary, 10**6).option(Scheme(bits=8, pairwise=True), 4)
    boundary.need[7] = 255  # as many as the field holds
    Planner(boundary, 10**6).option(Scheme(bits=8), 4)


@pytest.mark.parametrize("free", [True, False])
def test_prices_of_passes_are_tried_where_forwarding_is_free(monkeypatch: pytest.MonkeyPatch, free: bool) -> None:
    asked: list[tuple[float, ...]] = []

    def plan(*given: Any, prices: tuple[float, ...], **more: Any) -> Any:
        asked.append(prices)
        return plan_scheme(*given, prices=prices, **more)

    monkeypatch.setattr("offramp.switchgnn.planner.plan_scheme", plan)
    rates = replace(Rates(), free_forwarding=free)
    Planner(boundary_of(1, 20, 3), 10**6, rates=rates).option(Scheme(), 4)
    assert asked == [PASS_SHARES if free else (0.0,)]


def test_rates_in_a_file(tmp_path) -> None:
    path = tmp_path / "rates.json"
    save_rates(Rates(passes_pps=5e5, overlap=False), path)
    assert load_rates(path) == load_rates(path.read_text()) == Rates(passes_pps=5e5, overlap=False)
    for content, message in (
        ("{", "expected JSON"),
        ("[1]", "expected an object with some of delay_s, free_forwarding, host_pps, link_bps, overlap, passes"),
        ('{"pps": 1}', "expected an object with some of"),
        ('{"link_bps": "fast"}', "link_bps: expected a number"),
        ('{"overlap": 1}', "overlap: expected true or false"),
        ('{"free_forwarding": 1}', "free_forwarding: expected true or false"),
        ('{"link_bps": 0}', "link_bps 0: expected more than 0"),
        (json.dumps({"delay_s": -1}), "delay_s -1: expected at least 0"),
    ):
        path.write_text(content)
        with pytest.raises(OfframpError) as error:
            load_rates(path)
        assert str(error.value).startswith(f"rates {path}: {message}")
    with pytest.raises(OfframpError, match="cannot be read"):
        load_rates(tmp_path / "gone.json")
