# SPDX-License-Identifier: Apache-2.0
"""``offramp switch fuzz``: random programs, packets and messages against the engines of the switch."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offramp_base.errors import OfframpError
from offramp_cli.switch.program import write_json

if TYPE_CHECKING:
    from offramp_p4.fuzz import Finding

BMV2 = "bmv2"


def fuzz(
    minutes: Annotated[float, typer.Option(min=0, help="How long.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Of the first trial; each has the next one.")] = 0,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Trials at a time; one for each core if not given.", show_default=False)
    ] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Stop after so many trials.", show_default=False)] = None,
    against: Annotated[
        str, typer.Option("--against", "--engine", help="Compared with the Python engine: native, traced or bmv2.")
    ] = "native",
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for reproducers.")] = Path("fuzz-findings"),
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the counts to this file.")] = None,
) -> None:
    """Look for programs on which engines differ, and input that does more than fail cleanly; exit 1 on a finding."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from offramp_p4.fuzz import Campaign
    from offramp_p4.fuzz.compare import ENGINES, check_engine

    if against != BMV2 and against not in ENGINES:
        raise OfframpError(f"--against {against}: expected one of {', '.join((*ENGINES, BMV2))}")
    if against == BMV2:
        _check_bmv2()
    else:
        check_engine(against)
    campaign = Campaign(ENGINES.get(against), seed, jobs=jobs or len(os.sched_getaffinity(0)))
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, transient=True, disable=not sys.stdout.isatty()) as progress:
        task = progress.add_task("fuzzing", total=minutes * 60)

        def tell(finding: Finding) -> None:
            files = finding.write(output)
            progress.console.print(f"{finding.kind} at seed {finding.seed}: {finding.message.splitlines()[-1]}")
            progress.console.print(f"  {' '.join(map(str, files))}")
            progress.console.print(f"  offramp switch fuzz --against {against} --trials 1 --seed {finding.seed}")

        def advance(spent_s: float) -> None:
            counts = campaign.counts
            what = f"{counts.programs} programs, {counts.packets} packets, {len(campaign.findings)} findings"
            progress.update(task, completed=spent_s, description=what)

        campaign.run(minutes * 60, float("inf") if trials is None else trials, tell, advance)
    counts = asdict(campaign.counts) | {"findings": len(campaign.findings)}
    for name, count in counts.items():
        typer.echo(f"{name.replace('_', ' '):<18}{count}")
    if json_path is not None:
        write_json("--json", json_path, {"against": against, "seed": seed, **counts})
    if campaign.findings:
        raise typer.Exit(1)


def _check_bmv2() -> None:
    from offramp_p4 import reference

    absent = reference.missing()
    if absent:
        raise OfframpError(f"--against {BMV2}: {', '.join(absent)} not on PATH")
