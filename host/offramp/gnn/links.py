# SPDX-License-Identifier: Apache-2.0
"""Pairs of vertices whose rows meet where the second one is owned: link prediction and its negative samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import torch

from offramp.gnn.exchanges import PlainExchange
from offramp.gnn.halo import ExchangeKey, extend
from offramp.gnn.parts import HOMOGENEOUS, Partition, edge_set, make_halo
from offramp.gnn.tags import PAIRS, tag_of
from offramp.splitmix import GOLDEN, mix, mix_word
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.gnn.whole import EdgeType

_TRIES: Final = 8
"""Draws of a negative sample until one that is an edge after all is kept."""


def link_edges(
    part: Partition, pairs: torch.Tensor, source: str = HOMOGENEOUS, target: str = HOMOGENEOUS
) -> torch.Tensor:
    """``(2, P)`` pairs of vertices of the whole graph in local numbers; every rank calls this, with pairs or none.

    What is returned works as an edge index in a distributed module and in :func:`ends`: rows of first vertices come
    from their owners, by an exchange of its own.

    Args:
        part: the rank's part.
        pairs: first and second vertex of each; the second ones are owned here.
        source: type of the first ones.
        target: type of the second ones.

    Raises:
        OfframpError: a second vertex of another rank.
    """
    first, second = part.vertices[source], part.vertices[target]
    foreign = second.owner[pairs[1]] != part.comm.rank
    if bool(foreign.any()):
        raise OfframpError(f"pairs: vertex {int(pairs[1][foreign][0])} is not of rank {part.comm.rank}")
    halo = make_halo(part.comm, first.ids, first.owner.numpy().astype(np.int64, copy=False), pairs[0].numpy())
    key = source, "links", target
    return edge_set(key, first, second, pairs, torch.arange(pairs.shape[1]) + (part.comm.rank << 32), {}, halo).index


def ends(x: torch.Tensor, pairs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of both ends of pairs that :func:`link_edges` made, with their gradients; every rank calls this together.

    Args:
        x: ``(n, …)`` rows of the own vertices.
        pairs: pairs that :func:`link_edges` returns.

    Raises:
        OfframpError: other pairs.
    """
    tag = tag_of(pairs)
    if tag is None or tag.role != PAIRS:
        raise OfframpError("pairs: expected what link_edges or a partition made")
    rows = extend(x, tag.of.halo, PlainExchange(), ExchangeKey(-1, 0))
    return rows[pairs[0]], x[pairs[1]]


def negative_pairs(
    part: Partition, each: int = 1, *, seed: int = 0, step: int = 0, edges: EdgeType = ("", "edge_index", "")
) -> torch.Tensor:
    """``(2, each * E)`` pairs that are no edges, for :func:`link_edges`: each own edge with other first vertices.

    A draw is a function of seed, step and the edge's number in the whole graph, so that the samples of all ranks
    together do not depend on how many there are. Nothing travels: the edges of a target are all on the rank that owns
    it. Of a target with nearly all vertices for neighbours an edge may be drawn, after eight tries.
    """
    of = part.edges[edges]
    count = len(of.source.owner)
    sources, targets = of.source_ids[of.index[0]].numpy(), of.target.ids[of.index[1]].numpy()
    known = np.sort(targets * count + sources)
    ids = np.repeat(of.ids.numpy(), each)
    copies = np.tile(np.arange(each), len(of.ids))
    second = np.repeat(targets, each)
    first = np.zeros(len(ids), np.int64)
    open_ = np.arange(len(ids))
    for attempt in range(_TRIES):
        key = mix_word(mix_word(mix_word(seed) + step) + attempt)
        first[open_] = _draw(ids[open_], copies[open_], key, count)
        open_ = open_[_among(known, second[open_] * count + first[open_])]
        if not len(open_):
            break
    return torch.from_numpy(np.stack([first, second]))


def _draw(ids: npt.NDArray[np.int64], copies: npt.NDArray[np.int64], key: int, count: int) -> npt.NDArray[np.int64]:
    words = mix(mix(ids.astype(np.uint64) ^ np.uint64(key)) + copies.astype(np.uint64) * np.uint64(GOLDEN))
    return (words % np.uint64(count)).astype(np.int64)


def _among(known: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether each of ``wanted`` is among the sorted values."""
    place = np.searchsorted(known, wanted)
    among: npt.NDArray[np.bool_] = known[np.minimum(place, len(known) - 1)] == wanted if len(known) else wanted < 0
    return among
