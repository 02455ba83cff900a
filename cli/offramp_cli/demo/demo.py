# SPDX-License-Identifier: Apache-2.0
"""``offramp demo``: a laboratory of two racks, one job, its plan, its run, its report."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from offramp_base.errors import OfframpError
from offramp_base.settings.field import Field
from offramp_base.settings.units import BITS_PER_SECOND
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.job.job import carry_out, plan_of, show_outcome, show_plan
from offramp_cli.lab.lab import MODES, show_lab
from offramp_cli.result import OUTPUT, Result

if TYPE_CHECKING:
    from offramp.job.settings import JobSettings
    from offramp.report import Check

ACCURACY_POINTS: Final = 0.5
"""Largest difference between the test accuracies of two ways, in percentage points."""
SWITCH: Final = "allreduce"
_RANKS: Final = 4
CLUSTER: Final = """\
name: {name}
hosts: [{{name: "h[1-4]"}}]
switches: [{{name: "leaf[1-2]", memory: 8MB}}, {{name: spine, memory: 8MB}}]
links:
  - {{ends: ["h[1-2]", leaf1], rate: {rate}bit}}
  - {{ends: ["h[3-4]", leaf2], rate: {rate}bit}}
  - {{ends: ["leaf[1-2]", spine], rate: {up}bit}}
"""
"""Two hosts in each of two racks, and a spine that both racks fill."""


@dataclass(frozen=True)
class DemoSettings:
    """The laboratory and the job."""

    mode: Annotated[str, Field("Where hosts run", choices=MODES)] = "auto"
    rate: Annotated[
        int,
        Field("Rate of the hosts' links; links to the spine get twice as much", least=1_000_000, unit=BITS_PER_SECOND),
    ] = 25_000_000
    steps: Annotated[int, Field("Training steps of each run", least=2)] = 30
    deadline_s: Annotated[float, Field("Seconds that planning may take", key="deadline", above=0)] = 60.0
    seed: Annotated[int, Field("Random seed for the model's initial weights", least=0)] = 0


@dataclass(frozen=True)
class Outputs(Result):
    """The destination of the report."""

    out: Annotated[Path, Field("Folder for logs, the report and a trace", group=OUTPUT, filled=True)] = Path("out/demo")


@command(DemoSettings, Outputs, example="demo --steps 10 --out report")
def demo(settings: DemoSettings, outputs: Outputs) -> None:
    """Train in a laboratory of two racks: plan what to offload, run with it and without, and compare."""
    from offramp.job.report import report, write
    from offramp_base.ending.left import temporary_folder
    from offramp_cli.train import command_line
    from offramp_sim.lab.start import held

    job = job_of(settings)
    console = show.console()
    outputs.out.mkdir(parents=True, exist_ok=True)
    with temporary_folder() as folder:
        path = Path(folder) / "cluster.yaml"
        path.write_text(CLUSTER.format(name=f"demo-{os.getpid()}", rate=settings.rate, up=2 * settings.rate))
        with held(path, mode=settings.mode) as (lab, reason):
            if reason:
                console.print(f"no namespaces: {reason}", soft_wrap=True)
            show_lab(console, lab)
            cluster = lab.cluster()
            made = plan_of(console, job, cluster, measure=True)
            show_plan(console, job, made)
            ways = [made.taken.way, made.plain.way, SWITCH]
            possible = {each.way for each in made.choices if each.step_s is not None}
            ways = [way for way in dict.fromkeys(ways) if way in possible]
            outcomes = carry_out(console, job, cluster, made, ways, outputs.out)
            content = report(job, cluster, made, outcomes, outputs.out, command_line())
    claims = checks({way: accuracy(outputs.out / way) for way in content["measured"]}, content)
    content["checks"] = [{"claim": each.claim, "holds": each.holds} for each in claims]
    data, page = write(content, outputs.out)
    show_outcome(console, content)
    for claim in claims:
        console.print(f"{'[green]yes[/]' if claim.holds else '[red]NO [/]'} {claim.claim}", soft_wrap=True)
    console.print(f"\nreport: {page}\ndata:   {data}", soft_wrap=True)
    outputs.write("offramp.job/1", content)
    if not all(claim.holds for claim in claims):
        raise OfframpError("demo: some of its claims do not hold; the lines above say which")


def job_of(settings: DemoSettings) -> JobSettings:
    """The demo's job: data-parallel training on four ranks.

    Raises:
        OfframpError: PyTorch or scikit-learn is missing.
    """
    from offramp.job.settings import JobSettings
    from offramp_cli.demo.rank import compute_s, gradient_bytes

    return JobSettings(
        name="digits",
        command=(sys.executable, "-m", "offramp_cli.demo.rank", str(settings.steps), str(settings.seed)),
        all_reduce=gradient_bytes(),
        compute_s=compute_s(_RANKS),
        steps=settings.steps,
        deadline_s=settings.deadline_s,
    )


def accuracy(folder: Path) -> float:
    """Test accuracy that rank 0 of a run measured at its end."""
    from offramp_base.documents import parse_json, read_text
    from offramp_cli.demo.rank import ACCURACY

    return float(parse_json(read_text(folder / ACCURACY))["accuracy"])


def checks(accuracies: Mapping[str, float], content: Mapping[str, Any]) -> list[Check]:
    """Checks of the demo's runs; of bytes only if links count them."""
    from offramp.report import Check
    from offramp.report.units import percent, si

    plain = content["plain"]
    claims = []
    for way, found in accuracies.items():
        if way != plain:
            apart = 100 * abs(found - accuracies[plain])
            said = f"Test accuracy by {way} is {apart:.2f} points from the {percent(accuracies[plain])} by {plain}"
            claims.append(Check(f"{said} (at most {ACCURACY_POINTS}).", apart <= ACCURACY_POINTS))
    sent = {way: sum(up for up, _ in each["bytes_by_link"].values()) for way, each in content["measured"].items()}
    if SWITCH in sent and sent[plain]:
        ours, theirs = sent[SWITCH], sent[plain]
        claim = f"Hosts sent {si(ours, 'B')} where the switches add, and {si(theirs, 'B')} by {plain}."
        claims.append(Check(claim, ours < theirs))
    return claims
