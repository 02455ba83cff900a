# SPDX-License-Identifier: Apache-2.0
"""``offramp coflow demo``: coflows of real processes through the P4 switch, with priorities and without."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base.settings.field import Field
from offramp_base.settings.units import BITS_PER_SECOND
from offramp_cli.command import command
from offramp_cli.result import Plotted

if TYPE_CHECKING:
    from offramp_sim.hermod.lab import LabResult


@dataclass(frozen=True)
class LabSettings:
    """What is sent, through which ports."""

    ranks: Annotated[int, Field("Processes, each in a network namespace of its own; an even number")] = 4
    rate_bps: Annotated[int, Field("Rate of each port of the switch, as for tc", key="rate", unit=BITS_PER_SECOND)] = (
        10**7
    )
    busy_s: Annotated[float, Field("Seconds that the activations keep a port busy", key="busy")] = 0.6
    queues: Annotated[int, Field("Queues of each port, the highest for control")] = 8
    congestion: Annotated[str, Field("TCP's congestion control")] = "cubic"
    seed: Annotated[int, Field("Moves everything random: the sizes of the all-to-all")] = 0


@command(LabSettings, Plotted, example="coflow demo --ranks 4 --rate 10mbit --json -")
def demo(settings: LabSettings, outputs: Plotted) -> None:
    """Send gradients, activations and tokens at once through p4/hermod, by priority and in one queue. Needs root.

    Each rank sends over TCP with a DSCP for each priority; the switch's ports are rate-limited and serve their queues
    strictly. The times are real: other work on this machine adds to them.
    """
    from rich.console import Console

    from offramp_sim.hermod.lab import Scenario, measure
    from offramp_sim.hermod.lab.picture import check_format, draw

    scenarios = [Scenario(priorities=on, **asdict(settings)) for on in (True, False)]
    if outputs.plot is not None:
        check_format(outputs.plot)
    console = Console(highlight=False)
    outcomes = []
    for scenario in scenarios:
        with console.status("by priority" if scenario.priorities else "in one queue"):
            outcomes.append(measure(scenario))
    _show(console, *outcomes)
    if outputs.plot is not None:
        draw(outcomes, outputs.plot)
        console.print(f"picture: {outputs.plot}", soft_wrap=True)
    outputs.write("offramp.coflow.demo/1", {"runs": [outcome.as_json() for outcome in outcomes]})


def _show(console: Any, by_priority: LabResult, one_queue: LabResult) -> None:
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
