# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN's graphs: table 1 and figures 1, 7 and 9."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.bench import BenchParameters, bed_of, options, origin
from offramp_sim.reproduce.datasets import DATASETS, every
from offramp_sim.reproduce.item import Evidence, PaperComparison, Reproduction, reproduces, simulated

_WORKERS = (8, 16, 32, 64, 128)


@reproduces("switchgnn/table1", "Data sets", seconds=2, evidence=Evidence.CONTEXT, files=True)
def table1(scale: float, seed: int, folder: Path | None = None) -> Reproduction:
    """Table 1: numbers of the data sets, and of the graphs that stand for them."""
    comparisons, data = [], {}
    for name, published in DATASETS.items():
        bed = bed_of(name, scale=scale, seed=seed, folder=folder)
        degrees = np.diff(bed.sample.indptr)
        mean, largest = 2 * published.edges / published.vertices, published.max_degree
        data[name] = {"vertices": len(degrees), "edges": int(degrees.sum()) // 2, "max_degree": int(degrees.max())}
        size = f"{published.vertices:,} vertices, {published.edges:,} edges"
        comparisons += [
            PaperComparison(f"{name}: size", size, f"{len(degrees):,} vertices, {data[name]['edges']:,} edges"),
            PaperComparison(
                f"{name}: largest over mean degree", f"{largest / mean:.0f}", f"{degrees.max() / degrees.mean():.0f}"
            ),
        ]
    panel = Curves(
        "edges per vertex",
        "data set",
        "edges over vertices",
        {
            "published": (list(DATASETS), [d.edges / d.vertices for d in DATASETS.values()]),
            "generated": (list(DATASETS), [d["edges"] / d["vertices"] for d in data.values()]),
        },
        bars=True,
    )
    return Reproduction(comparisons, [panel], {"scale": scale, "seed": seed}, origin(*every(scale, seed, folder)), data)


@simulated("switchgnn/fig1", "Boundary and traffic against workers", seconds=10, files=True, options=options("copies"))
def figure1(scale: float, seed: int, folder: Path | None = None, **open_: Any) -> Reproduction:
    """Boundary vertices and copies against the number of workers."""
    conditions = BenchParameters(**open_)
    panels: list[Curves] = []
    data: dict[str, dict[str, list[float]]] = {}
    for name in DATASETS:
        beds = [bed_of(name, workers, scale, seed, folder, conditions) for workers in _WORKERS]
        boundary = [t.boundary.B / t.ratio for t in beds]
        traffic = [t.boundary.R / t.ratio for t in beds]
        data[name] = {"workers": [float(w) for w in _WORKERS], "boundary": boundary, "copies": traffic}
        panels.append(
            Curves(
                name,
                "workers",
                "vertices",
                {"boundary": (list(_WORKERS), boundary), "traffic": (list(_WORKERS), traffic)},
            )
        )
    last = bed_of("reddit", 128, scale, seed, folder, conditions)
    reddit = data["reddit"]
    comparisons = [
        PaperComparison(
            "Reddit, 128 workers: copies of a boundary vertex",
            "16",
            f"{last.boundary.R / last.boundary.B:.1f}",
            Evidence.FITTED,
            "these copies, with which graphs are generated",
        ),
        PaperComparison(
            "Reddit: boundary at 128 workers over that at 8",
            "about 1",
            f"{reddit['boundary'][-1] / reddit['boundary'][0]:.2f}",
        ),
        PaperComparison(
            "Reddit: traffic at 128 workers over that at 8", None, f"{reddit['copies'][-1] / reddit['copies'][0]:.1f}"
        ),
    ]
    note = f"The 16 copies are an input of the generator, the rest follows. {origin(*every(scale, seed, folder))}"
    return Reproduction(comparisons, panels, last.settings(), note, data)


@reproduces(
    "switchgnn/fig7",
    "Skew of the neighbour counts",
    seconds=2,
    evidence=Evidence.FITTED,
    source="figure 7's skew of degrees, which generated graphs have",
    files=True,
)
def figure7(scale: float, seed: int, folder: Path | None = None) -> Reproduction:
    """Figure 7: distribution of remote neighbours over boundary vertices, Reddit, 32 workers."""
    bed = bed_of("reddit", 32, scale, seed, folder)
    need = np.sort(bed.boundary.need)[::-1]
    share = np.cumsum(need) / need.sum()
    top = float(share[max(0, len(need) // 5 - 1)])
    xs = np.linspace(0, len(need) - 1, 101).astype(int)
    line = ((xs / len(need)).tolist(), share[xs].tolist())
    curve = Curves("Reddit, 32 workers", "share of vertices", "share of neighbours", {"generated": line})
    comparisons = [PaperComparison("neighbours of the first fifth of the vertices", "80 %", f"{100 * top:.0f} %")]
    note = (
        "The paper's skew sets the generator's; the cap at the real graph's largest degree and duplicate edges that "
        f"are dropped flatten it. {origin(bed.sample)}"
    )
    return Reproduction(comparisons, [curve], bed.settings(), note, {"share": line})


@simulated("switchgnn/fig9", "Dependent boundary vertices", seconds=3, files=True, options=options("copies"))
def figure9(scale: float, seed: int, folder: Path | None = None, **open_: Any) -> Reproduction:
    """Boundary vertices in the largest component of the cut graph."""
    conditions = BenchParameters(**open_)
    lines: dict[str, tuple[list[int], list[float]]] = {}
    comparisons = []
    for name in DATASETS:
        shares = []
        for workers in _WORKERS:
            boundary = bed_of(name, workers, scale, seed, folder, conditions).boundary
            ones = np.ones(len(boundary.neighbours), np.int8)
            graph = csr_array((ones, boundary.neighbours, boundary.indptr), shape=(boundary.B, boundary.B))
            labels = connected_components(graph, directed=False)[1]
            shares.append(float(np.bincount(labels).max()) / boundary.B)
        lines[name] = list(_WORKERS), shares
        comparisons.append(
            PaperComparison(
                f"{name}: largest dependent component of the boundary", "about 99 %", f"{100 * shares[-1]:.1f} %"
            )
        )
    panel = Curves("largest dependent component", "workers", "share of the boundary", lines)
    return Reproduction(
        comparisons, [panel], {"scale": scale, "seed": seed}, origin(*every(scale, seed, folder)), {"shares": lines}
    )
