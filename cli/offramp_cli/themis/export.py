# SPDX-License-Identifier: Apache-2.0
"""``offramp themis export``: schedules and choices in the forms that production collectives read."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base import Field, SettingsError
from offramp_base.settings import BYTES
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, Result, write_file
from offramp_cli.stages import stages
from offramp_cli.themis.nccl_model import NcclModel

if TYPE_CHECKING:
    from offramp.themis import Network

_FORMATS = {
    "msccl": "the schedule as MSCCL XML, checked before it is written",
    "tuner": "NCCL tuner plug-in in C: algorithm, protocol and channels by collective, size, ranks and nodes",
}


def _schedulers() -> list[str]:
    from offramp.themis.plan import schedulers

    return schedulers()


@dataclass(frozen=True)
class ThemisExportSettings:
    """A schedule or choices, and the form in which they are written."""

    format: Annotated[str, Field("What to write", choices=_FORMATS, position=True)]
    out: Annotated[Path, Field("The file to write", group=OUTPUT, written=True)]
    network: Annotated[
        str, Field("A network of the paper's table 2, a cluster file, or a file of ASTRA-sim or SimAI", group="Plan")
    ] = "example"
    size: Annotated[int, Field("Size of the collective for which chunks are ordered", least=1, unit=BYTES)] = 10**8
    collective: Annotated[
        str, Field("Collective of a schedule", choices=("all-reduce", "reduce-scatter", "all-gather"))
    ] = "all-reduce"
    scheduler: Annotated[str, Field("Scheduler", choices=_schedulers)] = "themis+scf"
    chunks: Annotated[int, Field("Chunks of the collective", least=1)] = 8
    parts: Annotated[
        int, Field("Parts of each chunk, on channels of their own, that move side by side", least=1, most=32)
    ] = 1
    protocol: Annotated[str, Field("NCCL's protocol of a schedule", choices=("Simple", "LL", "LL128"))] = "Simple"
    in_place: Annotated[bool, Field("Input and output of a schedule share memory")] = True


@command(
    ThemisExportSettings,
    NcclModel,
    Result,
    example="themis export msccl --network example --chunks 8 --out themis.xml",
)
def export(given: ThemisExportSettings, model: NcclModel, result: Result) -> None:
    """Write a schedule as MSCCL XML, or a network's choices as an NCCL tuner plug-in, for production collectives."""
    from offramp.themis import load_network

    network = load_network(given.network)
    if network.npus == 1:
        raise SettingsError("network", "expected at least two NPUs", given.network)
    write = _tuner if given.format == "tuner" else _msccl
    content = write(given, model, network)
    result.write("offramp.themis.export/1", {"format": given.format, "file": str(given.out), **content})


def _msccl(given: ThemisExportSettings, model: NcclModel, network: Network) -> dict[str, Any]:
    from offramp.report.units import duration
    from offramp.themis import Collective, Demand, make_plan
    from offramp.themis.msccl import program_of, to_xml
    from offramp_base import OfframpError
    from offramp_sim.themis.msccl import faults, time_on

    model.expect_unused("msccl")
    demand = Demand(Collective.named(given.collective), given.size)
    with stages(show.console()) as stage:
        stage("planning")
        plan = make_plan(network, [demand], given.scheduler, given.chunks)
        stage("program")
        program = program_of(plan, channels=given.parts, in_place=given.in_place, protocol=given.protocol)
        stage("checking on arrays")
        wrong = faults(program)
        if wrong:
            raise OfframpError(f"the schedule's program is wrong: {wrong[0]}")
        stage("timing")
        timing = time_on(program, network, given.size)
    write_file("out", given.out, to_xml(program))
    steps = sum(1 for _ in program.steps())
    show.console().print(
        f"{given.out}: {len(program.gpus)} GPUs, {steps} steps; right on arrays, without race or deadlock; "
        f"{duration(timing.finish_ps / 1e12)}, planned {duration(plan.finish_ps / 1e12)}"
    )
    return {
        "gpus": len(program.gpus),
        "steps": steps,
        "chunks": program.chunks,
        "channels": program.channels,
        "simulated_s": timing.finish_ps / 1e12,
        "planned_s": plan.finish_ps / 1e12,
    }


def _tuner(given: ThemisExportSettings, model: NcclModel, network: Network) -> dict[str, Any]:
    from offramp.report.units import si
    from offramp.themis.tuner import tuner_choices, tuner_source

    choices = tuner_choices(model.on(network))
    write_file("out", given.out, tuner_source(choices))
    console = show.console()
    table = show.table("ranks", "nodes", "collective", "from", "algorithm", "protocol", "channels", whole=True)
    for _, group in groupby(choices, lambda each: (*each[:3], *each[5:7])):
        first, *others = group
        channels = f"{first.channels} to {others[-1].channels}" if others else str(first.channels)
        how = (first.algorithm.value, first.protocol.value, channels)
        table.add_row(str(first.ranks), str(first.nodes), first.collective.value, si(first.least, "B"), *how)
    console.print(table)
    library = given.out.with_name(f"libnccl-tuner-{given.out.stem}.so")
    console.print(f"cc -shared -fPIC -o {library} {given.out}; NCCL reads it with NCCL_TUNER_PLUGIN={library}")
    return {"choices": [choice._asdict() for choice in choices]}
