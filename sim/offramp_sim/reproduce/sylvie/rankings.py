# SPDX-License-Identifier: Apache-2.0
"""Bits per value by Sylvie's ranking of boundary vertices and its pool, against the 1.45 bits of table 3.11."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offramp.graph.boundary import Boundary
from offramp.graph.data import Graph
from offramp.graph.generate import generate
from offramp.graph.partition import partition
from offramp.sylvie.widths import importance, joint_widths
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.item import PaperComparison, Reproduction, simulated
from offramp_sim.reproduce.sylvie.bed import DATA
from offramp_sim.reproduce.table import ItemTable

_READINGS: Final = {
    "vertices, pairs": ("ecdf", False),
    "vertices, one pool": ("ecdf", True),
    "different degrees, pairs": ("dense", False),
    "different degrees, one pool": ("dense", True),
}
"""Ranking, and whether all workers' boundary vertices are ranked together, of each reading."""
_VERTICES: Final = 6000


@simulated(
    "sylvie/rankings",
    "Bits per value by ranking and pool (table 3.11)",
    seconds=6,
    options={"workers": (8, 4, 16), "gamma": (2.5, 2.1, 3.0), "homophily": (0.8, 0.5)},
)
def rankings(scale: float, seed: int, *, workers: int = 8, gamma: float = 2.5, homophily: float = 0.8) -> Reproduction:
    """Mean bits of boundary rows at base 1 by each reading of the thesis's ranking."""

    def run(name: str) -> dict[str, float]:
        n, data = max(500, round(_VERTICES * scale)), DATA[name]
        degree = min(2 * data.edges / data.vertices, n / 8)
        of = f"sbm:n={n},k=40,degree={degree:g},gamma={gamma:g},homophily={homophily:g},features=1"
        graph = generate(of, "1/0/0", seed)
        owner = partition(graph, workers, "metis", seed)
        return {what: _bits(graph, owner, workers, *how) for what, how in _READINGS.items()}

    table = ItemTable.sweep("data sets", ("reddit", "amazon"), run)
    comparisons = [
        PaperComparison(f"{name}: by {what}, bits per value at base 1", "1.45", f"{bits:.2f}")
        for name, by in table.items()
        for what, bits in by.items()
    ]
    note = (
        "Boundary rows of generated graphs with the data sets' mean degrees (at most an eighth of the vertices) and a "
        "power law, cut by METIS. Published are table 3.11's bytes. The thesis ranks in-degrees in one pool: its bits "
        "are near those of the rank among different degrees there, and no others'."
    )
    settings = {"workers": workers, "gamma": gamma, "homophily": homophily, "seed": seed}
    panel = Curves("bits", "", "bits", table.lines(), bars=True)
    return Reproduction(comparisons, [panel], settings, note, table.lines())


def _bits(graph: Graph, owner: npt.NDArray[Any], workers: int, ranking: str, pooled: bool) -> float:
    """Mean bits of all rows that travel."""
    copies = Boundary(graph, owner, workers).copies
    degrees = graph.degrees[copies[:, 0]]
    pair = np.zeros(len(copies), np.int64) if pooled else owner[copies[:, 0]] * workers + copies[:, 1]
    bits = [joint_widths(importance(degrees[pair == each], ranking), 1) for each in np.unique(pair)]
    return float(np.concatenate(bits).mean())
