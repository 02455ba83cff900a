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
    from offramp.leo.store.bench import over_peers, run
    from offramp_cli.stages import stages

    console = show.console()
    with stages(console) as stage:
        rows = run(settings, stage)
    _report(console, rows)
    numbers = []
    for row in rows:
        fields = {key: value for key, value in row.measured._asdict().items() if key != "times_us"}
        numbers.append({"workload": row.workload, "depth": row.depth, "server": row.name, **fields})
    ratios = []
    for each in over_peers(rows, settings.take):
        text = ", ".join(f"{key} {r.value:.2f} ({r.low:.2f} to {r.high:.2f})" for key, r in each.ratios.items())
        console.print(f"{each.workload}, depth {each.depth}: {each.name} over {each.peer}: {text}", soft_wrap=True)
        fields = {key: ratio._asdict() for key, ratio in each.ratios.items()}
        ratios.append(
            {"workload": each.workload, "depth": each.depth, "server": each.name, "peer": each.peer, **fields}
        )
    result.write("offramp.leo.bench/1", {"rows": numbers, "ratios": ratios})
    wrong = sum(row.measured.wrong for row in rows)
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
