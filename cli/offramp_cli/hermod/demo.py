# SPDX-License-Identifier: Apache-2.0
"""``offramp hermod demo``: real coflows through the P4 switch, with priorities and without, or under abuse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base import Field
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Plotted

if TYPE_CHECKING:
    from offramp_sim.hermod.lab import LabResult, LabScenario


@dataclass(frozen=True)
class AbuseSettings:
    """Settings of another sender that abuses the job's DSCPs."""

    abuse: Annotated[
        bool,
        Field(
            "Flood the ranks at the highest DSCP and at control's, from spoofed addresses: with and without protection",
            group="Abuse",
        ),
    ] = False
    lowest_percent: Annotated[
        int, Field("With --abuse: percent of a port that is reserved for traffic outside the job", least=1, most=50)
    ] = 5


@command(
    "offramp_sim.hermod.lab:LabScenario", AbuseSettings, Plotted, example="hermod demo --ranks 4 --rate 10mbit --json -"
)
def demo(scenario: LabScenario, abuse: AbuseSettings, outputs: Plotted) -> None:
    """Send gradients, activations and tokens together through p4/hermod, by priority and in one queue.

    Each rank sends over TCP with a DSCP for each priority; the switch's ports are rate-limited and serve their queues
    strictly. With --abuse, another host floods the ranks meanwhile, once while the switch does not know the job's ports
    and once when it does. The times are measured: other work on this machine adds to them.
    """
    from offramp_sim.hermod.lab.picture import draw

    console = show.console()
    outcomes = _abused(console, scenario, abuse) if abuse.abuse else _ordered(console, scenario)
    outputs.draw(partial(draw, outcomes))
    outputs.write("offramp.hermod.demo/1", {"runs": [outcome.as_json() for outcome in outcomes]})


def _ordered(console: Any, scenario: LabScenario) -> list[LabResult]:
    outcomes = [_run(console, replace(scenario, priorities=on)) for on in (True, False)]
    _show(console, *outcomes)
    return outcomes


def _abused(console: Any, scenario: LabScenario, abuse: AbuseSettings) -> list[LabResult]:
    """Run the job alone, then under each abuse, without protection and with it."""
    from offramp_sim.hermod.lab import abuses

    alone = min((_run(console, replace(scenario, apart=True)) for _ in range(2)), key=lambda outcome: outcome.end)
    runs = [replace(scenario, apart=True, abuse=each) for each in abuses(alone, abuse.lowest_percent)]
    outcomes = [alone, *(_run(console, run) for run in runs)]
    _show_abused(console, outcomes)
    return outcomes


def _run(console: Any, scenario: LabScenario) -> LabResult:
    from offramp_sim.hermod.lab import measure

    with console.status(scenario.title):
        return measure(scenario)


def _show_abused(console: Any, outcomes: list[LabResult]) -> None:
    from offramp.report.units import duration

    alone = outcomes[0]
    table = show.table(
        "abuser", "port", "switch", *alone.end_s, "job costs", "demoted", left=("abuser", "port", "switch")
    )
    table.add_row("none", "", "", *map(duration, alone.end_s.values()), "", "")
    lasts_s = 0.0
    for outcome in outcomes[1:]:
        abuse = outcome.scenario.abuse
        assert abuse is not None
        lasts_s = abuse.lasts_s
        words = ("the job's" if abuse.member else "own", "protected" if abuse.guarded else "trusts all")
        share = f"{outcome.demoted / max(outcome.abused, 1):.0%}"
        cost = f"{outcome.end / alone.end - 1:+.1%}"
        table.add_row(f"DSCP {abuse.dscp}", *words, *map(duration, outcome.end_s.values()), cost, share)
    console.print(table)
    console.print(
        "Times are when coflows end. The abuser sends one and a half times the rate of each port from addresses of the "
        f"ranks, in bursts and 64 flows, until the job ends or for {duration(lasts_s)}.",
        soft_wrap=True,
    )


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
    for outcome in (by_priority, one_queue):
        rows = [row for row in outcome.queues if row["sent"]]
        used = sorted({row["queue"] for row in rows}, reverse=True)
        peaks = (
            f"{q}: {sum(r['sent'] for r in rows if r['queue'] == q)} packets, peak "
            f"{max(r['peak_packets'] for r in rows if r['queue'] == q)}"
            for q in used
        )
        console.print(f"switch queues, {outcome.scenario.title}:  {';  '.join(peaks)}", soft_wrap=True)
