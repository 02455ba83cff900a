# SPDX-License-Identifier: Apache-2.0
"""``offramp coflow demo``: coflows of real processes through the P4 switch, with priorities and without."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offramp_cli.json_file import expect_writable, write_json

if TYPE_CHECKING:
    from offramp_sim.hermod.lab import Outcome


def demo(
    ranks: Annotated[int, typer.Option(help="Processes, each in a network namespace of its own; an even number.")] = 4,
    rate: Annotated[str, typer.Option(help="Of each port of the switch, as for tc.")] = "10mbit",
    busy: Annotated[float, typer.Option(help="Seconds that the activations keep a port busy.")] = 0.6,
    queues: Annotated[int, typer.Option(help="Of each port, the highest for control.")] = 8,
    congestion: Annotated[str, typer.Option(help="TCP's congestion control.")] = "cubic",
    plot: Annotated[str | None, typer.Option(help="Draw when each coflow was on its way: .svg, .png, .pdf.")] = None,
    seed: Annotated[int, typer.Option(help="Of the sizes of the all-to-all.")] = 0,
    json_path: Annotated[str | None, typer.Option("--json", help="Write the numbers to this file.")] = None,
) -> None:
    """Send gradients, activations and tokens at once through p4/hermod, by priority and in one queue. Needs root.

    Each rank sends over TCP with a DSCP for each priority; the switch's ports are rate-limited and serve their queues
    strictly. The times are real: other work on this machine adds to them.
    """
    from rich.console import Console

    from offramp_base.settings.units import parse_rate
    from offramp_sim.hermod.lab import Scenario, measure
    from offramp_sim.hermod.lab.picture import check_format, draw

    bits = parse_rate(rate, "--rate")
    scenarios = [Scenario(ranks, bits, busy, on, queues, congestion, seed) for on in (True, False)]
    expect_writable("--json", json_path)
    expect_writable("--plot", plot)
    if plot is not None:
        check_format(Path(plot))
    console = Console(highlight=False)
    outcomes = []
    for scenario in scenarios:
        with console.status("by priority" if scenario.priorities else "in one queue"):
            outcomes.append(measure(scenario))
    _show(console, *outcomes)
    if plot is not None:
        draw(outcomes, Path(plot))
        console.print(f"picture: {plot}", soft_wrap=True)
    write_json(json_path, {"runs": [outcome.as_json() for outcome in outcomes]})


def _show(console: Any, by_priority: Outcome, one_queue: Outcome) -> None:
    from rich.table import Table

    from offramp.report.units import duration, si

    table = Table(box=None, pad_edge=False)
    for heading in ("coflow", "DSCP", "queue", "start", "end", "time", "in one queue", "gain", "bytes in its queue"):
        table.add_column(heading, justify="left" if heading == "coflow" else "right")
    for kind, dscp in by_priority.dscp.items():
        queue = by_priority.queue[kind]
        alone, shared = by_priority.seconds(kind), one_queue.seconds(kind)
        table.add_row(
            kind,
            str(dscp),
            str(queue),
            duration(by_priority.start_s[kind]),
            duration(by_priority.end_s[kind]),
            duration(alone),
            duration(shared),
            f"{shared / alone:.2f}",
            si(by_priority.bytes_of(queue), "B"),
        )
    console.print(table)
    for name, outcome in (("by priority", by_priority), ("one queue", one_queue)):
        rows = [row for row in outcome.queues if row["sent"]]
        used = sorted({row["queue"] for row in rows}, reverse=True)
        peaks = (
            f"{q}: {sum(r['sent'] for r in rows if r['queue'] == q)} packets, peak "
            f"{max(r['peak_packets'] for r in rows if r['queue'] == q)}"
            for q in used
        )
        console.print(f"switch queues, {name}:  {';  '.join(peaks)}", soft_wrap=True)
