# SPDX-License-Identifier: Apache-2.0
"""Training for ``offramp simulate themis --workload``: table and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from offramp.themis import Network
from offramp_base.progress import counted
from offramp_cli import show
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console


def report(
    console: Console,
    network: Network,
    name: str,
    schedulers: Sequence[str],
    iterations: int,
    chunks: int,
    compute: float,
) -> dict[str, Any]:
    """Simulate training with every scheduler and with an ideal network; returns the numbers, ready for JSON."""
    from offramp.report.units import duration, percent
    from offramp_sim.themis import load_workload, train
    from offramp_sim.themis.workload import CommunicationScope

    workload = load_workload(name, network).scaled(compute)
    fitted = workload.fitted(network)
    rows: dict[str, dict[str, Any]] = {}
    with stages(console):
        for scheduler in counted("simulating", (*schedulers, None)):
            breakdown = train(workload, network, scheduler, iterations, chunks)
            rows[str(scheduler) if scheduler else "ideal"] = {
                "seconds": breakdown.total / 1e12,
                "forward_s": breakdown.forward / 1e12,
                "backward_s": breakdown.backward / 1e12,
                "exposed_s": {scope.value: time / 1e12 for scope, time in breakdown.exposed.items()},
                "utilisation": breakdown.utilisation(fitted),
            }
    title = f"{iterations} iterations of {workload.name} on {network.name}: {network.npus} NPUs"
    scopes = [scope for scope in CommunicationScope if any(row["exposed_s"][scope.value] for row in rows.values())]
    parts_of = ("forward", "backward", *(f"wait {scope}" for scope in scopes))
    table = show.table("", "time", "speed-up", *parts_of, "utilised", title=title, whole=True)
    slowest = rows[str(schedulers[0])]["seconds"]
    for label, row in rows.items():
        parts = (row["forward_s"], row["backward_s"], *(row["exposed_s"][scope.value] for scope in scopes))
        speed = f"{slowest / row['seconds']:.2f}"
        table.add_row(label, duration(row["seconds"]), speed, *map(duration, parts), percent(row["utilisation"]))
    console.print(table)
    for fact in workload.facts:
        console.print(fact)
    settings = {"name": workload.name, "iterations": iterations, "model_parallel": workload.model_parallel}
    return {"workload": {**settings, "compute_scale": compute, "facts": workload.facts}, "schedulers": rows}
