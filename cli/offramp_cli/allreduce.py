# SPDX-License-Identifier: Apache-2.0
"""``offramp allreduce``: ranks of this machine sum tensors through the embedded switch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result

if TYPE_CHECKING:
    from offramp_sim.allreduce import AllReduceTimings, Experiment


@command(
    "offramp_sim.allreduce.experiment:Experiment", Result, example="allreduce --ranks 4 --size 1 --rounds 3 --json -"
)
def allreduce(experiment: Experiment, result: Result) -> None:
    """Sum tensors in the switch, compare every sum with NumPy's, and show times and packet counts.

    Each rank is a process with a port of the embedded switch, which runs p4/allreduce. With --compare, gloo's
    all_reduce runs over the same links, alternating with ours; --rate makes links of that rate, which needs root.
    """
    from offramp_sim.allreduce.measure import measure

    console = show.console()
    with console.status("starting the switch") as status:
        outcome = measure(experiment, status.update)
    _show(console, experiment, outcome)
    result.write("offramp.allreduce/1", _plain(experiment, outcome))


def _show(console: Any, experiment: Experiment, outcome: AllReduceTimings) -> None:
    from offramp.report.units import duration

    compared = ["gloo's time over ours"] if experiment.compare else []
    table = show.table("MB", "way", "median", "best", "MB/s", *compared)
    for timing in outcome.timings:
        gain = outcome.gain(timing.megabytes) if timing.way == "offramp" else None
        row = [
            f"{timing.megabytes:g}",
            timing.way,
            duration(timing.median_s),
            duration(min(timing.seconds)),
            f"{timing.megabytes / timing.median_s:,.1f}" if timing.median_s else "",
            f"{gain:.2f}" if gain else "",
        ]
        table.add_row(*row[: len(table.columns)])
    console.print(table)
    console.print(
        f"{show.count(experiment.ranks, 'rank')}, {experiment.frame_bytes} bytes in a frame, "
        f"{outcome.sent} packets sent, {outcome.repeated} of them again, {outcome.lost} lost; "
        "every sum is NumPy's within float32's rounding",
        soft_wrap=True,
    )


def _plain(experiment: Experiment, outcome: AllReduceTimings) -> dict[str, object]:
    from dataclasses import asdict

    timings = [
        {**asdict(timing), "median_s": timing.median_s, "gain": outcome.gain(timing.megabytes)}
        for timing in outcome.timings
    ]
    counts = {"sent": outcome.sent, "repeated": outcome.repeated, "lost": outcome.lost}
    return {"ranks": experiment.ranks, "frame_bytes": experiment.frame_bytes, "timings": timings, **counts}
