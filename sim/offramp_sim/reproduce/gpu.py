# SPDX-License-Identifier: Apache-2.0
"""Computation times of full-graph training on absent GPUs, from a roofline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU by its data sheet.

    Attributes:
        bytes_per_s: memory bandwidth.
        flops: single-precision peak, operations per second.
        efficiency: of both that sparse aggregation and dense layers reach; an assumption, the same for all systems.
    """

    bytes_per_s: float
    flops: float
    efficiency: float = 0.5

    def epoch_s(self, vertices: float, edges: float, widths: Sequence[int]) -> float:
        """Seconds of an epoch of a graph of undirected ``edges``: forward, and twice as much backward.

        A layer between two ``widths`` gathers a row for each directed edge, and multiplies by its weights what is
        narrower first.
        """
        seconds = 0.0
        for wide, narrow in pairwise(widths):
            gathered = 2 * edges * 4 * min(wide, narrow)
            multiplied = 2 * vertices * wide * narrow
            seconds += gathered / self.bytes_per_s + multiplied / self.flops
        return 3 * seconds / self.efficiency


RTX3090: Final = Gpu(936e9, 35.6e12)
A100: Final = Gpu(2039e9, 19.5e12)
"""With 80 GB, by SXM."""
