# SPDX-License-Identifier: Apache-2.0
"""``python -m switchgnn_soak``: many runs of SwitchGNN over faults of every kind, from a seed."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from offramp_base.errors import OfframpError
from switchgnn_soak.campaign import PROGRAMS, Plan, Tally, campaign
from switchgnn_soak.compiled import Rates

_SHOWN = 10

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def soak(
    kind: Annotated[str, typer.Argument(help=f"What to soak: {', '.join(PROGRAMS)}.")] = "v1model",
    seed_from: Annotated[int, typer.Option(help="The first seed.", min=0)] = 0,
    runs: Annotated[int, typer.Option(help="Number of seeds.", min=1)] = 10_000,
    seconds: Annotated[float | None, typer.Option(help="End after so long; --progress goes on later.", min=0)] = None,
    loss: Annotated[float, typer.Option(min=0, max=0.9)] = 0.3,
    duplication: Annotated[float, typer.Option(min=0, max=0.9)] = 0.3,
    delay: Annotated[float, typer.Option(min=0, max=0.9)] = 0.3,
    inner_loss: Annotated[float, typer.Option(help="Loss between leaves and spines.", min=0, max=0.9)] = 0.1,
    processes: Annotated[int, typer.Option(min=1)] = 1,
    progress: Annotated[Path | None, typer.Option(help="Notes how far the runs are, and says where to go on.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write counts and findings.")] = None,
) -> None:
    """Run jobs of random shape on switches in machine code; exit 1 if any of them is not right."""
    if kind not in PROGRAMS:
        raise OfframpError(f"{kind}: expected one of {', '.join(PROGRAMS)}")
    plan = Plan(kind, Rates(loss, duplication, delay, inner_loss), seed_from, runs)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(kind, total=runs)

        def on_progress(tally: Tally) -> None:
            bar.update(task, completed=tally.done, description=f"{kind}, {len(tally.findings)} findings")

        tally = campaign(plan, progress=progress, seconds=seconds, processes=processes, on_progress=on_progress)
    if json_file is not None:
        json_file.write_text(json.dumps(asdict(tally)), "utf-8")
    for finding in tally.findings[:_SHOWN]:
        print(f"seed {finding.seed}: {finding.verdict}: {finding.reason}")  # noqa: T201 -- a command
    print(f"{kind}, seeds from {seed_from}: {tally}")  # noqa: T201
    raise typer.Exit(bool(tally.findings))


if __name__ == "__main__":
    try:
        app(prog_name="python -m switchgnn_soak")
    except OfframpError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(2)
