# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN's figure 15 against the size of the graph that stands for Reddit."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.bench import OPTIONS, WORKERS, BenchParameters, bed_of, less, origin
from offramp_sim.reproduce.item import PaperComparison, Reproduction, simulated
from offramp_sim.reproduce.switchgnn.buffers import PUBLISHED, BufferedNetwork

_SCHEMES: Final = ("bns-gcn", "g3", "strawman", "switchgnn")
_SIZES: Final = (0.25, 0.5, 1.0, 2.0)
"""Scales at which graphs are generated, times that of the command."""


@simulated(
    "switchgnn/fig15-size",
    "Epoch time in a star against the size of the generated graph",
    seconds=20,
    options={**OPTIONS, "buffer_mb": (64.0, 16.0)},
    sizes=(0.5, 1.0),
)
def figure15_size(
    scale: float, seed: int, folder: Path | None = None, *, buffer_mb: float = 64.0, **open_: Any
) -> Reproduction:
    """Epoch time of Reddit's exchanges packet by packet, from small graphs to larger ones; 14.5 has the real size."""
    conditions = BenchParameters(**open_)
    beds = [bed_of("reddit", WORKERS, scale * size, seed, folder, conditions) for size in _SIZES]
    vertices = [len(bed.sample.indptr) - 1 for bed in beds]
    lines: dict[str, tuple[list[int], list[float]]] = {scheme: (vertices, []) for scheme in _SCHEMES}
    for bed in counted("sizes", beds):
        network = BufferedNetwork(bed, buffer_mb)
        for scheme in _SCHEMES:
            lines[scheme][1].append(network.epoch_ms(scheme))
    comparisons = [
        PaperComparison(
            f"{count:,} vertices: {ours} against {other}", published, less(lines[ours][1][i], lines[other][1][i])
        )
        for i, count in enumerate(vertices)
        for ours, other, published in PUBLISHED
        if other in lines
    ]
    panel = Curves("Reddit, 128 workers", "vertices", "communication of an epoch, ms", lines, log=True)
    note = f"Ports have buffers of {buffer_mb:g} MB. {origin(beds[-1].sample)}"
    settings = beds[-1].settings(hidden=conditions.hidden, buffer_mb=buffer_mb)
    return Reproduction(comparisons, [panel], settings, note, {"epoch_ms": lines})
