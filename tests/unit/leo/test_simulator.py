# SPDX-License-Identifier: Apache-2.0
"""The queue model: closed forms, the specification's runs (section 12), and the promises of the default rule.

Blind to what the model leaves out: everything but queues, service and delays.
"""

from __future__ import annotations

import numpy as np
import pytest

from offramp.leo.config import load_config, resolve
from offramp.leo.config.files import APPLICATIONS, HARDWARE
from offramp.leo.selection import Policy, RequestDependency, Table
from offramp.leo.selection.steps import DELAY, NETWORK, PathStep, Routes
from offramp_base.errors import OfframpError
from offramp_sim.leo.classes import CLASSES
from offramp_sim.leo.load import RequestLoad
from offramp_sim.leo.simulate import PathRule, QueueModelResult, Slowdown, simulate
from offramp_sim.leo.study import Study, TenantWeights, misread, run_study
from offramp_sim.leo.sweep import by_class, run_sweep, summary


def two(slow: float = 2500) -> Routes:
    return Routes.of(Table.disjoint([2000, slow], [200, 300]))


def test_numbers_of_a_run_by_hand() -> None:
    """Twenty requests of two tenants end every 10 ns from 100 ns on; the first two are the warm-up."""
    ended = np.arange(20) * 10.0 + 100
    numbers = np.arange(20)
    jct = np.where(numbers < 2, 1e6, np.where(numbers % 3, 1000.0, 4000.0))
    times = {"came": ended[::-1] - 50 - numbers, "began": ended[::-1] - 40, "ended": ended[::-1], "jct": jct}
    run = QueueModelResult(
        kind=numbers * 0, path=numbers % 2, owner=numbers // 15, worked_ns=jct[:1], memories=[], **times
    )
    assert run.counted == slice(2, None)
    assert run.mean_jct_us == pytest.approx((12 * 1 + 6 * 4) / 18)
    assert run.median_us == pytest.approx((50 + 10.5) / 1e3)
    assert run.p99_us == pytest.approx((50 + 2 + 0.99 * 17) / 1e3)
    assert run.throughput_mrps == pytest.approx(15 / 150 * 1e3)  # 16 answers inside, 15 times 10 ns apart
    assert run.shares(3) == [0.5, 0.5, 0.0]
    # From 119 ns to 195 ns eight answers, of the requests 10 to 17: five of the first tenant's.
    assert run.tenants_mrps(2) == pytest.approx([5 / 76 * 1e3, 3 / 76 * 1e3])


def test_one_server_is_m_d_1() -> None:
    """Mean wait rho D / 2 (1 - rho), Pollaczek and Khinchine."""
    routes = Routes.of(Table.disjoint([1000], [200]))
    for rho in (0.3, 0.6):
        outcome = simulate(routes, RequestLoad(200_000, rate_mrps=rho * 5, network_us=(0, 0)), PathRule())
        assert outcome.mean_jct_us * 1e3 - 1000 == pytest.approx(rho * 200 / (2 * (1 - rho)), rel=0.03)


def test_exponential_service_is_m_m_1() -> None:
    outcome = simulate(
        Routes.of(Table.disjoint([200], [200])), RequestLoad(200_000, rate_mrps=2.5, spread=1.0), PathRule()
    )
    assert outcome.mean_jct_us * 1e3 == pytest.approx(200 / (1 - 0.5), rel=0.04)


def test_parallel_servers_wait_only_when_all_are_busy() -> None:
    routes = Routes(
        ("r",), ("p",), ("x",), [[[PathStep(0, 1000.0), PathStep(NETWORK, 1.0)]]], (RequestDependency.NONE,), (4,)
    )
    outcome = simulate(routes, RequestLoad(8, window=8, network_us=(0, 0)), PathRule())
    assert sorted(outcome.jct) == [1000] * 4 + [2000] * 4


def test_a_request_takes_its_steps_one_after_the_other() -> None:
    steps = [
        PathStep(0, 100.0),
        PathStep(DELAY, 50.0),
        PathStep(NETWORK, 1.0),
        PathStep(1, 200.0),
        PathStep(NETWORK, 1.0),
    ]
    routes = Routes(("r",), ("p",), ("x", "y"), [[steps]], (RequestDependency.NONE,), (1, 1))
    outcome = simulate(routes, RequestLoad(2, window=2, network_us=(3, 3)), PathRule())
    assert outcome.jct.tolist() == [350, 350 + 100 + 100]  # behind the other at both
    assert outcome.ended.tolist() == [6350, 6550]


@pytest.mark.parametrize(
    ("policy", "mrps"),
    [
        (Policy.OUTSTANDING, 7.43),
        (Policy.MIN, 6.33),
        (Policy.RESET, 5.21),
        (Policy.PAPER_LITERAL, 4.34),
        (Policy.GREEDY_INTRA, 4.95),
        (Policy.GREEDY_E2E, 5.02),
        (Policy.UNIFORM, 6.62),
    ],
)
def test_throughput_of_the_specification(policy: Policy, mrps: float) -> None:
    """Section 3, 64 requests at a time; drawn anew, hence the tolerance."""
    assert simulate(two(), RequestLoad(20_000, window=64), PathRule(policy)).throughput_mrps == pytest.approx(
        mrps, rel=0.02
    )


@pytest.mark.parametrize(
    ("slow", "rate", "jct"),
    [(2500, 3, 2.10), (2500, 5, 2.20), (2500, 6, 2.28), (2500, 7.5, 2.65), (3500, 6, 2.53), (3500, 7.5, 3.02)],
)
def test_the_default_rule_is_near_the_optimum_of_the_specification(slow: float, rate: float, jct: float) -> None:
    """Section 12.2: the exact search with k = 8, which the default rule comes near without its knowledge."""
    runs = [
        [simulate(two(slow), RequestLoad(4000, rate_mrps=rate), rule, seed=seed).mean_jct_us for seed in (1, 2, 3)]
        for rule in (PathRule(ahead=8), PathRule())
    ]
    best, ours = np.mean(runs, axis=1)
    assert best == pytest.approx(jct, rel=0.06)
    assert ours < 1.05 * best


def test_order_of_the_rules_under_load() -> None:
    costs = [
        simulate(two(), RequestLoad(20_000, rate_mrps=6), PathRule(policy)).mean_jct_us
        for policy in (Policy.LOOKAHEAD, Policy.OUTSTANDING, Policy.MIN, Policy.GREEDY_INTRA)
    ]
    assert costs == sorted(costs)


def test_at_low_load_the_default_rule_is_no_worse_than_greedy() -> None:
    costs = [
        simulate(two(), RequestLoad(20_000, rate_mrps=3), PathRule(p)).mean_jct_us
        for p in (Policy.LOOKAHEAD, Policy.GREEDY_INTRA)
    ]
    assert costs[0] < costs[1]


def promises(settings: int, seed: int) -> None:
    summed = summary(run_sweep(settings, 20_000, seed, processes=1))
    assert summed["against_greedy"]["most"] <= 1.03
    assert summed["against_optimum"]["most"] <= 1.10
    assert summed["gain"]["least"] >= 1.17


@pytest.mark.full
def test_promises_on_some_settings() -> None:
    promises(16, 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_promises_on_200_settings(seed: int) -> None:
    promises(200, seed)


def against_simple(kind: str, settings: int, requests: int) -> dict[str, float]:
    """Cost of the default rule over that of the better of ``outstanding`` and ``weighted``."""
    return by_class(run_sweep(settings, requests, 0, processes=1, classes=(kind,)))[kind]["simple"]


@pytest.mark.full
@pytest.mark.parametrize("kind", CLASSES)
def test_no_class_falls_behind_the_rules_that_learn_nothing(kind: str) -> None:
    verdict = against_simple(kind, 6, 5000)
    assert verdict["median"] <= 1.02
    assert verdict["most"] <= (1.25 if kind == "failures" else 1.1)  # runs are short; 200 longer ones below


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLASSES)
def test_no_class_falls_behind_on_200_settings(kind: str) -> None:
    # The two that docs/LIMITATIONS.md names have their own.
    assert against_simple(kind, 200, 20_000)["p95"] <= {"failures": 1.1, "tenants": 1.06}.get(kind, 1.05)


def test_bursts_behind_a_jittering_network_do_not_mislead_the_default_rule() -> None:
    """The key-value store's own topology: the network comes before the queues of each request."""
    resolved = resolve(load_config(["off-path", "kvs"]))
    load = RequestLoad(20_000, rate_mrps=3, burst=64)
    runs = [
        simulate(resolved.routes, load, PathRule(p)) for p in (Policy.LOOKAHEAD, Policy.OUTSTANDING, Policy.WEIGHTED)
    ]
    for measure in ("mean_jct_us", "p99_us"):
        ours, *simple = (getattr(run, measure) for run in runs)
        assert ours <= 1.05 * min(simple)


def test_a_resource_that_is_slow_for_a_while() -> None:
    routes = Routes.of(Table.disjoint([200], [200]))
    load = RequestLoad(100, rate_mrps=1, network_us=(0, 0))
    outcome = simulate(routes, load, PathRule(), slowdowns=(Slowdown(0, 20, 40, 3),))
    slow = (outcome.ended - outcome.jct >= 20e3) & (outcome.ended <= 40e3)
    assert (outcome.jct[slow] >= 600).all()
    assert slow.sum() > 5
    assert (outcome.jct[outcome.came > 45e3] < 600).all()


@pytest.mark.parametrize("wrong", [([200, 300], [300, 300]), ([200, 300], [120, 300]), ([200, 300], [100, 150])])
def test_a_wrong_profile_is_corrected_while_running(wrong: tuple[list[float], list[float]]) -> None:
    real, believed = wrong
    routes = Routes.of(Table.disjoint([2000, 2500], real))
    right = simulate(routes, RequestLoad(30_000, rate_mrps=7.5), PathRule())
    learned = simulate(
        routes, RequestLoad(30_000, rate_mrps=7.5), PathRule(), believed=Table.disjoint([2000, 2500], believed)
    )
    assert learned.mean_jct_us < 1.15 * right.mean_jct_us


@pytest.mark.parametrize("base", [[3000, 2500], [1000, 2500]])
def test_a_wrong_t_is_corrected_while_running(base: list[float]) -> None:
    right = simulate(two(), RequestLoad(30_000, rate_mrps=1), PathRule())
    learned = simulate(two(), RequestLoad(30_000, rate_mrps=1), PathRule(), believed=Table.disjoint(base, [200, 300]))
    assert learned.mean_jct_us < 1.05 * right.mean_jct_us


def test_tenants_share_by_weight_where_both_have_work() -> None:
    load = RequestLoad(40_000, rate_mrps=25, shares=(1, 1))
    outcome = simulate(two(), load, PathRule(), weights=(1, 3))
    small, large = outcome.tenants_mrps(2)
    assert large / small == pytest.approx(3, rel=0.1)
    alone = simulate(
        two(), RequestLoad(40_000, rate_mrps=25, shares=(1, 1)), PathRule(), weights=(1, 1), one_selector=True
    )
    assert np.divide(*alone.tenants_mrps(2)) == pytest.approx(1, rel=0.1)


def test_requests_of_a_busy_key_are_held_and_all_served() -> None:
    resolved = resolve(load_config(["off-path", "kvs"]))
    outcome = simulate(
        resolved.routes, RequestLoad(5000, rate_mrps=6, keys=50, mix=(1, 1), network_us=(3, 3)), PathRule(), seed=4
    )
    assert (outcome.began >= outcome.came).all()
    assert (outcome.began > outcome.came).any()  # some were held
    assert (outcome.path[outcome.kind == 1] == 1).all()  # PUT knows one path


@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize("model", HARDWARE)
def test_every_application_runs_on_every_model(application: str, model: str) -> None:
    routes = resolve(load_config([model, application])).routes
    outcome = simulate(routes, RequestLoad(500, window=8), PathRule())
    table = routes.table
    assert (outcome.jct >= table.base[outcome.kind, outcome.path] - 0.1).all()
    assert outcome.worked_ns.sum() > 0


def test_runs_repeat_from_their_seed() -> None:
    one, again, other = (
        simulate(two(), RequestLoad(2000, rate_mrps=5, spread=0.5), PathRule(), seed=s) for s in (1, 1, 2)
    )
    assert (one.ended == again.ended).all()
    assert not (one.ended == other.ended).all()


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (lambda: RequestLoad(0), "requests: 0: expected 1 to"),
        (lambda: RequestLoad(rate_mrps=-1), "rate: -1: expected over 0"),
        (lambda: RequestLoad(network_us=(9, 3)), "network: 9 to 3 us: expected a range"),
        (lambda: RequestLoad(spread=2), "spread: 2: expected 0 to 1"),
        (lambda: RequestLoad(shares=(1, 0)), "shares: expected one over 0"),
        (lambda: simulate(two(), RequestLoad(10, mix=(1, 1)), PathRule()), "mix: 2 shares, expected 1"),
        (lambda: simulate(two(), RequestLoad(10), PathRule(), weights=(1, 2)), "weights: expected 1 over 0"),
        (lambda: misread(two().table, 0.5, 0), "wrong 0.5: expected 1 to 100"),
    ],
)
def test_bad_settings(load: object, message: str) -> None:
    with pytest.raises(OfframpError, match=message):
        load()  # type: ignore[operator]


def test_a_bad_profile_is_off_by_up_to_its_factor_either_way() -> None:
    table = two().table
    assert misread(table, 1.0, 0) is table
    own = (table.load * table.capacity).sum(axis=2)
    loads, rests = [], []
    for seed in range(200):
        wrong = misread(table, 2.0, seed)
        assert (np.isnan(wrong.base) == ~table.allowed).all()
        used = table.load > 0
        loads.append((wrong.load[used] / table.load[used]).ravel())
        rest = (wrong.base - (wrong.load * table.capacity).sum(axis=2)) / np.where(
            table.base > own, table.base - own, np.nan
        )
        rests.append(rest[np.isfinite(rest)])
    for factors in (np.concatenate(loads), np.concatenate(rests)):
        assert 0.5 <= factors.min() < 0.55
        assert 1.85 < factors.max() <= 2.0


@pytest.mark.parametrize(
    ("weights", "keys", "allowed"), [((1.0,), 0, True), ((1.0, 1.0), 0, False), ((1.0,), 5, False)]
)
def test_looking_ahead_is_for_one_tenant_without_shared_keys(weights, keys: int, allowed: bool) -> None:
    routes = two()
    load = RequestLoad(30, rate_mrps=1.0, keys=keys, shares=(1.0,) * len(weights))
    tenants = TenantWeights(weights=weights)
    study = Study(routes, routes.table, (PathRule(ahead=2),), (load,), tenants)
    if allowed:
        assert [row["rule"] for row in run_study(study)] == ["exact k=2"]
    else:
        with pytest.raises(OfframpError, match="exact k=2: expected requests without shared keys, and one tenant"):
            run_study(study)
