# SPDX-License-Identifier: Apache-2.0
"""Measures where the switch pays: exchanges in laboratories with rated links, beside the fitted formula."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from offramp_base.errors import OfframpError
from offramp_base.progress import report
from offramp_sim.exchanges.cell import ExchangeTransport, MapCell
from offramp_sim.exchanges.formula import Speed, crossover_bps, expected_ratio, fit, halves, named_right, switch_wins
from offramp_sim.exchanges.graphs import boundary_with
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.item import PaperComparison, Reproduction, measured

if TYPE_CHECKING:
    from offramp.graph.boundary import Boundary
    from offramp_sim.exchanges.formula import Measured
    from offramp_sim.exchanges.laboratory import ExchangeLaboratory

CENTRE: Final = MapCell(8, 5.0, 300_000_000)
"""The cell around which one axis at a time is varied."""
RATES: Final = (1_000_000_000, 300_000_000, 100_000_000)
COPIES: Final = {8: (1.5, 3.0, 5.0), 4: (1.5, 2.5)}
"""Mean copies by the number of workers, which must be more than one more."""
_QUICK: Final = (MapCell(4, 2.0, RATES[1], 32), MapCell(3, 1.5, RATES[1], 32))
_QUICK_BELOW: Final = 0.25
_EACH: Final = 512
"""Vertices per worker, at scale 1."""
_COUNT: Final = 9


def cells(scale: float) -> list[MapCell]:
    """The map: workers, copies and rates, then width and bits around the centre; two cells if the scale is small."""
    if scale < _QUICK_BELOW:
        return list(_QUICK)
    grid = [MapCell(workers, copies, rate) for workers in COPIES for rate in RATES for copies in COPIES[workers]]
    return [*grid, replace(CENTRE, width=32), replace(CENTRE, bits=8)]


def measure(places: Sequence[MapCell], each: int, seed: int, count: int) -> Measured:
    """Time every way at every place, in one laboratory for all places of a number of workers and a rate.

    The fastest links come first: there the cores are the limit, and ``auto`` gets rates from what was measured so far.

    Raises:
        OfframpError: no network namespaces here, something in a laboratory failed, or ways differ in a sum.
    """
    from offramp_sim.exchanges.laboratory import laboratory

    times: Measured = {}
    graphs: dict[tuple[int, float], Boundary] = {}
    by_laboratory = sorted(places, key=lambda cell: (-cell.rate_bps, -cell.workers))
    total = len(places) * len(ExchangeTransport)
    report("exchanges", 0, total)
    for (rate_bps, workers), here in groupby(by_laboratory, key=lambda cell: (cell.rate_bps, cell.workers)):
        with laboratory(workers, f"{rate_bps // 1_000_000}mbit") as lab:
            for cell in here:
                key = workers, cell.copies
                if key not in graphs:
                    graphs[key] = boundary_with(workers, each, cell.copies, seed)
                _measure(lab, graphs[key], cell, count, times, total)
    return times


def _measure(
    lab: ExchangeLaboratory, boundary: Boundary, cell: MapCell, count: int, times: Measured, total: int
) -> None:
    mine = times[cell] = {}
    for way in ExchangeTransport:
        rates = None
        if way is ExchangeTransport.AUTO:
            load = mine[ExchangeTransport.SWITCH].load
            rates = fit(times, list(times)).rates(load, cell.workers, cell.rate_bps)
        mine[way] = lab.time(boundary, cell, way, count, rates)
        if cell.bits == 32 and mine[way].digest != mine[ExchangeTransport.P2P].digest:
            raise OfframpError(f"{cell}: {way}: other sums than p2p's")
        report("exchanges", sum(map(len, times.values())), total)


@measured(
    "switchgnn/where-measured",
    "Where a software switch pays, measured behind rated links",
    seconds=600,
    sizes=(0.5, 1.0),
)
def where_measured(scale: float, seed: int) -> Reproduction:
    """Exchanges by p2p, through the switch, hybrid and auto over workers, copies, rates, width and bits."""
    load_before, begun = os.getloadavg()[0], time.time()
    each = max(64, round(_EACH * scale))
    times = measure(cells(scale), each, seed, _COUNT)
    when = time.strftime("%Y-%m-%d", time.gmtime(begun))
    loads = f"load average {load_before:.1f} before and {os.getloadavg()[0]:.1f} after"
    setting = f"{when}, {os.cpu_count()} cores, {loads}"
    return reproduction_of(
        times, {"vertices of a worker": each, "exchanges": _COUNT, "measured": setting, "seed": seed}
    )


def reproduction_of(times: Measured, shown: dict[str, Any]) -> Reproduction:
    """Fit the formula to half of the cells, test it on the others, and put all beside each other.

    Args:
        times: measured cells, at least two.
        shown: settings, with what ``measured`` says of the day and the load.
    """
    learnt, tested = halves(times)
    speed = fit(times, learnt)
    right = [named_right(times, part, speed) for part in (learnt, tested)]
    wins = sum(switch_wins(ways) for ways in times.values())
    comparisons = [
        *(PaperComparison(str(cell), None, _line(times, cell)) for cell in times),
        PaperComparison("cells in which the switch is faster than p2p", None, f"{wins} of {len(times)}"),
        PaperComparison("passes per second, fitted to half of the cells", None, f"{speed.passes_pps:,.0f}"),
        PaperComparison("uploads and results per second, likewise", None, f"{speed.packets_pps:,.0f}"),
        PaperComparison(
            "bytes that hosts send and receive per second, likewise", None, f"{speed.hosts_bps / 1e6:,.0f} MB"
        ),
        PaperComparison("winners that it names right among cells of the fit", None, f"{right[0]} of {len(learnt)}"),
        PaperComparison("winners that it names right among the others", None, f"{right[1]} of {len(tested)}"),
    ]
    note = (
        "Median exchange, from the start of all workers to the end of the last. Ratios are to p2p; below 1 the other "
        "way is faster. Sums of 32 bits were the same to the bit by every way. In the formula, links and cores work at "
        "once and the slower decides; cores take passes / p + packets / q through the switch, bytes / h from host to "
        "host."
    )
    data = {"speed": vars(speed), "cells": [_plain(cell, ways) for cell, ways in times.items()], "right": right}
    table = _markdown(times, speed, str(shown["measured"]), [(right[0], learnt), (right[1], tested)])
    return Reproduction(comparisons, _panels(times, speed), shown, note, data, markdown=table)


def _line(times: Measured, cell: MapCell) -> str:
    base = times[cell][ExchangeTransport.P2P].usual_s
    others = ", ".join(
        f"{way} {times[cell][way].usual_s / base:.2f}" for way in ExchangeTransport if way is not ExchangeTransport.P2P
    )
    return f"{1e3 * base:.0f} ms p2p; {others}"


def _plain(cell: MapCell, ways: Any) -> dict[str, Any]:
    rows = {str(way): {"scheme": one.scheme, "seconds": one.seconds, **vars(one.load)} for way, one in ways.items()}
    return {**vars(cell), "ways": rows}


def _panels(times: Measured, speed: Speed) -> list[Curves]:
    """One panel for each number of workers: winners by copies and rate, and the line of the formula."""
    panels = []
    for workers in sorted({cell.workers for cell in times}, reverse=True):
        mine = [cell for cell in times if cell.workers == workers and (cell.width, cell.bits) == _usual(times)]
        copies = np.linspace(1.02, max(workers - 1.2, 1.1), 60)
        line = [crossover_bps(replace(mine[0], copies=float(each)), speed) / 1e6 for each in copies]
        # Where the switch pays at any rate, the line leaves the picture.
        top = 2e-6 * max(cell.rate_bps for cell in mine)
        end = next((i + 1 for i, rate in enumerate(line) if rate >= top), len(line))
        drawn = [(float(c), min(rate, top)) for c, rate in zip(copies[:end], line[:end], strict=True) if rate > 1]
        lines: dict[str, tuple[list[Any], list[float]]] = {_FORMULA: _columns(drawn)}
        for label, wins in ((_FASTER, True), (_SLOWER, False)):
            lines[label] = _columns([(c.copies, c.rate_bps / 1e6) for c in mine if switch_wins(times[c]) == wins])
        title = f"{workers} workers, width {mine[0].width}, {mine[0].bits} bits"
        panels.append(Curves(title, "workers that need a vertex", "link, Mb/s", lines, log=True, points=_POINTS))
    return panels


_FORMULA: Final = "formula: below and right of it the switch pays"
_FASTER: Final = "measured: switch faster"
_SLOWER: Final = "measured: p2p faster"
_POINTS: Final = (_FASTER, _SLOWER)


def _usual(times: Measured) -> tuple[int, int]:
    """Width and bits of the grid: those of the first cell."""
    first = next(iter(times))
    return first.width, first.bits


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[Any], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _markdown(times: Measured, speed: Speed, setting: str, right: Sequence[tuple[int, Sequence[MapCell]]]) -> str:
    """The table of the page docs/where-it-pays.md."""
    rows = [
        f"Measured on {setting}.",
        "",
        "| Workers | Copies | Links | Width | Bits | p2p | Switch | Hybrid | Auto | Formula: switch | `auto` took |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in sorted(times, key=lambda c: (c.bits != 32, c.width != 128, -c.workers, c.copies, c.rate_bps)):
        ways = times[cell]
        base = ways[ExchangeTransport.P2P].usual_s
        ratios = [_bold(ways[way].usual_s / base) for way in ExchangeTransport if way is not ExchangeTransport.P2P]
        cells_ = [cell.workers, f"{cell.copies:g}", f"{cell.rate_bps // 1_000_000:,} Mb/s", cell.width, cell.bits]
        cells_ += [
            f"{1e3 * base:.0f} ms",
            *ratios,
            _bold(expected_ratio(ways, cell, speed)),
            ways[ExchangeTransport.AUTO].scheme,
        ]
        rows.append(f"| {' | '.join(map(str, cells_))} |")
    fitted = (
        f"p = {speed.passes_pps / 1e6:.2f} M passes, q = {speed.packets_pps / 1e3:,.0f} k packets and "
        f"h = {speed.hosts_bps / 1e6:,.0f} MB per second, fitted to {len(right[0][1])} cells, of which the formula "
        f"names {right[0][0]} winners; of the other {len(right[1][1])} it names {right[1][0]}."
    )
    return "\n".join([*rows, "", fitted, ""])


def _bold(ratio: float) -> str:
    return f"**{ratio:.2f}**" if ratio < 1 else f"{ratio:.2f}"
