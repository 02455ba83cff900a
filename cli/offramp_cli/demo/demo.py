# SPDX-License-Identifier: Apache-2.0
"""``offramp demo``: four acts in one laboratory, and one report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from offramp_base import Field, OfframpError
from offramp_cli.command import command
from offramp_cli.demo.acts import ACTS, Scene, played
from offramp_cli.demo.settings import DemoSettings
from offramp_cli.result import OUTPUT, Result

if TYPE_CHECKING:
    from offramp.report import Outcome

SCHEMA: Final = "offramp.demo/1"


@dataclass(frozen=True)
class DemoOutput(Result):
    """The destination of the report."""

    out: Annotated[Path, Field("Folder for logs, the report and traces", group=OUTPUT, filled=True)] = Path("out/demo")


@command(DemoSettings, DemoOutput, example="demo --act gnn --steps 10 --out report")
def demo(settings: DemoSettings, outputs: DemoOutput) -> None:
    """Show what offloading does, in four acts: a GNN in switches, coflows by priority, LEO's paths, a planned job."""
    from offramp.job.load import processors, tasks_of_others
    from offramp_cli.demo.laboratory import DemoLaboratory
    from offramp_cli.demo.stage import DemoStage
    from offramp_cli.demo.summary import summary

    outputs.out.mkdir(parents=True, exist_ok=True)
    stage, begun = DemoStage(), time.monotonic()
    others, here = tasks_of_others(), processors()
    load = "" if others is None else f", {others:.1f} tasks of others want them"
    stage.console.print(f"this machine: {here} processors{load}")
    outcomes = []
    with DemoLaboratory(settings.mode, settings.rate, stage) as laboratory:
        scene = Scene(settings, stage, laboratory, outputs.out)
        for number, name in enumerate(settings.acts, 1):
            outcomes.append(played(name, ACTS[name], scene, number, len(settings.acts)))
            stage.console.print(f"{name}: {outcomes[-1].seconds:.0f} s", soft_wrap=True)
    seconds = round(time.monotonic() - begun, 1)
    content = {
        "seconds": seconds,
        "processors": here,
        "others": others,
        "acts": [each.as_dict() for each in outcomes],
    }
    content |= write(content, outcomes, outputs.out)
    stage.console.print()
    for line in summary(outcomes, seconds, outputs.out):
        stage.console.print(line, markup=False, soft_wrap=True)
    outputs.write(SCHEMA, content)
    if failed := [check.claim for each in outcomes for check in each.checks if not check.holds]:
        raise OfframpError(f"demo: does not hold: {' '.join(failed)}")


def write(content: dict[str, Any], outcomes: Sequence[Outcome], out: Path) -> dict[str, Any]:
    """Write ``report.json`` and ``report.html``; what the JSON says besides the content."""
    import json

    from offramp.report import outcomes_page
    from offramp.report.origin import origin
    from offramp_base.ending.files import write_text
    from offramp_cli.train import command_line

    more = {
        "command": command_line(),
        "origin": origin(),
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    write_text(out / "report.json", json.dumps({"schema": SCHEMA, **content, **more}, indent=2) + "\n")
    load = "" if content["others"] is None else f", {content['others']:.1f} tasks of others when it began"
    lead = f"On {content['processors']} processors{load}; {content['seconds']:.0f} s, {more['when']}."
    page = outcomes_page("Offramp in four acts", lead, outcomes, more["command"], more["origin"], folder=out)
    write_text(out / "report.html", page)
    return more
