# SPDX-License-Identifier: Apache-2.0
"""``offramp leo cache``: hot keys of a store answered by the switch in front of it, beside the store alone."""

from __future__ import annotations

from offramp_base import OfframpError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result


@command("offramp_sim.leo.cache:CacheLoadSettings", Result, example="leo cache --writes 0.05 --hot 256")
def cache(settings: object, result: Result) -> None:
    """Measure a store whose hot keys the P4 switch answers, beside the store alone, and check every answer."""
    from offramp.report.units import duration, percent
    from offramp_cli.stages import stages
    from offramp_sim.leo import CacheLoadSettings
    from offramp_sim.leo.cache import run_cache

    assert isinstance(settings, CacheLoadSettings)
    console = show.console()
    with stages(console) as stage:
        stage("switch and store start")
        turns = run_cache(settings, stage.advance)
    table = show.table("cache", "GETs by the switch", "requests per second", "median", "wrong")
    numbers = {}
    for name, turn in turns.items():
        rate = turn.requests / turn.seconds
        table.add_row(name, percent(turn.hits), f"{rate:,.0f}", duration(turn.median_us() / 1e6), str(turn.wrong))
        late = float(sorted(turn.latencies_us)[int(0.99 * len(turn.latencies_us))])
        numbers[name] = {
            "requests": turn.requests,
            "rate": rate,
            "hits": turn.hits,
            "median_us": turn.median_us(),
            "p99_us": late,
            "wrong": turn.wrong,
        }
    console.print(table)
    result.write("offramp.leo.cache/1", numbers)
    if any(turn.wrong for turn in turns.values()):
        raise OfframpError("some answers were wrong")
