# SPDX-License-Identifier: Apache-2.0
"""The exit of each vertex from the language model, and the batches of texts (section 3.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from offramp.graph.csr import IntArray
from offramp.graph.split import Mask
from offramp.unitg.language_model import EXITS
from offramp_base.wire.objects import sendable


def centrality_groups(degrees: IntArray, groups: int = EXITS) -> list[IntArray]:
    """C_1, the lowest degrees, to C_4: quartiles whose sizes differ by at most one; equal degrees keep id order."""
    order = np.argsort(degrees, kind="stable").astype(np.int64)
    return list(np.array_split(order, groups))


def value_groups(degrees: IntArray, groups: int = EXITS) -> list[IntArray]:
    """C_1 to C_4 by the value of the centrality: bins of equal width from the least degree to the greatest.

    On a power law nearly all vertices are in the lowest bin and leave at the first exit; equal degrees share a bin.
    """
    low, high = (int(degrees.min()), int(degrees.max())) if len(degrees) else (0, 0)
    level = np.minimum((degrees - low) * groups // max(1, high - low), groups - 1)
    return [np.flatnonzero(level == each).astype(np.int64) for each in range(groups)]


def random_groups(vertices: int, groups: int = EXITS, seed: int = 0) -> list[IntArray]:
    """Groups of the same sizes that ignore the graph: the ablation."""
    return list(np.array_split(np.random.default_rng(seed).permutation(vertices).astype(np.int64), groups))


def mean_depth(groups: list[IntArray], depths: list[int]) -> float:
    """Average number of layers that a text passes; 62.5 % of all for equal groups of four exits."""
    sizes = [len(group) for group in groups]
    return sum(size * depth for size, depth in zip(sizes, depths, strict=True)) / max(1, sum(sizes))


@sendable
@dataclass(frozen=True)
class Batches:
    """The texts of every step: from each group some training vertices to learn from, and some others to encode.

    Attributes:
        groups: vertices by exit.
        train: ``(n,)`` bool mask of training vertices.
        size: texts of each kind that one rank takes from a group in one step.
        ranks: number of data-parallel ranks.
        seed: seed of the order.
        proportional: whether a group gives texts in proportion to its vertices, at least one, in place of ``size``; a
            step has as many in all.
    """

    groups: list[IntArray]
    train: Mask
    size: int
    ranks: int
    seed: int
    proportional: bool = False

    def size_of(self, exit_: int) -> int:
        """Texts of each kind that one rank takes from a group in one step."""
        if not self.proportional:
            return self.size
        vertices = sum(len(group) for group in self.groups)
        return max(1, round(len(self.groups) * self.size * len(self.groups[exit_]) / max(1, vertices)))

    def steps_of_epoch(self) -> int:
        """Number of steps in which every vertex is encoded at least once."""
        return max(-(-len(group) // (self.size_of(each) * self.ranks)) for each, group in enumerate(self.groups))

    def learn(self, step: int, exit_: int, rank: int) -> IntArray:
        """Training vertices of a group, the same number on all ranks; none if the group has none."""
        return self._pick(self.groups[exit_][self.train[self.groups[exit_]]], step, exit_, rank)

    def unlabelled(self, step: int, exit_: int, rank: int) -> IntArray:
        """Vertices of a group that are not for training, the same number on all ranks; none if the group has none."""
        return self._pick(self.groups[exit_][~self.train[self.groups[exit_]]], step, exit_, rank)

    def encode(self, step: int, exit_: int, rank: int) -> IntArray:
        """Vertices of a group, in turn."""
        return self._pick(self.groups[exit_], step, exit_, rank)

    def exits(self) -> list[int]:
        """Exits with training vertices: the G of equation 5.1."""
        return [i for i, group in enumerate(self.groups) if self.train[group].any()]

    def _pick(self, rows: IntArray, step: int, exit_: int, rank: int) -> IntArray:
        if not len(rows):
            return rows
        size = self.size_of(exit_)
        at = (step * self.ranks + rank) * size + np.arange(min(size, len(rows)))
        turn, place = np.divmod(at, len(rows))
        orders = {t: np.random.default_rng((self.seed, exit_, t)).permutation(rows) for t in np.unique(turn).tolist()}
        return np.array([orders[t][p] for t, p in zip(turn.tolist(), place.tolist(), strict=True)], np.int64)
