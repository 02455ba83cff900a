# SPDX-License-Identifier: Apache-2.0
"""The switch of each host of a job, where hosts have several links or ranks; ``test_plan`` has sums through trees."""

from __future__ import annotations

import pytest

from offramp.cluster import parse_cluster
from offramp.job.tree import leaves_of
from offramp_base.errors import OfframpError

CLUSTER = parse_cluster("""
name: two
hosts: [{name: a}, {name: b}, {name: c, ranks: 2}, {name: d}, {name: e}]
switches: [{name: s1}, {name: s2}]
links:
  - {ends: [a, s1], rate: 1gbit}
  - {ends: [a, s2], rate: 1gbit}
  - {ends: [b, s2], rate: 1gbit}
  - {ends: [b, s1], rate: 1gbit}
  - {ends: [c, s1], rate: 1gbit}
  - {ends: [d, e], rate: 1gbit}
""")


def test_a_host_belongs_to_the_switch_at_its_first_link() -> None:
    assert leaves_of(CLUSTER, CLUSTER.hosts[:2], "switch") == {"a": "s1", "b": "s2"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("c", r":3: c: 2 ranks: switch expects one on each host"),
        ("d", r":3: d: its first link leads to no switch"),
    ],
)
def test_hosts_that_have_none_are_refused(name: str, message: str) -> None:
    with pytest.raises(OfframpError, match=message):
        leaves_of(CLUSTER, [host for host in CLUSTER.hosts if host.name == name], "switch")
