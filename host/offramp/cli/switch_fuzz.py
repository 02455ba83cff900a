"""``offramp switch fuzz``: random programs, packets and messages against the engines of the switch."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offramp.cli.p4_program import write_json
from offramp.errors import OfframpError

if TYPE_CHECKING:
    from offramp_sim.p4.fuzz import Finding


def fuzz(
    minutes: Annotated[float, typer.Option(min=0, help="How long.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Of the first trial; each has the next one.")] = 0,
    trials: Annotated[int | None, typer.Option(min=1, help="Stop after so many trials.", show_default=False)] = None,
    engine: Annotated[str, typer.Option(help="Compared with the Python engine: native or traced.")] = "native",
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for reproducers.")] = Path("fuzz-findings"),
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the counts to this file.")] = None,
) -> None:
    """Look for programs on which engines differ, and input that does more than fail cleanly; exit 1 on a finding."""
    from offramp_sim.p4.fuzz import Campaign
    from offramp_sim.p4.fuzz.compare import ENGINES, check_engine

    if engine not in ENGINES:
        raise OfframpError(f"--engine {engine}: expected one of {', '.join(ENGINES)}")
    check_engine(engine)
    campaign = Campaign(ENGINES[engine], seed)

    def tell(finding: Finding) -> None:
        files = finding.write(output)
        typer.echo(f"{finding.kind} at seed {finding.seed}: {finding.message.splitlines()[-1]}")
        typer.echo(f"  {' '.join(map(str, files))}")

    campaign.run(minutes * 60, float("inf") if trials is None else trials, tell)
    counts = asdict(campaign.counts) | {"findings": len(campaign.findings)}
    for name, count in counts.items():
        typer.echo(f"{name.replace('_', ' '):<18}{count}")
    if json_path is not None:
        write_json("--json", json_path, {"engine": engine, "seed": seed, **counts})
    if campaign.findings:
        raise typer.Exit(1)
