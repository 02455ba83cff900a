# SPDX-License-Identifier: Apache-2.0
"""``offramp switch fuzz``: random programs, packets and messages against the engines of the switch."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offramp_base import Field, SettingsError
from offramp_cli.command import command
from offramp_cli.result import OUTPUT, Result

if TYPE_CHECKING:
    from offramp_p4_tools.fuzz import Finding

BMV2 = "bmv2"


def _architectures() -> list[str]:
    from offramp_p4_tools.fuzz.campaign import WRITERS

    return list(WRITERS)


def _engines() -> list[str]:
    from offramp_p4_tools.fuzz.compare import ENGINES

    return [*ENGINES, BMV2]


@dataclass(frozen=True)
class FuzzSettings:
    """Settings of a fuzzing campaign."""

    minutes: Annotated[float, Field("Minutes to run", least=0)] = 1.0
    seed: Annotated[int, Field("Random seed of the first trial; each further trial takes the next number", least=0)] = 0
    jobs: Annotated[int | None, Field("Parallel trials; one per core by default", least=1)] = None
    trials: Annotated[int | None, Field("Stop after this many trials", least=1)] = None
    architecture: Annotated[str, Field("Architecture of the programs", choices=_architectures)] = "v1model"
    against: Annotated[str, Field("What is compared with the Python engine", choices=_engines, aliases=("engine",))] = (
        "native"
    )
    out: Annotated[
        Path, Field("Folder for reproducers", short="-o", aliases=("output",), group=OUTPUT, filled=True)
    ] = Path("fuzz-findings")


@command(FuzzSettings, Result, example="switch fuzz --minutes 10 --json -")
def fuzz(settings: FuzzSettings, result: Result) -> None:
    """Look for programs on which engines differ, and for input that does not fail cleanly; exit code 1 on a finding."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from offramp_p4_tools.fuzz import Campaign
    from offramp_p4_tools.fuzz.campaign import WRITERS
    from offramp_p4_tools.fuzz.compare import ENGINES, check_engine

    against, seed, minutes = settings.against, settings.seed, settings.minutes
    write = WRITERS[settings.architecture]
    if write is not None and against != "native":
        raise SettingsError("against", "only native executes the programs of {architecture}", against)
    if against == BMV2:
        _check_bmv2()
    else:
        check_engine(against)
    campaign = Campaign(ENGINES.get(against), seed, jobs=settings.jobs or len(os.sched_getaffinity(0)), write=write)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, transient=True, disable=not sys.stdout.isatty()) as progress:
        task = progress.add_task("fuzzing", total=minutes * 60)

        def tell(finding: Finding) -> None:
            files = finding.write(settings.out)
            progress.console.print(f"{finding.kind} at seed {finding.seed}: {finding.message.splitlines()[-1]}")
            progress.console.print(f"  {' '.join(map(str, files))}")
            again = f"--architecture {settings.architecture} --against {against} --trials 1 --seed {finding.seed}"
            progress.console.print(f"  offramp switch fuzz {again}")

        def advance(spent_s: float) -> None:
            counts = campaign.counts
            what = f"{counts.programs} programs, {counts.packets} packets, {len(campaign.findings)} findings"
            progress.update(task, completed=spent_s, description=what)

        campaign.run(minutes * 60, settings.trials or float("inf"), tell, advance)
    counts = asdict(campaign.counts) | {"findings": len(campaign.findings)}
    for name, count in counts.items():
        typer.echo(f"{name.replace('_', ' '):<18}{count}")
    result.write("offramp.switch.fuzz/1", {"against": against, "seed": seed, **counts})
    if campaign.findings:
        raise typer.Exit(1)


def _check_bmv2() -> None:
    from offramp_p4 import reference

    absent = reference.missing()
    if absent:
        raise SettingsError("against", f"{', '.join(absent)} not on PATH", BMV2)
