# SPDX-License-Identifier: Apache-2.0
"""Themis on paper: tables 1 to 3, the worked example of figures 5 and 7, provisioning (section 6.3)."""

from __future__ import annotations

from offramp.themis import themis
from offramp.themis.bound import best_bound, ideal_ps
from offramp.themis.demand import Demand
from offramp.themis.network import Collective, Dimension, DimensionTopology, Network
from offramp.themis.plan import CollectivePlan, Scheduler, make_plan
from offramp.themis.topologies import EXAMPLE, PAPER
from offramp_sim.figures.panels import Curves, Gantt, Panel
from offramp_sim.reproduce.item import Evidence, PaperComparison, Reproduction, exact, reproduces
from offramp_sim.reproduce.table import ItemTable, bar_chart
from offramp_sim.themis.metrics import utilisation

_RS, _AR = Collective.REDUCE_SCATTER, Collective.ALL_REDUCE
_MB = 10**6


@reproduces("themis/table1", "Algorithms of a dimension", seconds=1, evidence=Evidence.CONTEXT)
def table1(_scale: float, _seed: int) -> Reproduction:
    """Table 1: topologies of a dimension, with their algorithms, steps and bytes."""
    algorithms = {
        DimensionTopology.RING: "ring",
        DimensionTopology.FULLY_CONNECTED: "direct",
        DimensionTopology.SWITCH: "halving-doubling",
    }
    comparisons = []
    for kind, algorithm in algorithms.items():
        d = Dimension(kind, 16, 1e9)
        published = f"{algorithm}, 2P-2 = 30 steps" if kind is DimensionTopology.RING else algorithm
        comparisons.append(
            PaperComparison(f"{kind}: all-reduce of 16 NPUs", published, f"{algorithm}, {d.steps(_AR)} steps")
        )
        if kind is DimensionTopology.RING:
            comparisons.append(
                PaperComparison("bytes sent, reduce-scatter of 4 MB", "15/16 of 4 MB", f"{d.sent(_RS, 4):g} MB")
            )
    sizes = [2, 4, 8, 16, 32, 64]
    lines = {
        kind.value: (sizes, [float(Dimension(kind, p, 1e9).steps(_AR)) for p in sizes]) for kind in DimensionTopology
    }
    note = "Steps other than the ring's are the standard counts; all types but in-network send the same bytes."
    return Reproduction(comparisons, [Curves("steps of an all-reduce", "NPUs", "steps", lines)], {"NPUs": 16}, note)


@reproduces("themis/table2", "Topologies", seconds=1, evidence=Evidence.CONTEXT)
def table2(_scale: float, _seed: int) -> Reproduction:
    """Table 2: the topologies, their fixed delays, and the bandwidth of all dimensions."""
    comparisons, lines = [], {}
    for name, network in PAPER.items():
        rates = ", ".join(f"{d.bandwidth_bps / 1e9:g}" for d in network.dimensions)
        delays = ", ".join(f"{d.fixed_ps(_RS) / 1e3:g}" for d in network.dimensions)
        comparisons.append(PaperComparison(f"{name}: NPUs", "1024", str(network.npus)))
        comparisons.append(PaperComparison(f"{name}: Gb/s a dimension; fixed delays in ns", None, f"{rates}; {delays}"))
        dims = [f"dim{k + 1}" for k in range(len(network.dimensions))]
        lines[name] = (dims, [d.bandwidth_bps / 1e9 for d in network.dimensions])
    panels = [Curves(name, "", "Gb/s", {"bandwidth": line}, bars=True) for name, line in lines.items()]
    return Reproduction(comparisons, panels, {"topologies": len(PAPER)}, "The table itself is an input.")


@exact("themis/table3", "Schedulers", seconds=1)
def table3() -> Reproduction:
    """Table 3: the schedulers, on one all-reduce of 100 MB."""
    network = PAPER["3D-SW_SW_SW_homo"]
    demand = [Demand(_AR, 100 * _MB)]
    times = {s.value: make_plan(network, demand, s, options=themis.AS_PUBLISHED).finish_ps / 1e9 for s in Scheduler}
    times |= {"linear bound": best_bound(network, demand).finish_ps / 1e9, "ideal": ideal_ps(network, demand) / 1e9}
    comparisons = [PaperComparison(f"{name}, ms", None, f"{ms:.4f}") for name, ms in times.items()]
    panel = bar_chart("100 MB all-reduce, 3D-SW_SW_SW_homo", "ms", times, "time")
    note = (
        "The paper's four are baseline, themis+fifo, themis+scf and ideal. Ideal counts the bytes that an NPU has to "
        "send, 2 (1 - 1/P) of the collective's size."
    )
    return Reproduction(comparisons, [panel], {"network": network.name, "MB": 100, "chunks": 64}, note, {"ms": times})


def _gantt(plan: CollectivePlan, unit: int, title: str) -> Gantt:
    stages = plan.stages()
    spans: dict[str, list[tuple[int, float, float]]] = {f"chunk {i + 1}": [] for i in range(len(stages))}
    for op in plan.timeline.operations:
        spans[f"chunk {op.chunk + 1}"].append((op.dim, op.start / unit, (op.end - op.start) / unit))
    return Gantt(title, "units (64 MB reduce-scatter on dim1)", ("dim1", "dim2"), spans)


@exact("themis/fig5", "Four chunks over time", seconds=1)
def figure5() -> Reproduction:
    """The 256 MB all-reduce in four chunks on 4 x 4 NPUs, over time."""
    demand = [Demand(_AR, 256 * _MB)]
    unit = EXAMPLE.dimensions[0].transfer_ps(_RS, 64 * _MB)
    panels: list[Panel] = []
    comparisons, published = [], {Scheduler.BASELINE: "8"}
    for scheduler in Scheduler:
        plan = make_plan(EXAMPLE, demand, scheduler, 4, themis.AS_PUBLISHED)
        time = plan.finish_ps / unit
        panels.append(_gantt(plan, unit, f"{scheduler}: {time:g} units"))
        comparisons.append(PaperComparison(f"{scheduler}: units of time", published.get(scheduler), f"{time:g}"))
        used = utilisation(EXAMPLE, plan.stages(), plan.finish_ps)
        comparisons.append(PaperComparison(f"{scheduler}: utilisation", None, f"{100 * used:.1f} %"))
    bound = best_bound(EXAMPLE, demand).finish_ps / unit
    comparisons.append(PaperComparison("linear bound: units of time", None, f"{bound:.3f}"))
    note = (
        "The baseline's stages take 1, 0.5, 0.5 and 1 units. Themis gains only where the smallest chunk is the one "
        "that sends the fewest bytes: by size before the stage, or first in first out, it takes the baseline's time."
    )
    return Reproduction(comparisons, panels, {"network": "4 x 4, 2:1", "chunks": 4, "MB": 256}, note)


@exact("themis/fig7", "Four chunks: orders and loads", seconds=1)
def figure7() -> Reproduction:
    """Figure 7: the example of figure 5 chunk by chunk, with orders and loads."""
    unit = EXAMPLE.dimensions[0].transfer_ps(_RS, 64 * _MB)
    tracker = themis.Tracker([0, 0])
    comparisons = []
    loads: list[list[float]] = [[0.0], [0.0]]
    published = ("dim1, dim2", "dim2, dim1", "dim1, dim2", "dim1, dim2")
    for i in range(4):
        chunk = themis.schedule(EXAMPLE, _AR, [64 * _MB], tracker=tracker).chunks[0]
        order = ", ".join(f"dim{k + 1}" for k in chunk.reduce)
        comparisons.append(PaperComparison(f"order of chunk {i + 1}", published[i], order))
        for k in (0, 1):
            loads[k].append(tracker.loads[k] / unit)
    comparisons.append(PaperComparison("loads after chunk 4", None, f"{loads[0][-1]:g}, {loads[1][-1]:g}"))
    lines = {f"dim{k + 1}": (list(range(5)), loads[k]) for k in (0, 1)}
    panel = Curves("loads of the reducing half", "chunks", "units", lines)
    note = "Loads of the reduce-scatter stages; the all-gather stages mirror them."
    return Reproduction(comparisons, [panel], {"network": "4 x 4, 2:1", "chunks": 4}, note, {"loads": loads})


@exact("themis/section6.3", "Provisioning of bandwidth", seconds=3)
def provisioning() -> Reproduction:
    """Section 6.3: schedulers with just enough, too much and too little bandwidth in the outer dimension."""
    ratios = [0.25, 0.5, 1, 2, 4, 8, 16, 32]
    demand = [Demand(_AR, 1000 * _MB)]
    table: ItemTable[float, float] = ItemTable()
    for ratio in ratios:
        dims = (Dimension(DimensionTopology.SWITCH, 4, ratio * 1e11), Dimension(DimensionTopology.SWITCH, 4, 1e11))
        network = Network(f"{ratio}:1", dims)
        ideal = ideal_ps(network, demand)
        compared = (Scheduler.BASELINE, Scheduler.THEMIS_SCF, Scheduler.BALANCED)
        ps = {s.value: make_plan(network, demand, s, options=themis.AS_PUBLISHED).finish_ps for s in compared}
        ps["linear bound"] = round(best_bound(network, demand).finish_ps)
        table[ratio] = {name: 100 * ideal / time for name, time in ps.items()}

    def at(name: str, ratio: float) -> str:
        return f"{table[ratio][name]:.1f} %"

    comparisons = [
        PaperComparison("just enough (4:1): baseline", "full use", at("baseline", 4)),
        PaperComparison("just enough (4:1): Themis", "as the baseline", at("themis+scf", 4)),
        PaperComparison("over-provisioned (2:1): baseline", "dim2 underused", at("baseline", 2)),
        PaperComparison("over-provisioned (2:1): Themis", "full use", at("themis+scf", 2)),
        PaperComparison("under-provisioned (8:1): Themis", "full use is impossible", at("themis+scf", 8)),
        PaperComparison("under-provisioned (8:1): linear bound", None, at("linear bound", 8)),
        PaperComparison("over-provisioned (1:4): Themis", "full use", at("themis+scf", 0.25)),
    ]
    homo = PAPER["3D-SW_SW_SW_homo"].dimensions
    wasted = [homo[k].bandwidth_bps / 1e9 - 800 / factor for k, factor in ((1, 16), (2, 128))]
    comparisons.append(
        PaperComparison(
            "3D-SW_SW_SW_homo: wasted on dim2, dim3", "750, 793.75 Gb/s", f"{wasted[0]:g}, {wasted[1]:g} Gb/s"
        )
    )
    note = "4 x 4 switches without fixed delay. More bandwidth outside than P times the inside cannot be filled either."
    panel = Curves("4 x 4, 1 GB all-reduce", "bandwidth of dim1 over dim2", "utilisation, %", table.lines())
    return Reproduction(comparisons, [panel], {"network": "4 x 4", "chunks": 64}, note, {"utilisation": table.lines()})
