# SPDX-License-Identifier: Apache-2.0
"""Controls of Themis's orders: random ones, all orders in turn, and the best single one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any, Final

import numpy as np

from offramp.themis.candidate import Candidate
from offramp.themis.demand import Demand
from offramp.themis.network import Collective, Network
from offramp.themis.pipeline import ChunkPolicy
from offramp.themis.plan import Scheduler, make_plan
from offramp.themis.schedule import ChunkSchedule, Order, all_orders, chunk_for, split
from offramp.themis.themis import AS_PUBLISHED
from offramp.themis.topologies import PAPER
from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.item import PaperComparison, Reproduction, simulated
from offramp_sim.reproduce.themis.microbenchmark import OPTIONS, networks

_BYTES: Final = 500e6
_CONTROLS: Final = ("orders at random", "all orders in turn", "the best single order")


@simulated(
    "themis/controls",
    "Themis's orders beside random and constant ones",
    seconds=1,
    options={**OPTIONS, "chunks": (64, 16, 256, 4)},
    sizes=(1.0,),
)
def controls(
    _scale: float,
    seed: int,
    *,
    size_factor: float = 1.0,
    chunks: int = 64,
    outer_factor: float = 1.0,
    packets: str = "none",
) -> Reproduction:
    """An all-reduce of 500 MB on the six topologies, always with the smallest chunk first."""
    demand = Demand(Collective.ALL_REDUCE, round(size_factor * _BYTES))
    rng = np.random.default_rng(seed)
    gains: dict[str, list[float]] = {name: [] for name in (*_CONTROLS, "the baseline")}
    for network in counted("topologies", networks(outer_factor, packets)):
        ours = make_plan(network, [demand], Scheduler.THEMIS_SCF, chunks, AS_PUBLISHED).finish_ps
        known = all_orders(network)
        drawn = [known[at] for at in rng.integers(len(known), size=chunks)]
        times = {
            "orders at random": _finish_ps(network, demand, drawn),
            "all orders in turn": _finish_ps(network, demand, list(islice(cycle(known), chunks))),
            "the best single order": min(_finish_ps(network, demand, [order] * chunks) for order in known),
            "the baseline": make_plan(network, [demand], Scheduler.BASELINE, chunks).finish_ps,
        }
        for name, time in times.items():
            gains[name].append(time / ours)
    comparisons = [
        PaperComparison(f"Themis+SCF over {name}, {what}", None, f"{pick(values):.2f}x")
        for name, values in gains.items()
        for what, pick in (("mean", np.mean), ("least", min))
    ]
    lines: dict[str, tuple[list[Any], list[float]]] = {name: (list(PAPER), values) for name, values in gains.items()}
    panel = Curves("time over Themis+SCF's", "", "times", lines, bars=True)
    note = (
        "A chunk's order is random, the next of all, or the same for all chunks; what is left to Themis is which order "
        "a chunk gets. Queues are the same: the smallest chunk first, by the bytes that it sends."
    )
    settings = {"MB": demand.size / 1e6, "chunks": chunks, "seed": seed}
    return Reproduction(comparisons, [panel], settings, note, {"gains": gains})


def _finish_ps(network: Network, demand: Demand, orders: Sequence[Order]) -> int:
    """End of an all-reduce whose chunks have these orders, in picoseconds."""
    sizes = split(demand.size, len(orders))
    chunks = tuple(chunk_for(demand.collective, size, order) for size, order in zip(sizes, orders, strict=True))
    schedule = ChunkSchedule(network, demand.collective, chunks)
    return Candidate.run(network, (demand,), (schedule,), ChunkPolicy.SCF).timeline.finish_ps
