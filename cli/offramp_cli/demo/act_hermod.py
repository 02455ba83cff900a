# SPDX-License-Identifier: Apache-2.0
"""Act ``hermod``: tokens, activations and gradients at once, in one queue and by priority, through the P4 switch.

Where namespaces cannot be made they are modelled as flows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from offramp.job.answer import Circumstances, verdict
from offramp.job.load import processors, tasks_of_others
from offramp.report import Alternative, DrawnFabric, FabricLink, FabricMachine, Outcome, Verdict
from offramp.report.units import duration
from offramp_base import OfframpError
from offramp_sim.hermod.lab import LabScenario, measure
from offramp_sim.hermod.lab.modelled import model
from offramp_sim.hermod.lab.namespace import launcher

if TYPE_CHECKING:
    from offramp_cli.demo.acts import Scene

ONE_QUEUE: Final = "one queue"
BY_PRIORITY: Final = "priorities"
TOKENS: Final = "EP"
"""The coflow that the job waits for."""
_ROUNDS: Final = 6
_TURNS: Final = 3
_BUDGET_S: Final = 25.0
_RATE_BPS: Final = 10_000_000
_BUSY_S: Final = 0.3
_COUNTED: Final = "The switch counts bytes of frames to ranks; their endpoints count bytes from them, without headers."


def play(scene: Scene) -> Outcome:
    """Measure where namespaces can be made, else model."""
    scenario = LabScenario(rate_bps=_RATE_BPS, busy_s=_BUSY_S, seed=scene.settings.seed, rounds=_ROUNDS)
    lacks = lacking(scene.settings.mode)
    ways = {ONE_QUEUE: replace(scenario, priorities=False), BY_PRIORITY: scenario}
    modelled = {way: model(each)[TOKENS] for way, each in ways.items()}
    if lacks:
        scene.stage.console.print(f"{lacks}: modelled at the flow level", soft_wrap=True)
        return of_models(modelled, lacks)
    return measured(scene, ways, modelled)


def lacking(mode: str) -> str:
    """Why coflows cannot be measured here; empty if they can."""
    if mode == "sockets":
        return "no namespaces were wanted (--mode sockets)"
    try:
        launcher()
    except OfframpError as error:
        return str(error)
    return ""


def of_models(modelled: Mapping[str, float], lacks: str) -> Outcome:
    """The outcome where nothing was measured."""
    alone, shared = (duration(modelled[way]) for way in (BY_PRIORITY, ONE_QUEUE))
    claim = (
        f"Cannot be told on this machine, because {lacks}. By the model, tokens take {alone} by priorities and {shared}"
    )
    alternatives = tuple(
        Alternative(way, modelled_s=seconds, note="flows without packets or TCP") for way, seconds in modelled.items()
    )
    return Outcome("hermod", "", "", Verdict("unknown", f"{claim} in one queue."), "coflow", alternatives)


def measured(scene: Scene, ways: Mapping[str, LabScenario], modelled: Mapping[str, float]) -> Outcome:
    """The outcome of real processes, by turns."""
    seconds: dict[str, list[float]] = defaultdict(list)
    sent: dict[str, Sequence[tuple[int, int]]] = {}
    others, count = tasks_of_others(), 0
    while count == 0 or scene.again(count, _TURNS, _BUDGET_S):
        count += 1
        for way, scenario in ways.items():
            with scene.stage.console.status(f"{way}, turn {count}: four ranks, {scenario.rounds} rounds"):
                result = measure(scenario)
            mine = [each[TOKENS] for each in result.rounds]
            seconds[way] += mine
            sent[way] = [
                (sum(size for (port, _), (_, size) in result.sent.items() if port == rank), result.rank_bytes[rank])
                for rank in range(scenario.ranks)
            ]
            scene.stage.console.print(
                f"  {way}, turn {count}: tokens take {duration(min(mine))} to {duration(max(mine))}", soft_wrap=True
            )
    alternatives = tuple(
        Alternative(way, predicted_s=modelled[way], measured_s=tuple(each), taken=way == BY_PRIORITY)
        for way, each in seconds.items()
    )
    known = Circumstances(ONE_QUEUE, {}, {}, others=others, processors=processors(), unit="coflow")
    note = "A coflow is the all-to-all of tokens, sent while activations and gradients are under way; every byte that"
    return Outcome(
        "hermod",
        "",
        "",
        verdict(alternatives, known),
        "coflow",
        alternatives,
        fabric_of(sent),
        notes=(f"{note} arrived was compared.", _COUNTED),
    )


def fabric_of(sent: Mapping[str, Sequence[tuple[int, int]]]) -> DrawnFabric:
    """Four ranks at one switch, and the bytes of the last turn to each and from each."""
    ranks = range(len(next(iter(sent.values()))))
    nodes = (*(FabricMachine(f"r{rank}", "host", "switch") for rank in ranks), FabricMachine("switch", "switch"))
    links = tuple(
        FabricLink(("switch", f"r{rank}"), _RATE_BPS, {way: sizes[rank] for way, sizes in sent.items()})
        for rank in ranks
    )
    return DrawnFabric(nodes, links)
