# SPDX-License-Identifier: Apache-2.0
"""Conditions under which the switch pays: workers, copies of a vertex and passes, by simulation and by a formula."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Final

from offramp.switchgnn.chunks import chunks_for
from offramp.switchgnn.plan import make_plan
from offramp.workers.traffic import HOST_PAYLOAD_BYTES
from offramp_base.progress import counted
from offramp_sim.exchanges.graphs import boundary_of
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.bench import PIPE_PPS
from offramp_sim.reproduce.item import PaperComparison, Reproduction, simulated
from offramp_sim.slot.host_based import HOST_PACKET_BYTES, bns_gcn
from offramp_sim.slot.hybrid import hybrid
from offramp_sim.slot.in_network import planned
from offramp_sim.slot.ports import PACKET_WIRE_BYTES, StarFabric

WORKERS: Final = (8, 32, 128, 512, 1024)
DEGREES: Final = (1, 2, 4, 8, 16)
"""Remote neighbours of a vertex; with many workers, hardly two are on the same one, so it has as many copies."""
_EACH: Final = 256
"""Vertices per worker, at scale 1."""
_MEMORY: Final = 1 << 32
"""Bytes of the switch's aggregators: every graph is whole in it."""
_FORMULA: Final = "formula"


@dataclass(frozen=True)
class ExchangePoint:
    """Position of an exchange on the map.

    Attributes:
        workers: number of workers.
        degree: mean remote neighbours of a boundary vertex.
        copies: mean workers that need a boundary vertex.
        features: width of a vertex.
    """

    workers: int
    degree: float
    copies: float
    features: int

    @property
    def vector_bytes(self) -> float:
        """Bytes of a vertex on a link from host to host, in full packets."""
        return 4 * self.features * HOST_PACKET_BYTES / HOST_PAYLOAD_BYTES

    @property
    def turn(self) -> float:
        """Number of copies above which links are relieved: a vertex goes up once, and a sum comes down once."""
        return chunks_for(self.features) * PACKET_WIRE_BYTES / self.vector_bytes

    def most_workers(self, link_bps: float, passes_pps: float) -> float:
        """Number of workers up to which the pipeline removes copies as fast as links would carry them.

        A pass of a packet removes at most one copy, and takes equally long for any number of workers; there are as
        many links as workers.
        """
        passes = chunks_for(self.features) * self.degree
        return self.copies * self.vector_bytes * 8 / link_bps * passes_pps / passes

    def ratio(self, link_bps: float, passes_pps: float | None) -> float:
        """Time through the switch over time from host to host, without delays and barriers."""
        by_hosts = self.copies * self.vector_bytes * 8 / link_bps
        by_links = chunks_for(self.features) * PACKET_WIRE_BYTES * 8 / link_bps
        by_passes = 0.0 if passes_pps is None else self.workers * chunks_for(self.features) * self.degree / passes_pps
        return max(by_links, by_passes) / by_hosts


@simulated(
    "switchgnn/where",
    "Where the switch pays: workers, copies, passes",
    seconds=60,
    options={"link_gbps": (100.0, 25.0, 400.0), "features": (128, 32, 256)},
    sizes=(1.0, 0.5, 2.0),
)
def where(scale: float, seed: int, *, link_gbps: float = 100.0, features: int = 128) -> Reproduction:
    """Exchanges over the map of workers and copies, with free passes and with one or four pipes."""
    pipes = {"free passes": None, "one pipe": PIPE_PPS, "four pipes": 4 * PIPE_PPS}
    each = max(32, round(_EACH * scale))
    points: dict[str, dict[str, tuple[list[float], list[float]]]] = {name: {} for name in pipes}
    errors, agreed, rows = [], 0, []
    for workers, degree in counted("exchanges", list(product(WORKERS, DEGREES))):
        boundary = boundary_of(workers, each, degree, seed)
        place = ExchangePoint(workers, 2 * boundary.C / boundary.B, boundary.R / boundary.B, features)
        plan = make_plan(boundary, chunks_for(features), _MEMORY, "gamr", seed)
        hosts = bns_gcn(boundary, features, StarFabric(link_gbps * 1e9, 0.0)).seconds
        for name, passes in pipes.items():
            # long exchanges: delays and barriers, which a hundred vertices would not carry, are left out
            fabric = StarFabric(link_gbps * 1e9, 0.0, passes)
            times = {"bns-gcn": hosts, "switchgnn": planned(plan, fabric).seconds}
            times["hybrid"] = hybrid(boundary, features, plan, fabric).seconds
            ratio = times["switchgnn"] / times["bns-gcn"]
            expected = place.ratio(link_gbps * 1e9, passes)
            errors.append(ratio / expected - 1)
            agreed += (ratio < 1) == (expected < 1)
            for label, value in ((f"{workers} workers", ratio), (_FORMULA, expected)):
                xs, ys = points[name].setdefault(label, ([], []))
                xs.append(place.copies)
                ys.append(value)
            where_it_is = {"workers": workers, "neighbours": degree, "copies": place.copies, "passes": name}
            rows.append({**where_it_is, "formula": expected, **times})
    typical = ExchangePoint(128, 4.0, 4.0, features)
    comparisons = [
        PaperComparison("copies from which on links are relieved", None, f"{typical.turn:.2f}"),
        *(
            PaperComparison(
                f"workers that {name} can relieve", None, f"{typical.most_workers(link_gbps * 1e9, passes):.0f}"
            )
            for name, passes in pipes.items()
            if passes is not None
        ),
        PaperComparison(
            "settings in which formula and simulation agree on the winner", None, f"{agreed} of {len(rows)}"
        ),
        PaperComparison(
            "simulation over formula, least to greatest", None, f"{1 + min(errors):.2f} to {1 + max(errors):.2f}"
        ),
    ]
    panels = [
        Curves(name, "workers that need a vertex", "time over host-based", lines, log=True, points=(_FORMULA,))
        for name, lines in points.items()
    ]
    note = (
        "Below 1 the switch is faster. A random graph on equal workers, whole in the switch's memory; no delays, no "
        "barriers, no blocks, which only make the switch slower. The paper has no such figure."
    )
    settings = {"link_gbps": link_gbps, "features": features, "vertices of a worker": each}
    return Reproduction(comparisons, panels, settings, note, {"rows": rows})
