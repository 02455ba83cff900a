# SPDX-License-Identifier: Apache-2.0
"""Themis on single all-reduces: figures 8 to 11."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, Final

from offramp.themis.demand import Demand
from offramp.themis.network import Collective, Network
from offramp.themis.packets import usual_packets
from offramp.themis.plan import Scheduler, make_plan
from offramp.themis.themis import AS_PUBLISHED
from offramp.themis.topologies import PAPER
from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.item import PaperComparison, Reproduction, exact
from offramp_sim.themis.metrics import WINDOW_PS, present, share_by_window, utilisation
from offramp_sim.themis.sweep import METHODS, SIZES_MB, SweepPoint, sweep

_SETTINGS = {"sizes_MB": list(SIZES_MB), "chunks": 64, "threshold": "1/16"}
_CHUNKS = (4, 8, 16, 32, 64, 128, 256, 512)
_STUDIED = ("3D-SW_SW_SW_hetero", "4D-Ring_FC_Ring_SW")
_MODEL = (
    "Fixed delays overlap with other chunks. With headers, packets of the last dimension are InfiniBand's (4,096 bytes "
    "and 26 of header) and of others NVLink's (256 and 16): the paper names them without sizes. The sizes between 100 "
    "MB and 1 GB are ours. themis+scf-size takes the smallest chunk by its size before the stage, themis+scf by the "
    "bytes that it sends."
)


OPTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "size_factor": (1.0, 0.35, 2.8),
    "chunks": (64, 16, 256),
    "outer_factor": (1.0, 0.3, 3.0),
    "packets": ("none", "headers"),
}
"""Sizes, chunks and bandwidth of the last dimension, as multiples of the paper's, and headers, for a referee."""


def networks(outer_factor: float, packets: str) -> tuple[Network, ...]:
    """The paper's topologies, with a different bandwidth of the last dimension, and with headers or without."""

    def changed(network: Network) -> Network:
        *inner, last = network.dimensions
        return replace(network, dimensions=(*inner, replace(last, bandwidth_bps=last.bandwidth_bps * outer_factor)))

    rated = (network if outer_factor == 1 else changed(network) for network in PAPER.values())
    return tuple(with_headers(network) if packets == "headers" else network for network in rated)


def with_headers(network: Network) -> Network:
    """The network with packets as :func:`~offramp.themis.packets.usual_packets` has them."""
    return network.with_packets(usual_packets(len(network.dimensions)))


@cache
def _points(
    size_factor: float = 1.0, chunks: int = 64, outer_factor: float = 1.0, packets: str = "none"
) -> tuple[SweepPoint, ...]:
    return tuple(sweep(networks(outer_factor, packets), size_factor, chunks))


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


@exact("themis/fig8", "All-reduce time against size", seconds=9, options=OPTIONS)
def figure8(**open_: Any) -> Reproduction:
    """Time of all-reduces against their size."""
    points = _points(**open_)

    def gain(method: str) -> list[float]:
        return [point.seconds["baseline"] / point.seconds[method] for point in points]

    comparisons = [
        PaperComparison("Themis+FIFO: mean speed-up", "1.58", f"{_mean(gain('themis+fifo')):.2f}", turns_at=1.0),
        PaperComparison("Themis+SCF: mean speed-up", "1.72", f"{_mean(gain('themis+scf')):.2f}", turns_at=1.0),
        PaperComparison("Themis+SCF: largest speed-up", "2.70", f"{max(gain('themis+scf')):.2f}", turns_at=1.0),
        PaperComparison("Themis+SCF by size before: mean", None, f"{_mean(gain('themis+scf-size')):.2f}", turns_at=1.0),
        PaperComparison("balanced: mean speed-up", None, f"{_mean(gain('balanced')):.2f}", turns_at=1.0),
        PaperComparison(
            "balanced: share of the linear bound, mean",
            None,
            _percent([p.bound_s / p.seconds["balanced"] for p in points]),
        ),
        PaperComparison(
            "Themis+SCF: share of the linear bound, mean",
            None,
            _percent([p.bound_s / p.seconds["themis+scf"] for p in points]),
        ),
    ]
    panels = []
    for name in PAPER:
        mine = [p for p in points if p.network == name]
        lines = {m: ([p.megabytes for p in mine], [1e3 * p.seconds[m] for p in mine]) for m in METHODS}
        lines["linear bound"] = ([p.megabytes for p in mine], [1e3 * p.bound_s for p in mine])
        panels.append(Curves(name, "MB", "ms", lines))
    data = {"points": [_row(point) for point in points]}
    return Reproduction(comparisons, panels, dict(_SETTINGS), _MODEL, data)


def _row(point: SweepPoint) -> dict[str, object]:
    return {
        "network": point.network,
        "MB": point.megabytes,
        "seconds": point.seconds,
        "utilisation": point.utilisation,
        "bound_s": point.bound_s,
        "ideal_s": point.ideal_s,
    }


def _percent(values: list[float]) -> str:
    return f"{100 * _mean(values):.2f} %"


@exact("themis/fig9", "Activity of the dimensions over time", seconds=1)
def figure9() -> Reproduction:
    """Activity of each dimension in windows of 100 microseconds, 1 GB on 3D-SW_SW_SW_homo."""
    network = PAPER["3D-SW_SW_SW_homo"]
    panels, comparisons, data = [], [], {}
    published = {"baseline": "dim2, dim3 mostly idle", "themis+fifo": "balanced, with gaps", "themis+scf": "fewer gaps"}
    for scheduler in counted("all-reduces", tuple(Scheduler)):
        plan = make_plan(network, [Demand(Collective.ALL_REDUCE, 10**9)], scheduler, options=AS_PUBLISHED)
        lines, means = {}, []
        for dim in range(len(network.dimensions)):
            intervals = present(plan.timeline, dim)
            shares = share_by_window(intervals, plan.finish_ps)
            times = [i * WINDOW_PS / 1e9 for i in range(len(shares))]
            lines[f"dim{dim + 1}"] = times, [round(100 * share, 3) for share in shares]
            means.append(sum(end - start for start, end in intervals) / plan.finish_ps)
        panels.append(Curves(f"{scheduler}: {plan.finish_ps / 1e9:.2f} ms", "ms", "activity, %", lines))
        ours = ", ".join(f"{100 * mean:.0f} %" for mean in means)
        comparisons.append(
            PaperComparison(f"{scheduler}: activity of dim1, dim2, dim3", published.get(scheduler), ours)
        )
        data[scheduler.value] = lines
    note = f"A dimension is active while a chunk waits or travels there. {_MODEL}"
    return Reproduction(comparisons, panels, {"network": network.name, "MB": 1000, "window_us": 100}, note, data)


@exact(
    "themis/fig10",
    "Utilisation against the number of chunks",
    seconds=9,
    options={name: OPTIONS[name] for name in ("size_factor", "outer_factor", "packets")},
)
def figure10(*, size_factor: float = 1.0, outer_factor: float = 1.0, packets: str = "none") -> Reproduction:
    """Utilisation of 100 MB all-reduces against the number of chunks."""
    known = dict(zip(PAPER, networks(outer_factor, packets), strict=True))
    lines: dict[str, dict[str, tuple[list[int], list[float]]]] = {name: {} for name in _STUDIED}
    cases = [(name, scheduler, chunks) for name in _STUDIED for scheduler in Scheduler for chunks in _CHUNKS]
    for name, scheduler, chunks in counted("all-reduces", cases):
        network = known[name]
        demand = Demand(Collective.ALL_REDUCE, round(size_factor * 1e8))
        plan = make_plan(network, [demand], scheduler, chunks, AS_PUBLISHED)
        _, used = lines[name].setdefault(scheduler.value, (list(_CHUNKS), []))
        used.append(100 * utilisation(network, plan.stages(), plan.finish_ps))
    published = {("themis+fifo", 4): "43.13 %", ("themis+scf", 4): "48.58 %"}
    published |= {("themis+fifo", 512): "87.81 %", ("themis+scf", 512): "91.18 %"}
    comparisons = []
    for scheduler in Scheduler:
        for chunks in (_CHUNKS[0], _CHUNKS[-1]):
            at = _CHUNKS.index(chunks)
            mean = _mean([lines[name][scheduler.value][1][at] for name in _STUDIED])
            what = f"{scheduler}: mean utilisation with {chunks} chunks"
            comparisons.append(PaperComparison(what, published.get((scheduler.value, chunks)), f"{mean:.2f} %"))
    panels = [Curves(name, "chunks", "utilisation, %", dict(lines[name])) for name in _STUDIED]
    return Reproduction(comparisons, panels, {"MB": 100, "chunks": list(_CHUNKS)}, _MODEL, {"utilisation": lines})


@exact("themis/fig11", "Utilisation against size", seconds=11, options=OPTIONS)
def figure11(**open_: Any) -> Reproduction:
    """Average utilisation against the size of the all-reduce."""
    points = _points(**open_)
    sizes = sorted({p.megabytes for p in points})
    published = {"baseline": "56.31 %", "themis+fifo": "87.67 %", "themis+scf": "95.14 %"}
    comparisons = [
        PaperComparison(f"{m}: mean utilisation", published.get(m), _percent([p.utilisation[m] for p in points]))
        for m in METHODS
    ]
    lines = {
        m: (sizes, [100 * _mean([p.utilisation[m] for p in points if p.megabytes == mb]) for mb in sizes])
        for m in METHODS
    }
    panel = Curves("mean of six topologies", "MB", "utilisation, %", lines)
    return Reproduction(comparisons, [panel], dict(_SETTINGS), _MODEL, {"utilisation": lines})
