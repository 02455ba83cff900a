# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate themis --execute``: the same collective in real time, a process for each NPU."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from offramp.themis.network import Collective
from offramp_base import SettingsError
from offramp_base.extras import needs
from offramp_cli import show
from offramp_cli.stages import stages
from offramp_cli.themis.collective import CollectiveCase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

MOST_RANKS = 32


def report(
    console: Console, case: CollectiveCase, schedulers: Sequence[str], seed: int, *, namespaces: bool
) -> dict[str, Any]:
    """Run all-reduces of float32 values; returns the numbers, ready for JSON.

    Raises:
        OfframpError: not an all-reduce, more ranks than a machine should start, or no right to make namespaces.
    """
    from offramp.report.units import duration

    if case.collective is not Collective.ALL_REDUCE:
        raise SettingsError("execute", f"expected an all-reduce, not {case.collective}")
    if not 2 <= case.network.npus <= MOST_RANKS:
        raise SettingsError("execute", f"{case.network.npus} processes: expected a network of 2 to {MOST_RANKS} NPUs")
    from offramp.workers import expect_workers

    expect_workers(case.network.npus)
    if find_spec("torch") is None:
        raise SettingsError("execute", needs("torch"))
    from offramp.themis.executor.trial import TrialResult, TrialSettings, measure

    # Exact sums travel as 8 bytes a value.
    trial = TrialSettings(case.network, tuple(schedulers), max(1, case.size // 8), case.chunks, 3, seed, namespaces)
    outcomes: list[TrialResult] = []
    with stages(console) as stage:
        stage("starting the ranks")

        def note(outcome: TrialResult) -> None:
            outcomes.append(outcome)
            stage.advance(f"{outcome.scheduler}: {duration(outcome.seconds)}", len(outcomes), len(schedulers))

        measure(trial, note)
    behind = "veth interfaces with HTB" if namespaces else "token buckets"
    title = f"{case.network.npus} processes behind {behind}, in real time"
    table = show.table("", "time", "speed-up", "predicted", "bits of a single all-reduce", title=title, whole=True)
    for outcome in outcomes:
        ratio = outcomes[0].seconds / outcome.seconds
        predicted = duration(outcome.predicted_s)
        same = "yes" if outcome.exact else "NO"
        table.add_row(str(outcome.scheduler), duration(outcome.seconds), f"{ratio:.2f}", predicted, same)
    console.print(table)
    return {str(o.scheduler): {"seconds": o.seconds, "predicted_s": o.predicted_s, "exact": o.exact} for o in outcomes}
