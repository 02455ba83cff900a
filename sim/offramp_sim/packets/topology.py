# SPDX-License-Identifier: Apache-2.0
"""Stars and leaf-spine networks: ports and routes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError
from offramp_sim.packets import layout as at

Words = npt.NDArray[np.int64]
UNLIMITED = 1 << 60


@dataclass(frozen=True, slots=True)
class Links:
    """What all links of a network share.

    Attributes:
        rate_bps: of every link; 8 Tbit/s divided by it must be a whole number of picoseconds a byte.
        delay_ps: propagation.
        buffer_bytes: that may wait at a switch's port; None: any number.
        mark_bytes: waiting bytes above which a switch marks; None: never.
        loss: probability that a packet is lost on a link.
    """

    rate_bps: int = 100_000_000_000
    delay_ps: int = 2_000_000
    buffer_bytes: int | None = None
    mark_bytes: int | None = None
    loss: float = 0.0

    def __post_init__(self) -> None:
        if self.rate_bps <= 0 or 8 * 10**12 % self.rate_bps:
            raise OfframpError(f"rate_bps {self.rate_bps}: expected a divisor of 8 Tbit/s")
        if self.delay_ps < 0:
            raise OfframpError(f"delay_ps {self.delay_ps}: expected at least 0")
        if not 0 <= self.loss < 1:
            raise OfframpError(f"loss {self.loss}: expected 0 to below 1")


@dataclass(frozen=True, eq=False)
class Topology:
    """Hosts are nodes 0 to hosts-1 and own the ports of those numbers; leaves follow, then spines.

    Attributes:
        hosts, leaves: how many.
        ports: ``(p, PORT_WORDS)`` words of :mod:`offramp_sim.packets.layout`.
        route, fan: ``(switches, hosts)`` first port towards each host, and how many equal ones there are.
        leaf_of: ``(hosts,)`` leaf of each host.
    """

    hosts: int
    leaves: int
    ports: Words
    route: Words
    fan: Words
    leaf_of: Words


def star(hosts: int, links: Links) -> Topology:
    """One switch.

    Raises:
        OfframpError: fewer than 1 host.
    """
    if hosts < 1:
        raise OfframpError(f"hosts {hosts}: expected at least 1")
    up = _ports(np.full(hosts, hosts), links, host=True)
    down = _ports(np.arange(hosts), links)
    route = np.arange(hosts, 2 * hosts)[np.newaxis]
    return Topology(hosts, 1, np.concatenate([up, down]), route, np.ones_like(route), np.zeros(hosts, np.int64))


def leaf_spine(leaves: int, spines: int, hosts_each: int, links: Links) -> Topology:
    """``leaves`` switches of ``hosts_each`` hosts, each joined to each of ``spines`` by one link; ECMP.

    Raises:
        OfframpError: a count below 1.
    """
    if min(leaves, spines, hosts_each) < 1:
        raise OfframpError(f"leaf-spine {leaves}x{spines}, {hosts_each} hosts a leaf: expected at least 1 of each")
    hosts = leaves * hosts_each
    leaf_of = np.repeat(np.arange(leaves), hosts_each)
    first_up = 2 * hosts
    first_down = first_up + leaves * spines
    ports = np.concatenate(
        [
            _ports(hosts + leaf_of, links, host=True),
            _ports(np.arange(hosts), links),
            _ports(hosts + leaves + np.tile(np.arange(spines), leaves), links),
            _ports(hosts + np.tile(np.arange(leaves), spines), links),
        ]
    )
    host = np.arange(hosts)
    here = leaf_of == np.arange(leaves)[:, np.newaxis]
    upward = first_up + np.arange(leaves)[:, np.newaxis] * spines
    from_leaf = np.where(here, hosts + host, upward)
    from_spine = first_down + np.arange(spines)[:, np.newaxis] * leaves + leaf_of
    fan = np.concatenate([np.where(here, 1, spines), np.ones((spines, hosts), np.int64)])
    return Topology(hosts, leaves, ports, np.concatenate([from_leaf, from_spine]), fan, leaf_of)


def _ports(targets: Words, links: Links, *, host: bool = False) -> Words:
    """Ports of a kind; what waits in a host's card is neither limited nor marked."""
    ports = np.zeros((len(targets), at.Port.WORDS), np.int64)
    ports[:, at.Port.rate] = 8 * 10**12 // links.rate_bps
    ports[:, at.Port.delay] = links.delay_ps
    ports[:, at.Port.limit] = UNLIMITED if host or links.buffer_bytes is None else links.buffer_bytes
    ports[:, at.Port.mark] = UNLIMITED if host or links.mark_bytes is None else links.mark_bytes
    ports[:, at.Port.loss] = round(links.loss * 2**32)
    ports[:, at.Port.target] = targets
    return ports
