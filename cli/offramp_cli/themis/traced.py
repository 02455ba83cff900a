# SPDX-License-Identifier: Apache-2.0
"""An iteration of Chakra traces for ``offramp simulate themis --workload``: table and numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from offramp.themis import Network
from offramp.themis.system_file import SystemFile
from offramp_base.progress import counted
from offramp_cli import show
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console


def report(
    console: Console, network: Network, place: Path, system: SystemFile, schedulers: Sequence[str], chunks: int
) -> dict[str, Any]:
    """Simulate an iteration with every scheduler; returns the numbers, ready for JSON."""
    from offramp.report.units import duration
    from offramp_sim.themis.trace import run_traces

    rows: dict[str, dict[str, Any]] = {}
    with stages(console):
        for scheduler in counted("simulating", schedulers):
            run = run_traces(place, network, system, scheduler, chunks)
            rows[str(scheduler)] = {
                "seconds": run.total / 1e12,
                "compute_s": run.compute / 1e12,
                "exposed_s": (run.total - run.compute) / 1e12,
                "ended_s": [ended / 1e12 for ended in run.ended],
            }
    title = f"an iteration of {place} on {network.name}: {network.npus} NPUs"
    table = show.table("", "time", "speed-up", "computation", "waiting", title=title, whole=True)
    slowest = rows[str(schedulers[0])]["seconds"]
    for label, row in rows.items():
        speed = f"{slowest / row['seconds']:.2f}" if row["seconds"] else "1.00"
        table.add_row(label, duration(row["seconds"]), speed, duration(row["compute_s"]), duration(row["exposed_s"]))
    console.print(table)
    return {"workload": {"name": str(place), "iterations": 1}, "schedulers": rows}
