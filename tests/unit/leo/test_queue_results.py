# SPDX-License-Identifier: Apache-2.0
"""Figures of a run of the queue model, of twenty requests that are counted by hand, and settings that it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.leo import Table
from offramp.leo.selection.policies import Policy
from offramp.leo.selection.steps import Routes
from offramp_base.errors import OfframpError
from offramp_sim.leo.load import RequestLoad
from offramp_sim.leo.simulate import PathRule, QueueModelResult, Slowdown, simulate

COUNT = 20


def _result() -> QueueModelResult:
    """Request i arrives at 1000 · i ns and is answered 100 · i ns later; its JCT is 10 · i ns."""
    number = np.arange(COUNT)
    came = np.asarray(1000.0 * number, np.float64)
    return QueueModelResult(
        kind=np.zeros(COUNT, np.int64),
        path=np.where(number < 11, 0, 2),
        owner=number % 2,
        came=came,
        began=came,
        ended=came + came / 10,
        jct=came / 100,
        worked_ns=np.zeros(1),
        memories=(),
    )


def test_the_first_tenth_is_left_out() -> None:
    """Requests 2 to 19: their mean number is 10.5."""
    result = _result()
    assert result.counted == slice(2, None)
    assert result.mean_jct_us == pytest.approx(0.105)
    assert result.median_us == pytest.approx(1.05)
    assert result.p99_us == pytest.approx(1.883)  # 0.99 · 17 = 16.83 numbers above 2
    assert result.shares(4) == pytest.approx([9 / 18, 0, 9 / 18, 0])


def test_throughput_leaves_out_a_tenth_at_both_ends() -> None:
    """Answers come every 1100 ns, in whatever order requests are listed."""
    result = _result()
    assert result.throughput_mrps == pytest.approx(1 / 1.1)
    result.ended[:] = result.ended[::-1].copy()
    assert result.throughput_mrps == pytest.approx(1 / 1.1)


def test_tenants_are_counted_between_the_first_tenth_and_the_middle() -> None:
    """The quantiles of answers lie at 1.9 and 9.5 numbers: four even ones are between them and four odd ones."""
    rates = _result().tenants_mrps(3)
    assert rates == pytest.approx([4 / (7.6 * 1.1), 4 / (7.6 * 1.1), 0])


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (PathRule(), Policy.LOOKAHEAD.value),
        (PathRule(ahead=1), "exact k=1"),
        (PathRule(ahead=3, only=1), "exact k=3"),
        (PathRule(only=0), "only path 0"),
    ],
)
def test_names_of_rules(rule: PathRule, name: str) -> None:
    assert rule.name == name


ROUTES = Routes.of(Table.disjoint([2000, 2500], [200, 300], paths=("acc", "cpu")))


@pytest.mark.parametrize("weights", [(), (1.0, 1.0), (0.0,), (-1.0,)])
def test_each_tenant_has_a_weight_above_0(weights: tuple[float, ...]) -> None:
    with pytest.raises(OfframpError, match="weights: expected 1 over 0, one for each tenant"):
        simulate(ROUTES, RequestLoad(requests=4, window=1), PathRule(), weights=weights)


@pytest.mark.parametrize("only", [0, 1])
def test_a_lonely_request_takes_its_one_path_and_no_longer_than_its_steps(only: int) -> None:
    """In a window of one nothing queues, so every JCT is that of an empty host."""
    result = simulate(ROUTES, RequestLoad(requests=30, window=1), PathRule(only=only))
    assert set(result.path.tolist()) == {only}
    assert np.ptp(result.jct) < 0.01
    assert (result.ended > result.began).all()
    assert (result.began >= result.came).all()


def test_a_slow_resource_takes_its_factor_while_it_is_slow() -> None:
    load = RequestLoad(requests=30, window=1)
    plain = simulate(ROUTES, load, PathRule(only=0))
    [resource] = np.flatnonzero(plain.worked_ns == plain.worked_ns.max())
    slow = simulate(ROUTES, load, PathRule(only=0), slowdowns=[Slowdown(int(resource), 0.0, 1e9, 3)])
    assert slow.worked_ns[resource] == pytest.approx(3 * plain.worked_ns[resource])
    past = simulate(ROUTES, load, PathRule(only=0), slowdowns=[Slowdown(int(resource), 0.0, 1e-3, 3)])
    assert past.worked_ns[resource] <= plain.worked_ns[resource] * (1 + 2 / 30)
