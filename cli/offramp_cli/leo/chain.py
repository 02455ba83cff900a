# SPDX-License-Identifier: Apache-2.0
"""``offramp leo chain``: requests through card, agents, switch and another host's memory, every byte compared."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from offramp_base import Field, OfframpError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, Result, write_file


@dataclass(frozen=True)
class ChainSettings:
    """Numbers of requests, and the card that carries them."""

    requests: Annotated[int, Field("Requests, up to 128 of them in flight", least=1, most=10_000_000)] = 200
    traced: Annotated[
        int, Field("Further requests, one after the other, to measure times per hop", least=1, most=10_000)
    ] = 20
    keys: Annotated[int, Field("Objects in the store", least=1, most=100_000)] = 1000
    card: Annotated[str, Field("Device name of the requester's card; fpga: is RTL in simulation")] = "fpga:"
    seed: Annotated[int, Field("Random seed for objects and requests", least=0)] = 1
    trace: Annotated[
        Path | None, Field("Write a trace of a request for Perfetto to this file", group=OUTPUT, written=True)
    ] = None


@command(ChainSettings, Result, example="leo chain --requests 10000 --trace trace.json")
def chain(settings: ChainSettings, result: Result) -> None:
    """Send requests from a host through FPGA card, smartNIC agent and P4 switch to another host; needs root."""
    from offramp.report.units import duration, percent
    from offramp_cli.stages import stages
    from offramp_sim.leo.chain import PLACES, run_chain

    console = show.console()
    with stages(console) as stage:
        stage("card, agents and switch start")
        outcome = run_chain(
            settings.requests,
            traced=settings.traced,
            keys=settings.keys,
            seed=settings.seed,
            card=settings.card,
            advance=stage.advance,
        )
    table = show.table("hop", "time of a request", "share")
    for place in PLACES:
        spent = outcome.hops_ns[place]
        table.add_row(place, duration(spent / 1e9), percent(spent / outcome.hops_ns["all"]))
    console.print(table)
    load = outcome.load
    console.print(
        f"{load.sent + settings.traced:,} requests, {load.wrong} wrong; {load.rate:,.0f} per second; one alone "
        f"{duration(outcome.hops_ns['all'] / 1e9)}, of which the card's RTL works {duration(outcome.engine_ns / 1e9)}"
    )
    if settings.trace is not None:
        write_file("trace", settings.trace, json.dumps(outcome.trace) + "\n")
    numbers = {
        "requests": load.sent,
        "traced": settings.traced,
        "wrong": load.wrong,
        "rate": load.rate,
        "median_us": load.latency_us(),
        "hops_us": {place: spent / 1e3 for place, spent in outcome.hops_ns.items()},
        "engine_us": outcome.engine_ns / 1e3,
        "clock_ahead_us": outcome.clocks[0] / 1e3,
        "clock_error_us": outcome.clocks[1] / 1e3,
    }
    result.write("offramp.leo.chain/1", numbers)
    if load.wrong:
        raise OfframpError(f"{load.wrong} requests got wrong answers")
