# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate coflows``: coflows of MapReduce on one big switch, in Varys's orders."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from offramp_base import Field
from offramp_base.settings import BITS_PER_SECOND, expect_choice
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


@dataclass(frozen=True)
class CoflowStudy:
    """The coflows, and the orders in which the switch serves them."""

    file: Annotated[Path, Field("A file of the coflow benchmark, such as FB2010-1Hr-150-0.txt", position=True)]
    order: Annotated[
        str,
        Field(
            "Orders, separated by commas: sebf (smallest effective bottleneck), scf (smallest), ncf (narrowest), fifo"
        ),
    ] = "sebf,fifo"
    rate: Annotated[int, Field("Rate of every port", unit=BITS_PER_SECOND, above=0)] = 10**9
    no_backfill: Annotated[
        bool, Field("Leave idle what whole coflows leave of ports; Varys gives it to single flows")
    ] = False


@command(CoflowStudy, Result, example="simulate coflows FB2010-1Hr-150-0.txt --order sebf,scf,fifo")
def coflows(study: CoflowStudy, outputs: Result) -> None:
    """Simulate coflows of MapReduce on one big switch, and compare the orders of Varys."""
    import numpy as np
    from rich.progress import Progress

    from offramp_sim.cluster.coflows import ORDERS, completion_s, read_coflows

    names = [name.strip() for name in study.order.split(",") if name.strip()]
    for name in names or [""]:
        expect_choice("order", name, ORDERS)
    listed = read_coflows(study.file)
    console = show.console()
    results = {}
    with Progress(console=console, transient=True) as bar:
        for name in names:
            done = partial(_advance, bar, bar.add_task(name, total=1.0))
            results[name] = completion_s(listed, name, study.rate, done, backfill=not study.no_backfill)
    first = results[names[0]]
    table = show.table(
        "order", "mean completion", "median", "p95", f"mean to {names[0]}", title=f"{len(listed)} coflows"
    )
    rows = {}
    for name, seconds in results.items():
        rows[name] = {
            "mean_s": float(seconds.mean()),
            "median_s": float(np.median(seconds)),
            "p95_s": float(np.percentile(seconds, 95)),
            "ratio": float(seconds.mean() / first.mean()),
        }
        row = rows[name]
        times = [f"{row[key]:,.2f} s" for key in ("mean_s", "median_s", "p95_s")]
        table.add_row(name, *times, f"{row['ratio']:.2f}")
    show.print_table(console, table)
    outputs.write(
        "offramp.simulate.coflows/1",
        {"coflows": len(listed), "rate_bps": study.rate, "backfill": not study.no_backfill, "orders": rows},
    )


def _advance(bar: Progress, task: TaskID, share: float) -> None:
    bar.update(task, completed=share)
