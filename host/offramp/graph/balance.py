# SPDX-License-Identifier: Apache-2.0
"""Blocks that share their uploads out among the workers (specification section 8.4)."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from offramp.graph.blocks import CutBlock, fitting_parts, plan_blocks, worker_loads
from offramp.graph.boundary import Boundary
from offramp.graph.covering import covering_blocks
from offramp.graph.csr import IntArray, rows_of
from offramp.graph.metis import metis_parts

GROWTH = 0.1
"""Most by which balancing may raise the uploads of all blocks together."""

PIECES = 4
"""Pieces that make up a block: the more there are, the better they balance, and the more edges they cut."""

MAX_PIECES = 4096
"""Beyond this many, pieces are larger: to choose among them takes time quadratic in their number."""

DENSE = 24
"""Ends of edges for each upload of a covering design from which on METIS was never seen to need fewer uploads."""

STRENGTHS = (0.1, 0.25, 0.5, 1.0)
"""Weights of the busiest worker's packets against cut edges, which are tried in turn; the best result is kept."""


def balanced_blocks(boundary: Boundary, limit: int, seed: int = 0, growth: float = GROWTH) -> list[CutBlock]:
    """Blocks as of :func:`~offramp.graph.blocks.plan_blocks` in which the busiest workers have the least to upload.

    A component that does not fit is cut into small pieces, and a block is grown from one piece by adding those with
    many edges into it and few vertices of its busiest worker. Tried with several strengths; those whose volume grows
    by more than ``growth`` do not count. Blocks of a covering design (:mod:`offramp.graph.covering`), whose uploads are
    shared out evenly anyway, are taken wherever they need no more uploads than METIS's.
    """
    covering = covering_blocks(boundary, limit) if limit < boundary.B else []
    if 2 * boundary.C > DENSE * _uploads(covering) > 0:
        return covering
    plain = plan_blocks(boundary.cut_edges, limit, seed)
    if len(plain) <= 1:
        return plain
    if (
        covering
        and _uploads(covering) <= _uploads(plain)
        and busiest(covering, boundary.owner) <= busiest(plain, boundary.owner)
    ):
        return covering
    most = (1 + growth) * _uploads(plain)
    candidates = [plain, plan_blocks(boundary.cut_edges, limit, seed, owner=boundary.owner)]
    for strength in STRENGTHS if limit > 2 else ():
        grow = partial(_grown, boundary.owner, limit, seed, strength)
        candidates.append(plan_blocks(boundary.cut_edges, limit, seed, splitter=grow, owner=boundary.owner))
    if covering:
        candidates.append(covering)
    allowed = [blocks for blocks in candidates if _uploads(blocks) <= most]
    return min(allowed, key=lambda blocks: busiest(blocks, boundary.owner))


def busiest(blocks: list[CutBlock], owner: npt.NDArray[np.int32]) -> int:
    """Uploads of the busiest worker of each block, summed: what an exchange waits for."""
    return int(worker_loads([block.vertices for block in blocks], owner).max(axis=1).sum()) if blocks else 0


def _uploads(blocks: list[CutBlock]) -> int:
    return sum(len(block.vertices) for block in blocks)


def _grown(
    owner: npt.NDArray[np.int32],
    limit: int,
    seed: int,
    strength: float,
    indptr: IntArray,
    indices: IntArray,
    vertices: IntArray,
) -> IntArray:
    n = len(vertices)
    size = max(1, limit // PIECES, -(-n // MAX_PIECES))
    piece = np.unique(fitting_parts(indptr, indices, size, partial(metis_parts, seed=seed)), return_inverse=True)[1]
    pieces = int(piece.max()) + 1
    workers = int(owner.max()) + 1
    loads = np.bincount(piece * workers + owner[vertices], minlength=pieces * workers).reshape(pieces, workers)
    ends = piece[rows_of(indptr)], piece[indices]
    edges = csr_array((np.ones(len(indices)), ends), shape=(pieces, pieces))
    return _group(loads, edges, limit, strength)[piece]


def _group(loads: IntArray, edges: csr_array, limit: int, strength: float) -> IntArray:
    """``(pieces,)`` block of each piece: grown from the largest piece that is left."""
    sizes = loads.sum(axis=1)
    workers = loads.shape[1]
    block = np.full(len(sizes), -1, np.int64)
    count = 0
    while (block < 0).any():
        first = int(np.where(block < 0, sizes, -1).argmax())
        block[first] = count
        held, joined = loads[first].copy(), edges[[first]].toarray().ravel()
        while True:
            fits = np.flatnonzero((block < 0) & (sizes + held.sum() <= limit))
            if not len(fits):
                break
            more = (held + loads[fits]).max(axis=1) - held.max()
            score = (joined[fits] - strength * workers * more) / sizes[fits]
            chosen = int(fits[score.argmax()])
            block[chosen] = count
            held += loads[chosen]
            joined += edges[[chosen]].toarray().ravel()
        count += 1
    return block
