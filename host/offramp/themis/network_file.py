# SPDX-License-Identifier: Apache-2.0
"""Networks from files: the ``dimensions`` of a cluster file, ASTRA-sim's networks (1 and 2), and SimAI's topologies.

A cluster file may consist of dimensions alone, from the innermost outwards::

    name: pod
    dimensions:
      - {type: switch, size: 16, rate: 1200gbit, latency: 700ns}  # ring | fully-connected | switch | in-network
      - {type: ring, size: 8, rate: 400gbit, bidirectional: false}  # collectives go one way round

Where it has hosts and no dimensions, these follow from its links (:mod:`offramp.fabric`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from offramp.cluster import Cluster, read_cluster
from offramp.cluster.formats import astra_sim, simai
from offramp.fabric import derived_dimensions, fabric_of
from offramp.themis.network import Dimension, Network, kind_named
from offramp.themis.topologies import NAMED, network_named
from offramp_base.documents import read_text
from offramp_base.errors import OfframpError

_MOST_BYTES: Final = 16 << 20


def load_network(name: str) -> Network:
    """A network of the paper by its name, or one from a file.

    Raises:
        OfframpError: there is no such network, or the file has an error; the message names the field.
    """
    path = Path(name)
    if name in NAMED or not (path.suffix or path.exists()):
        return network_named(name)
    try:
        text = read_text(path, _MOST_BYTES)
        if path.suffix in (".yml", ".yaml", ".json") and astra_sim.is_network(text):
            return network_of(astra_sim.network(text, path.stem))
        if path.suffix in ("", ".txt") and simai.is_topology(text):
            return network_of(simai.network(text, path.stem))
    except OfframpError as error:
        raise OfframpError(f"network {name}: {error}") from None
    cluster = read_cluster(path)
    if cluster.hosts and not cluster.dimensions:
        cluster = replace(cluster, dimensions=derived_dimensions(fabric_of(cluster)))
    return network_of(cluster)


def network_of(cluster: Cluster) -> Network:
    """The network that the ranks of a cluster fill.

    Raises:
        OfframpError: the cluster has no dimensions, or one without an algorithm.
    """
    where = cluster.origin or cluster.name
    if not cluster.dimensions:
        raise OfframpError(f"{where}: dimensions: expected how the ranks are joined, the innermost first")
    dimensions = []
    for k, each in enumerate(cluster.dimensions, 1):
        try:
            numbers = each.size, each.rate_bps, each.latency_ns, each.payload_share
            dimensions.append(Dimension(kind_named(each.type), *numbers, bidirectional=each.bidirectional))
        except OfframpError as error:
            raise OfframpError(f"{where}: dim{k}: {error}") from None
    return Network(cluster.name, tuple(dimensions))
