# SPDX-License-Identifier: Apache-2.0
"""Random clusters: switches that a random tree and some more links join, hosts with one or several NICs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp.cluster.model import Cable, CableEnd, Cluster, ClusterHost, ClusterSwitch
from offramp.cluster.read import parse_cluster
from offramp.cluster.write import cluster_text

if TYPE_CHECKING:
    import numpy as np

RATES_GBPS = (10, 25, 40, 50, 100, 200, 400)


def random_cluster(
    random: np.random.Generator,
    *,
    nics: int = 1,
    routing: str = "destination",
    gpus: int = 1,
    nic_gbps: int | None = None,
) -> Cluster:
    """A connected cluster of 2 to 12 hosts, written and read once so that it is one that a file can describe.

    Args:
        random: what draws it.
        nics: most NICs of a host.
        routing: how switches choose.
        gpus: GPUs of each host.
        nic_gbps: rate of all hosts' links; None: any.
    """
    switches = int(random.integers(1, 7))
    hosts = int(random.integers(2, 13))
    used = {f"s{i}": 0 for i in range(switches)} | {f"h{i}": 0 for i in range(hosts)}
    cables = []

    def join(a: str, b: str) -> None:
        ends = []
        for name in (a, b):
            used[name] += 1
            ends.append(CableEnd(name, used[name] if name[0] == "s" else f"eth{used[name] - 1}"))
        drawn = int(random.choice(RATES_GBPS))
        rate = (nic_gbps if nic_gbps is not None and a[0] == "h" else drawn) * 10**9
        cables.append(Cable(ends[0], ends[1], rate, float(random.integers(0, 5)) * 500))

    for i in range(1, switches):
        join(f"s{i}", f"s{int(random.integers(0, i))}")
    for _ in range(int(random.integers(0, 2 * switches))):
        if switches > 1:
            a, b = random.choice(switches, 2, replace=False)
            join(f"s{a}", f"s{b}")
    for i in range(hosts):
        for _ in range(int(random.integers(1, nics + 1))):
            join(f"h{i}", f"s{int(random.integers(0, switches))}")
    cluster = Cluster(
        name="random",
        hosts=tuple(ClusterHost(name=f"h{i}", gpus=gpus) for i in range(hosts)),
        switches=tuple(ClusterSwitch(name=f"s{i}", target="plain", ports=64) for i in range(switches)),
        links=tuple(cables),
        routing=routing,
    )
    return parse_cluster(cluster_text(cluster), "random.yaml")
