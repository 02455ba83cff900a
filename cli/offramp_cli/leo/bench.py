# SPDX-License-Identifier: Apache-2.0
"""``offramp leo bench``: the key-value store under YCSB's workloads, beside redis and memcached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base import OfframpError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.leo.store.bench import ContenderResult, StoreBenchSettings


@command("offramp.leo.store.bench:StoreBenchSettings", Result, example="leo bench --peers --rounds 5 --json -")
def bench(settings: StoreBenchSettings, result: Result) -> None:
    """Measure the key-value store over TCP on loopback: rates, processor time, latency; every answer is checked."""
    from offramp.leo.store.bench import ratios, run
    from offramp_cli.stages import stages

    console = show.console()
    with stages(console) as stage:
        rows = run(settings, stage)
    _report(console, rows)
    numbers = [{"workload": r.workload, "depth": r.depth, "server": r.name, **r.measured._asdict()} for r in rows]
    result.write("offramp.leo.bench/1", {"rows": numbers})
    wrong = sum(row.measured.wrong for row in rows)
    for workload, depth, name, numbers_of in ratios(rows):
        text = ", ".join(f"{key} {value:.2f}" for key, value in numbers_of.items())
        console.print(f"{workload}, depth {depth}: {name} over the better peer: {text}", soft_wrap=True)
    if wrong:
        raise OfframpError(f"{wrong} requests got wrong answers")


def _report(console: Console, rows: list[ContenderResult]) -> None:
    headings = ("workload", "depth", "server", "requests/s", "per processor s", "median", "99 %")
    table = show.table(*headings, left=("workload", "server"))
    for row in rows:
        m = row.measured
        table.add_row(
            row.workload,
            str(row.depth),
            row.name,
            f"{m.rate:,.0f}",
            f"{m.per_processor_s:,.0f}",
            f"{m.median_us:.1f} us",
            f"{m.p99_us:.1f} us",
        )
    console.print(table)
