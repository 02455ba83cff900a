# SPDX-License-Identifier: Apache-2.0
"""``offramp hermod demo``: coflows of real processes through the P4 switch, with priorities and without."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Plotted

if TYPE_CHECKING:
    from offramp_sim.hermod.lab import LabResult, Scenario


@command("offramp_sim.hermod.lab:Scenario", Plotted, example="hermod demo --ranks 4 --rate 10mbit --json -")
def demo(scenario: Scenario, outputs: Plotted) -> None:
    """Send gradients, activations and tokens at once through p4/hermod, by priority and in one queue. Needs root.

    Each rank sends over TCP with a DSCP for each priority; the switch's ports are rate-limited and serve their queues
    strictly. The times are real: other work on this machine adds to them.
    """
    from offramp_sim.hermod.lab import measure
    from offramp_sim.hermod.lab.picture import draw

    scenarios = [replace(scenario, priorities=on) for on in (True, False)]
    console = show.console()
    outcomes = []
    for each in scenarios:
        with console.status("by priority" if each.priorities else "in one queue"):
            outcomes.append(measure(each))
    _show(console, *outcomes)
    outputs.draw(partial(draw, outcomes))
    outputs.write("offramp.hermod.demo/1", {"runs": [outcome.as_json() for outcome in outcomes]})


def _show(console: Any, by_priority: LabResult, one_queue: LabResult) -> None:
    from offramp.report.units import duration, si

    table = show.table("coflow", "DSCP", "queue", "start", "end", "time", "in one queue", "gain", "bytes in its queue")
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
