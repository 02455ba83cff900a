# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate themis --msccl``: an MSCCL program on a network, beside schedules of the same collective."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from offramp.themis import Collective, Network
from offramp_cli import show
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console


def report(console: Console, network: Network, path: Path, size: int, schedulers: Sequence[str], chunks: int) -> Any:
    """Check, simulate and print; returns the numbers, ready for JSON.

    Raises:
        OfframpError: the file describes no program, one for another number of GPUs, or one that is wrong.
    """
    from offramp.report.units import duration, percent
    from offramp.themis import Demand, best_bound, make_plan
    from offramp.themis.msccl import read_program
    from offramp_base import OfframpError
    from offramp_sim.themis.msccl import faults, time_on

    program = read_program(path)
    with stages(console) as stage:
        stage("checking")
        wrong = faults(program)
        if wrong:
            raise OfframpError(f"{path}: {wrong[0]}")
        stage("simulating")
        try:
            timing = time_on(program, network, size)
        except OfframpError as error:
            raise OfframpError(f"{path}: {error}") from None
        demand = [Demand(program.collective, size)]
        rows = {name: make_plan(network, demand, name, chunks).finish_ps / 1e12 for name in schedulers}
    seconds = timing.finish_ps / 1e12
    bound_s = best_bound(network, demand).transfer_ps / 1e12
    title = f"{program.collective} of {size:,} bytes on {network.name}: {network.npus} NPUs"
    table = show.table("", "time", "bound", title=title, whole=True)
    for name, time in {program.name: seconds, **rows}.items():
        table.add_row(name, duration(time), percent(bound_s / time))
    console.print(table)
    by_dimension = [sent * 8 / (d.used_bps * seconds) for sent, d in zip(timing.sent, network.dimensions, strict=True)]
    shares = " ".join(f"{100 * share:.1f}" for share in by_dimension)
    console.print(f"{path}: right on arrays, without race or deadlock; dimensions utilised by {shares} %")
    console.print("bound: share of the linear bound of the bytes, without latency")
    return {
        "msccl": {
            "file": str(path),
            "name": program.name,
            "collective": Collective(program.collective).value,
            "seconds": seconds,
            "sent_bytes": list(timing.sent),
            "utilisation_by_dimension": by_dimension,
        },
        "schedulers": {name: {"seconds": time} for name, time in rows.items()},
        "bound_without_latency_s": bound_s,
    }
