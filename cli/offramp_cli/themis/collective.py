# SPDX-License-Identifier: Apache-2.0
"""A single collective for ``offramp simulate themis``: table, numbers, picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offramp.themis import CollectivePlan, Network, make_plan
from offramp.themis.network import Collective
from offramp.themis.themis import ThemisOptions
from offramp_base import OfframpError, SettingsError
from offramp_base.progress import counted
from offramp_cli import show
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from offramp.themis import Demand
    from offramp_sim.themis import SpeedProfile


@dataclass(frozen=True, slots=True)
class CollectiveCase:
    """One collective on a network."""

    network: Network
    collective: Collective
    size: int
    chunks: int
    options: ThemisOptions

    @property
    def demand(self) -> Demand:
        """The demand of the collective on the network."""
        from offramp.themis import Demand

        return Demand(self.collective, self.size)


def report(
    console: Console, case: CollectiveCase, schedulers: Sequence[str], changes: Sequence[str], plot: Path | None
) -> dict[str, Any]:
    """Simulate, print and draw; returns the numbers, ready for JSON."""
    from offramp.themis import best_bound
    from offramp.themis.bound import ideal_ps
    from offramp_sim.themis import SpeedProfile

    if case.network.npus == 1:
        raise OfframpError(f"network {case.network.name}: expected at least two NPUs")
    dims = len(case.network.dimensions)
    profile = SpeedProfile(dims, [_change(text, dims) for text in changes]) if changes else None
    with stages(console) as stage:
        stage("planning")
        plans = [
            make_plan(case.network, [case.demand], s, case.chunks, case.options)
            for s in counted("planning", schedulers)
        ]
        stage("linear program")
        bound = best_bound(case.network, [case.demand])
    ideal = ideal_ps(case.network, [case.demand])
    rows = {str(plan.scheduler): _numbers(case, plan) for plan in plans}
    numbers: dict[str, Any] = {
        "schedulers": rows,
        "bound_s": bound.finish_ps / 1e12,
        "bound_without_latency_s": bound.transfer_ps / 1e12,
        "ideal_s": ideal / 1e12,
    }
    _table(console, case, plans, rows, bound.finish_ps / 1e12, ideal / 1e12)
    if profile is not None:
        numbers["changes"] = _changing(console, plans, profile)
    if plot is not None:
        from offramp_sim.themis import draw_plans

        draw_plans(plans, plot)
        console.print(f"plot: {plot}")
    return numbers


def _numbers(case: CollectiveCase, plan: CollectivePlan) -> dict[str, Any]:
    from offramp_sim.themis import utilisation
    from offramp_sim.themis.metrics import utilisation_by_dimension

    stages = plan.stages()
    return {
        "seconds": plan.finish_ps / 1e12,
        "utilisation": utilisation(case.network, stages, plan.finish_ps),
        "utilisation_by_dimension": utilisation_by_dimension(case.network, stages, plan.finish_ps),
        "orders": len({(chunk.reduce, chunk.gather) for chunk in plan.schedules[0].chunks}),
        "digest": plan.digest().hex(),
    }


def _table(
    console: Console,
    case: CollectiveCase,
    plans: Sequence[CollectivePlan],
    rows: dict[str, dict[str, Any]],
    bound_s: float,
    ideal_s: float,
) -> None:
    from offramp.report.units import duration, percent, si

    shape = "x".join(str(d.size) for d in case.network.dimensions)
    title = f"{case.collective} of {si(case.size, 'B')} on {case.network.name}: {case.network.npus} NPUs, {shape}"
    table = show.table("", "time", "speed-up", "bound", "utilised", "by dimension, %", title=title, whole=True)
    slowest = rows[str(plans[0].scheduler)]["seconds"]
    for name, row in rows.items():
        by = " ".join(f"{100 * share:5.1f}" for share in row["utilisation_by_dimension"])
        speed = f"{slowest / row['seconds']:.2f}"
        table.add_row(
            name, duration(row["seconds"]), speed, percent(bound_s / row["seconds"]), percent(row["utilisation"]), by
        )
    table.add_row("linear bound", duration(bound_s), f"{slowest / bound_s:.2f}", percent(1.0))
    table.add_row("ideal", duration(ideal_s), f"{slowest / ideal_s:.2f}")
    console.print(table)
    console.print(
        f"speed-up over {plans[0].scheduler}; {case.chunks} chunks; bound: share of the linear bound that is reached"
    )


def _changing(console: Console, plans: Sequence[CollectivePlan], profile: SpeedProfile) -> dict[str, Any]:
    from offramp.report.units import duration
    from offramp_sim.themis import run_adaptive
    from offramp_sim.themis.speeds import run_static

    table = show.table("", "as planned", "planned again", title="while dimensions change speed", whole=True)
    seconds = {}
    ways = (run_static, run_adaptive)
    with stages(console):
        counting = counted("changing speed", plans)
        rows = [[run(plan.schedules[0], profile).finish_ps / 1e12 for run in ways] for plan in counting]
    for plan, times in zip(plans, rows, strict=True):
        seconds[str(plan.scheduler)] = {"static_s": times[0], "adaptive_s": times[1]}
        table.add_row(str(plan.scheduler), *(duration(time) for time in times))
    console.print(table)
    return seconds


def _change(text: str, dims: int) -> Any:
    from offramp_sim.themis.speeds import SpeedChange

    try:
        at, factors = text.split("=")
        change = SpeedChange(round(float(at) * 1e6), tuple(float(f) for f in factors.split(",")))
    except ValueError:
        raise SettingsError(
            "change", f"expected microseconds, = and {dims} factors with commas between", text
        ) from None
    return change
