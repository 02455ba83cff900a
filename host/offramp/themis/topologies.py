# SPDX-License-Identifier: Apache-2.0
"""The paper's topologies (table 2), its current platform (figure 4) and the example of figures 5 and 7."""

from __future__ import annotations

from offramp.themis.network import Dimension, DimensionTopology, Network
from offramp_base.errors import OfframpError

_R, _F, _S = DimensionTopology.RING, DimensionTopology.FULLY_CONNECTED, DimensionTopology.SWITCH


def _network(name: str, *dimensions: tuple[DimensionTopology, int, int, int]) -> Network:
    """Dimensions as (kind, size, Gb/s, latency in ns)."""
    return Network(name, tuple(Dimension(kind, size, gbps * 1e9, ns) for kind, size, gbps, ns in dimensions))


PAPER = {
    network.name: network
    for network in (
        _network("2D-SW_SW", (_S, 16, 1200, 700), (_S, 64, 800, 1700)),
        _network("3D-SW_SW_SW_homo", (_S, 16, 800, 700), (_S, 8, 800, 700), (_S, 8, 800, 1700)),
        _network("3D-SW_SW_SW_hetero", (_S, 16, 1600, 700), (_S, 8, 800, 700), (_S, 8, 400, 1700)),
        _network("3D-FC_Ring_SW", (_F, 8, 1400, 700), (_R, 16, 800, 700), (_S, 8, 400, 1700)),
        _network("4D-Ring_SW_SW_SW", (_R, 4, 2000, 20), (_S, 4, 1600, 700), (_S, 8, 800, 700), (_S, 8, 400, 1700)),
        _network("4D-Ring_FC_Ring_SW", (_R, 4, 3000, 20), (_F, 8, 1400, 700), (_R, 4, 1200, 700), (_S, 8, 800, 1700)),
    )
}
"""Topologies of table 2, with 1024 NPUs each."""

CURRENT = _network("current", (_S, 16, 1200, 700), (_S, 64, 100, 1700))
"""Topology of figure 4, like a DGX-2; sizes and latencies, which the text omits, are those of 2D-SW_SW."""

EXAMPLE = Network("example", (Dimension(_S, 4, 512e9), Dimension(_S, 4, 256e9)))
"""Topology of figures 5 and 7: 4 x 4, the first dimension twice as fast."""

NAMED = {**PAPER, CURRENT.name: CURRENT, EXAMPLE.name: EXAMPLE}


def network_named(name: str) -> Network:
    """A network of the paper.

    Raises:
        OfframpError: there is none with this name.
    """
    if name not in NAMED:
        raise OfframpError(f"network '{name}': expected a file or one of {', '.join(NAMED)}")
    return NAMED[name]
