# SPDX-License-Identifier: Apache-2.0
"""Bytes of a step without a switch that adds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from offramp.job.kinds import sums
from offramp.job.kinds.sums import SumsJob
from offramp.job.network import ReductionNetwork


def placed(hosts: int, *types: str) -> Any:
    job = SimpleNamespace(all_reduce=1000.0, all_to_all=600.0, bits=2)
    cluster = SimpleNamespace(dimensions=[SimpleNamespace(type=each) for each in types])
    return SimpleNamespace(job=job, hosts=[f"h{n}" for n in range(hosts)], ranks=2 * hosts, cluster=cluster)


@pytest.mark.parametrize(("hosts", "across", "total"), [(1, 0.0, 0.0), (2, 1000.0, 2000.0), (3, 1000.0, 4000.0)])
def test_an_all_reduce_crosses_the_links_of_hosts(hosts: int, across: float, total: float) -> None:
    traffic = SumsJob().traffic(placed(hosts), ReductionNetwork.GLOO)
    assert (traffic.across, traffic.total, traffic.pair) == (across, total, 600.0 / (2 * hosts))


def test_sylvie_sends_its_bits_and_two_bounds_a_row() -> None:
    share = 2 / 32 + 8 / (4 * sums._SYLVIE_COLUMNS)
    assert SumsJob().traffic(placed(2), ReductionNetwork.SYLVIE).across == pytest.approx(1000 * share)
    assert sums._sylvie_share(placed(1).job) == share


def test_a_network_that_adds_carries_nothing_twice() -> None:
    assert SumsJob().traffic(placed(2, "ring", "in-network"), ReductionNetwork.THEMIS).total == 0
    assert SumsJob().traffic(placed(2, "ring", "switch"), ReductionNetwork.THEMIS).total == 2000
