# SPDX-License-Identifier: Apache-2.0
"""A job as a switch sees it: entries of ``sources`` and a multicast group, as a pure function of the ranks' places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from offramp.allreduce.wire import MOST_RANKS, SWITCH
from offramp.cluster.names import some
from offramp.switchgnn.leaf_spine import LeafSpine
from offramp.switchgnn.rows import ActionRows
from offramp_base.errors import OfframpError

SOURCES = "AllReduceIngress.sources.sources"
CHUNK = {"": "AllReduceIngress.slot.chunk", "pipe.": "AllReduceIngress.chunk.chunk"}
"""The register of chunk numbers, by the prefix of its program's names."""
OUTCOMES = "AllReduceIngress.outcomes"
STRANGERS = "AllReduceIngress.strangers.by_port"
BY_PAGE = "AllReduceIngress.by_page"
MOST_OUTCOMES = 16
"""Counters of a page, one for each outcome."""
_ACTIONS = "AllReduceIngress.sources."


@dataclass(frozen=True, slots=True)
class Contributor:
    """A source of contributions.

    Attributes:
        port: port behind which it is.
        rank: rank in whose name it sends; of a leaf the least of its rack.
        ranks: ranks for whom its contributions stand.
    """

    port: int
    rank: int
    ranks: tuple[int, ...]

    @property
    def mask(self) -> int:
        """A bit for each rank."""
        return sum(1 << rank for rank in self.ranks)


@dataclass(frozen=True, slots=True)
class SwitchRole:
    """A switch's part in a job.

    Attributes:
        members: who contributes to its sums.
        uplink: uplink on a leaf, the port to the spine.
    """

    members: tuple[Contributor, ...]
    uplink: int | None = None

    def __post_init__(self) -> None:
        ranks = [rank for member in self.members for rank in member.ranks]
        ports = [member.port for member in self.members] + ([] if self.uplink is None else [self.uplink])
        if len(set(ranks)) > MOST_RANKS:
            raise OfframpError(f"{len(set(ranks))} ranks: a sum in the switch has at most {MOST_RANKS} ranks")
        if not ranks or len(set(ranks)) != len(ranks) or not 0 <= min(ranks) <= max(ranks) < MOST_RANKS:
            raise OfframpError(f"ranks {some(ranks)}: expected each once, 0 to {MOST_RANKS - 1}")
        if len(set(ports)) != len(ports):
            raise OfframpError(f"ports {some(ports)}: expected a port of its own for each rank")


def star(ports: Sequence[int]) -> SwitchRole:
    """One switch with each rank on a port of its own.

    Raises:
        OfframpError: a port that is there twice, or too many ranks.
    """
    return SwitchRole(tuple(Contributor(port, rank, (rank,)) for rank, port in enumerate(ports)))


def leaf(network: LeafSpine, number: int, spine: int = 0) -> SwitchRole:
    """A leaf, which adds up its rack and hands the sum to a spine."""
    members = tuple(Contributor(network.host_port(rank), rank, (rank,)) for rank in network.members(number))
    return SwitchRole(members, network.uplink(number, spine))


def spine(network: LeafSpine) -> SwitchRole:
    """The spine, which adds up the leaves' sums."""
    racks = [tuple(network.members(number)) for number in range(network.leaves)]
    return SwitchRole(tuple(Contributor(network.downlink(n), rack[0], rack) for n, rack in enumerate(racks)))


def role_rows(
    role: SwitchRole, job: int, pages: Sequence[int], group: int, prefix: str = ""
) -> tuple[list[ActionRows], list[tuple[int, int]]]:
    """The entries of a job, and the ``(port, instance)`` replicas of its group.

    Args:
        role: who is where.
        job: its number.
        pages: pages of the switch, which become the job's pages 0, 1, …
        group: number of its multicast group.
        prefix: prefix of the program's names: ``pipe.`` on a Tofino.
    """
    every = sum(member.mask for member in role.members)
    triples = [(member, page, base) for member in role.members for page, base in enumerate(pages)]
    keys = {
        "port": np.array([member.port for member, _, _ in triples]),
        "job": np.full(len(triples), job),
        "rank": np.array([member.rank for member, _, _ in triples]),
        "page": np.array([page for _, page, _ in triples]),
    }
    params = {
        "base": np.array([base for _, _, base in triples]),
        "mask": np.array([member.mask for member, _, _ in triples]),
        "all": np.full(len(triples), every),
    }
    if prefix:
        params["rest"] = np.array([every & ~member.mask for member, _, _ in triples])
    params["group"] = np.full(len(triples), group)
    action = "contribute"
    rows = []
    if role.uplink is not None:
        action = "climb"
        params["uplink"] = np.full(len(triples), role.uplink)
        params["as_rank"] = np.full(len(triples), role.members[0].rank)
        n = len(pages)
        down = {"port": np.full(n, role.uplink), "job": np.full(n, job)}
        down |= {"rank": np.full(n, SWITCH), "page": np.arange(n)}
        rows.append(ActionRows(prefix + SOURCES, _ACTIONS + "descend", down, {"group": np.full(n, group)}))
    rows.append(ActionRows(prefix + SOURCES, _ACTIONS + action, keys, params))
    return rows, [(member.port, instance) for instance, member in enumerate(role.members, 1)]
