# SPDX-License-Identifier: Apache-2.0
"""``offramp leo run``: an application over its paths, each alone and all together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from offramp_base import Field, OfframpError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.leo.application import ApplicationPathSettings
from offramp_cli.result import Result

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.leo.applications.compare import PathComparison


@dataclass(frozen=True, kw_only=True)
class LeoRunSettings(ApplicationPathSettings):
    """An application, the paths to run it over, and how to measure it."""

    seconds: Annotated[float, Field("Length of each measurement", least=0.05)] = 0.5
    load: Annotated[float, Field("Share of the rate at which latency is measured", least=0.01, most=1)] = 0.6
    rounds: Annotated[int, Field("Rounds of all measurements", least=1)] = 5
    transport: Annotated[str, Field("Transport: shm, tcp or ucx")] = "shm"
    seed: Annotated[int, Field("Random seed for keys, arrivals and devices", least=0)] = 1
    keys: Annotated[int, Field("For kvs: keys in the store, such as a small device can hold; 0: 100,000", least=0)] = 0


@command(LeoRunSettings, Result, example="leo run kvs --paths cpu,model --rounds 2 --json -")
def run(settings: LeoRunSettings, result: Result) -> None:
    """Run an application between two processes: over each path alone, then over all, with a path chosen per request."""
    from offramp.leo.applications.compare import compare
    from offramp.leo.selection import named
    from offramp_cli.stages import stages

    rule = named(settings.policy)
    application = settings.open(settings.transport, keys=settings.keys, seed=settings.seed)
    console = show.console()
    with stages(console) as stage:
        stage(f"{application.name}: starting")
        comparison = compare(
            application,
            seconds=settings.seconds,
            load=settings.load,
            rounds=settings.rounds,
            policy=rule,
            seed=settings.seed,
            show=stage.advance,
        )
    _report(console, comparison, application.request_bytes)
    _report_energy(console, comparison)
    result.write("offramp.leo.run/1", comparison.numbers())
    wrong = sum(row.wrong for row in comparison.rows)
    if wrong:
        raise OfframpError(f"{wrong} requests got wrong answers")


def _report_energy(console: Console, comparison: PathComparison) -> None:
    from offramp.report.energy import energy_or_reason

    _, reason = energy_or_reason()
    if reason:
        console.print(reason, soft_wrap=True)
        return
    each = ", ".join(f"{'+'.join(row.paths)} {row.joules * 1e6:,.1f} uJ" for row in comparison.rows)
    console.print(f"energy of the machine's processors for a request: {each}", soft_wrap=True)


def _report(console: Console, comparison: PathComparison, request_bytes: int) -> None:
    import numpy as np

    from offramp.report.units import duration

    headings = ("paths", "requests/s", "MB/s", "median", "99 %", "wrong", "taken")
    table = show.table(*headings, left=("paths", "taken"), title=comparison.name)
    for row in comparison.rows:
        counts = np.sum([o.by_path for o in row.most], axis=0)
        total = max(int(np.sum(counts)), 1)
        shares = ", ".join(f"{p} {c / total:.0%}" for p, c in zip(comparison.paths, counts, strict=True) if c)
        table.add_row(
            row.paths[0] if len(row.paths) == 1 else f"all, {row.policy.value}",
            f"{row.rate:,.0f}",
            f"{row.rate * request_bytes / 1e6:,.1f}" if request_bytes else "",
            *(duration(us / 1e6) if us == us else "none ended" for us in (row.median_us, row.part[-1].latency_us(99))),
            str(row.wrong),
            shares,
        )
    console.print(table)
    console.print(f"latency at {comparison.load:.0%} of each row's own rate, from when a request was to be sent")
    if comparison.restarts:
        times = "once" if comparison.restarts == 1 else f"{comparison.restarts} times"
        console.print(f"{comparison.fate}; it was started again {times}", soft_wrap=True)
    if len(comparison.rows) > 1:
        console.print(
            f"all paths: {comparison.share_of_sum:.0%} of {' + '.join(comparison.summed)}; "
            f"median {comparison.against_better:.2f} times the better path's"
        )
