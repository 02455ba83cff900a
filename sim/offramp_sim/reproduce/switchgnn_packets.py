"""SwitchGNN packet by packet: figures 16 and 19."""

from __future__ import annotations

from offramp.switch.switchgnn.plan import chunks_for, make_plan
from offramp_sim.packets import Links, Protocol, Topology, all_to_all, background, leaf_spine, simulate, star
from offramp_sim.reproduce.bench import DELAY_S, GENERATED, HIDDEN, MEMORY_MB, Testbed, less
from offramp_sim.reproduce.item import Comparison, Curves, Reproduction

_SIZE = 0.5
"""Of the slot-level graphs: a packet costs more than a slot."""


def _links(bed: Testbed, mark_bytes: int | None = None) -> Links:
    return Links(delay_ps=round(DELAY_S * bed.ratio * 1e12), mark_bytes=mark_bytes)


def _exchange_s(bed: Testbed, topology: Topology, *, switch: bool) -> float:
    """A hidden layer's exchange at full size."""
    if not switch:
        return simulate(topology, flows=all_to_all(bed.boundary, HIDDEN)).seconds / bed.ratio
    plan = make_plan(bed.boundary, chunks_for(HIDDEN), int(MEMORY_MB * 1e6 * bed.ratio), seed=bed.seed)
    return simulate(topology, plan, protocol=Protocol(acks=False, timeout_ps=10**12)).seconds / bed.ratio


def figure16(scale: float, seed: int) -> Reproduction:
    """Epoch time against the number of workers in an 8 x 8 leaf-spine network."""
    workers = (32, 64, 128)
    lines: dict[str, tuple[list[int], list[float]]] = {}
    beds = [Testbed("reddit", count, _SIZE * scale, seed) for count in workers]
    for label, switch in (("bns-gcn", False), ("switchgnn", True)):
        times = [
            4e3 * _exchange_s(bed, leaf_spine(8, 8, bed.boundary.workers // 8, _links(bed)), switch=switch)
            for bed in beds
        ]
        lines[label] = list(workers), times
    comparisons = [
        Comparison(
            f"{count} workers: SwitchGNN against BNS-GCN",
            "lowest",
            less(lines["switchgnn"][1][i], lines["bns-gcn"][1][i]),
        )
        for i, count in enumerate(workers)
    ]
    panel = Curves("Reddit, 8 x 8 leaf-spine", "workers", "communication of an epoch, ms", lines)
    note = (
        "Four exchanges of 128 hidden features; partial sums at each leaf, ECMP by vertex or flow, no loss. The "
        f"paper's text gives no number. {GENERATED}"
    )
    return Reproduction(comparisons, [panel], beds[-1].settings(hidden=HIDDEN), note, {"epoch_ms": lines})


def figure19(scale: float, seed: int) -> Reproduction:
    """Epoch time under background traffic, with congestion control and without."""
    loads = (0.0, 0.2, 0.4, 0.6)
    panels, comparisons, data = [], [], {}
    for workers in (64, 128):
        bed = Testbed("reddit", workers, _SIZE * scale, seed)
        chunks = chunks_for(HIDDEN)
        plan = make_plan(bed.boundary, chunks, int(MEMORY_MB * 1e6 * bed.ratio), seed=seed)
        lines: dict[str, tuple[list[float], list[float]]] = {}
        for label, control in (("with congestion control", True), ("without", False)):
            times = []
            for load in loads:
                links = _links(bed, mark_bytes=100_000)
                horizon = 20 * 10**9
                flows = background(workers, load, links.rate_bps, horizon, seed)
                run = simulate(
                    star(workers, links), plan, flows, Protocol(control=control, timeout_ps=10**10), seed=seed
                )
                times.append(run.seconds / bed.ratio * 4e3)
            lines[label] = list(loads), times
        panels.append(Curves(f"{workers} workers", "background load", "communication of an epoch, ms", lines))
        data[str(workers)] = lines
        on, off = (lines[k][1][-1] for k in ("with congestion control", "without"))
        comparisons.append(
            Comparison(f"{workers} workers, load {loads[-1]}: with control against without", "short", less(on, off))
        )
    note = (
        "A rate of the whole host follows the marks of its destinations. With unlimited buffers and shared output "
        "queues a slower upload does not shorten the queues that background flows make, so that control costs time "
        "here; in the paper's simulation background and buffers are not described well enough to tell. "
        f"{GENERATED}"
    )
    return Reproduction(comparisons, panels, bed.settings(loads=list(loads), hidden=HIDDEN), note, data)
