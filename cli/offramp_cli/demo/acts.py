# SPDX-License-Identifier: Apache-2.0
"""The acts of the demo: what each asks, and the module that answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from offramp_base import OfframpError

if TYPE_CHECKING:
    from offramp.report import Outcome
    from offramp_cli.demo.laboratory import DemoLaboratory
    from offramp_cli.demo.settings import DemoSettings
    from offramp_cli.demo.stage import DemoStage


@dataclass(frozen=True)
class Scene:
    """The inputs of an act.

    Attributes:
        settings: settings of the demo.
        stage: shows progress, and takes the act's lines.
        laboratory: laboratory of all acts.
        out: folder of the report; an act writes into the folder of its own name below it.
    """

    settings: DemoSettings
    stage: DemoStage
    laboratory: DemoLaboratory
    out: Path

    def again(self, turns: int, most: int, budget_s: float) -> bool:
        """Whether the act's budget has time for a further turn after ``turns`` of at most ``most``."""
        return turns < most and self.stage.elapsed_s * (turns + 1) / turns <= budget_s


Play = Callable[[Scene], "Outcome"]


@dataclass(frozen=True)
class Act:
    """An act of the demo.

    Attributes:
        title, question: as the terminal and the page show them.
        module: has ``play``, imported when the act begins.
    """

    title: str
    question: str
    module: str

    def play(self, scene: Scene) -> Outcome:
        """Run the act.

        Raises:
            OfframpError: something that it cannot do without is missing or fails.
        """
        return cast("Play", import_module(self.module).play)(scene)


ACTS: Final[Mapping[str, Act]] = {
    "gnn": Act(
        "A graph network trained through the switches",
        "Is an epoch faster if the switches add the features than if workers send them?",
        "offramp_cli.demo.act_gnn",
    ),
    "hermod": Act(
        "Coflows that compete",
        "Do the tokens that a job waits for arrive sooner if queues know priorities?",
        "offramp_cli.demo.act_hermod",
    ),
    "leo": Act(
        "Requests over processor, FPGA and smartNIC",
        "Is a request done sooner if each takes the path on which it should end first?",
        "offramp_cli.demo.act_leo",
    ),
    "job": Act(
        "A data-parallel job, planned and run",
        "Does an offload pay for this job?",
        "offramp_cli.demo.act_job",
    ),
}


def played(name: str, act: Act, scene: Scene, number: int, of: int) -> Outcome:
    """An act's outcome, with its title, its question and its time; a failure is an outcome, too.

    An act that cannot run on this machine must not take the others with it; its verdict says why, and it has no checks
    that hold.
    """
    from offramp.report import Outcome, Verdict

    begun = time.monotonic()
    with scene.stage.act(number, of, name, act.title, act.question):
        try:
            outcome = act.play(scene)
        except (OfframpError, ImportError) as error:
            verdict = Verdict("unknown", f"Cannot be told on this machine, because the act did not run: {error}")
            outcome = Outcome(name, act.title, act.question, verdict, "step", ())
    return replace(
        outcome, name=name, title=act.title, question=act.question, seconds=round(time.monotonic() - begun, 1)
    )
