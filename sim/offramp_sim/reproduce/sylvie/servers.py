# SPDX-License-Identifier: Apache-2.0
"""Sylvie and other systems on servers of eight GPUs, by simulation: figures 3.1 and 3.13, tables 3.7, 3.8 and 3.12."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from offramp_base.progress import counted
from offramp_sim.figures.panels import Curves
from offramp_sim.reproduce.item import PaperComparison, Reproduction, simulated
from offramp_sim.reproduce.sylvie.bed import (
    ETHERNET,
    INFINIBAND,
    NOTE,
    OPTIONS,
    SYSTEMS,
    ServerType,
    Spent,
    SylvieParameters,
)
from offramp_sim.reproduce.table import ItemTable, Row

_SYLVIE: Final = ("Sylvie in step", "Sylvie, stale")
_PARTS: Final = ("communication", "computation")


@simulated("sylvie/fig3.1", "Where an epoch of DGL goes", seconds=2, options=OPTIONS)
def figure31(scale: float, seed: int, **open_: Any) -> Reproduction:
    """Communication, computation and the sum of gradients in an epoch of vanilla training, one server."""
    conditions = SylvieParameters(**open_)
    times = {}
    for name in counted("data sets", ("reddit", "yelp", "products")):
        times[name] = conditions.bed(name, 1, ETHERNET, scale, seed).epoch(conditions.of("DGL"))
    shares = {name: 100 * spent.communication / spent.total for name, spent in times.items()}
    comparisons = [
        PaperComparison("largest share of communication", "89.23 %", f"{max(shares.values()):.1f} %", turns_at=50.0),
        *(PaperComparison(f"{name}: communication", None, f"{share:.1f} %") for name, share in shares.items()),
        *(
            PaperComparison(f"{name}: sum of gradients", "a very small portion", f"{100 * s.gradients / s.total:.2f} %")
            for name, s in times.items()
        ),
    ]
    parts = {
        part: (list(times), [1e3 * getattr(spent, part) for spent in times.values()])
        for part in ("communication", "computation", "gradients")
    }
    panel = Curves("an epoch of GraphSAGE, 8 GPUs", "", "ms", parts, bars=True, stacked=True)
    return Reproduction(comparisons, [panel], _shown(scale, seed), NOTE, {n: s._asdict() for n, s in times.items()})


@simulated("sylvie/table3.7", "Epoch time on A100 servers", seconds=1, options=OPTIONS)
def table37(scale: float, seed: int, **open_: Any) -> Reproduction:
    """All systems with NVLink and InfiniBand: products on two servers, papers on four."""
    published = {
        ("products", 2): {"PipeGCN": "1.36x", "BNS-GCN": "2.54x", "Sylvie in step": "4.30x", "Sylvie, stale": "4.30x"},
        ("papers", 4): {"PipeGCN": "1.37x", "BNS-GCN": "8.10x", "Sylvie in step": "13.08x", "Sylvie, stale": "13.08x"},
    }
    places = {f"{name}, {servers} servers": (name, servers, INFINIBAND) for name, servers in published}
    table, comparisons = _table("data sets", places, scale, seed, open_), []
    for (where, times), factors, saved in zip(table.items(), published.values(), ("87 %", "95 %"), strict=True):
        comparisons += _factors(where, times, factors)
        less = 100 * (1 - times["Sylvie in step"].communication / times["DGL"].communication)
        comparisons.append(PaperComparison(f"{where}: communication that Sylvie saves", saved, f"{less:.1f} %"))
    return _of_rows(table, comparisons, scale, seed)


@simulated("sylvie/table3.8", "Throughput on one server", seconds=1, options=OPTIONS)
def table38(scale: float, seed: int, **open_: Any) -> Reproduction:
    """All systems on one server of RTX 3090, GraphSAGE."""
    published = {
        "yelp": {"PipeGCN": "1.08x", "BNS-GCN": "3.10x", "Sylvie in step": "4.02x", "Sylvie, stale": "4.02x"},
        "products": {"PipeGCN": "1.05x", "BNS-GCN": "3.07x", "Sylvie in step": "4.40x", "Sylvie, stale": "4.40x"},
        "amazon": {"PipeGCN": "0.97x", "BNS-GCN": "6.93x", "Sylvie in step": "7.78x", "Sylvie, stale": "7.78x"},
    }
    table = _table("data sets", {name: (name, 1, ETHERNET) for name in published}, scale, seed, open_)
    comparisons = [line for name, times in table.items() for line in _factors(name, times, published[name])]
    return _of_rows(table, comparisons, scale, seed)


@simulated("sylvie/table3.12", "Epoch time on one to three A100 servers", seconds=1, options=OPTIONS)
def table312(scale: float, seed: int, **open_: Any) -> Reproduction:
    """GraphSAGE on products, with DGL and Sylvie, against the number of servers."""
    published = {1: "2.8x", 2: "4.3x", 3: "4.9x"}
    table = _table("servers", {n: ("products", n, INFINIBAND) for n in published}, scale, seed, open_)
    comparisons = [
        line
        for servers, spent in table.items()
        for line in _factors(f"{servers} of 8 GPUs", spent, dict.fromkeys(_SYLVIE, published[servers]))
    ]
    gains = {system: _over_dgl(table, system) for system in _SYLVIE}
    more = gains["Sylvie in step"][-1] / gains["Sylvie in step"][0]
    comparisons.append(PaperComparison("gain with 3 servers over that with 1", "1.75x", f"{more:.2f}x"))
    parts = {
        f"{system}, {servers}": {part: 1e3 * getattr(spent[system], part) for part in _PARTS}
        for servers, spent in table.items()
        for system in ("DGL", "Sylvie in step")
    }
    panels = [
        Curves("an epoch", "", "ms", ItemTable(parts).lines(), bars=True, stacked=True),
        Curves("over DGL", "servers", "times", {system: ([1, 2, 3], gain) for system, gain in gains.items()}),
    ]
    return Reproduction(comparisons, panels, _shown(scale, seed), NOTE, {"gains": gains})


@simulated("sylvie/fig3.13", "Throughput on one to four servers", seconds=3, options=OPTIONS)
def figure313(scale: float, seed: int, **open_: Any) -> Reproduction:
    """GraphSAGE on Amazon over Ethernet, relative to DGL, against the number of servers."""
    counts = [1, 2, 3, 4]
    table = _table("servers", {n: ("amazon", n, ETHERNET) for n in counts}, scale, seed, open_)
    lines = {system: (counts, _over_dgl(table, system)) for system in SYSTEMS if system != "DGL"}
    published = {"PipeGCN": "about 1x", "BNS-GCN": "9.08x (2 servers)", **dict.fromkeys(_SYLVIE, "13.70x (2 servers)")}
    comparisons = [
        PaperComparison(
            f"{system} over DGL, {servers} servers", published[system] if servers == 2 else None, f"{gain:.2f}x"
        )
        for system, (_, gains) in lines.items()
        for servers, gain in zip(counts, gains, strict=True)
    ]
    steps = lines["Sylvie in step"][1]
    comparisons.append(
        PaperComparison("gain with 4 servers over that with 1", "greater than 1x", f"{steps[-1] / steps[0]:.2f}x")
    )
    note = f"{NOTE} The figure has no numbers in the text; those of two servers are table 3.6's."
    panel = Curves("throughput over DGL", "servers", "times", lines)
    return Reproduction(comparisons, [panel], _shown(scale, seed), note, {"gains": lines})


def _table(
    what: str, places: Mapping[Row, tuple[str, int, ServerType]], scale: float, seed: int, open_: dict[str, Any]
) -> ItemTable[Row, Spent]:
    """An epoch of every system on a data set, a number of servers and their type."""
    conditions = SylvieParameters(**open_)

    def run(row: Row) -> dict[str, Spent]:
        bed = conditions.bed(*places[row], scale, seed)
        return {name: bed.epoch(conditions.of(name)) for name in SYSTEMS}

    return ItemTable.sweep(what, places, run)


def _over_dgl(table: ItemTable[Any, Spent], system: str) -> list[float]:
    return [spent["DGL"].total / spent[system].total for spent in table.values()]


def _factors(where: str, spent: Mapping[str, Spent], published: dict[str, str]) -> list[PaperComparison]:
    return [
        PaperComparison(f"{where}: {system} over DGL", factor, f"{spent['DGL'].total / spent[system].total:.2f}x")
        for system, factor in published.items()
    ]


def _of_rows(table: ItemTable[str, Spent], comparisons: list[PaperComparison], scale: float, seed: int) -> Reproduction:
    """A panel and the seconds of all systems for each row."""
    names = {"communication alone": "communication", "computation alone": "computation", "epoch": "total"}
    panels = [
        Curves(
            row,
            "",
            "ms",
            {n: (list(times), [1e3 * getattr(t, part) for t in times.values()]) for n, part in names.items()},
            bars=True,
        )
        for row, times in table.items()
    ]
    data = {row: {system: spent._asdict() for system, spent in times.items()} for row, times in table.items()}
    return Reproduction(comparisons, panels, _shown(scale, seed), NOTE, data)


def _shown(scale: float, seed: int) -> dict[str, Any]:
    return {"model": "GraphSAGE", "scale": scale, "seed": seed}
