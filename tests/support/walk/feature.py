# SPDX-License-Identifier: Apache-2.0
"""A feature vector of the built-in GCN: from the layer's sum over remote neighbours to the switch's frames and back.

Two ranks train karate through the embedded switch, over gloo and the default link; rank 0 is walked.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

import torch

from offramp.graph.boundary import Boundary
from offramp.graph.partition import partition
from offramp.models.neighbourhood import Neighbourhood
from offramp.switchgnn.fabric import SwitchEndpoint, SwitchFabric
from offramp.train.job import exchange_widths, layer_widths
from offramp.train.planned import PlannedRun
from offramp.train.propagators.channel import open_channel
from offramp.train.settings import TrainSettings
from offramp.train.switch_plans import plan_exchanges
from offramp.workers.processes import run_workers
from offramp_p4.embedded import EmbeddedSwitch
from walk import Walk, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from offramp.train.job import WorkerJob
    from offramp.workers.group import Group

RANKS = 2
SETTINGS = TrainSettings("karate", workers=RANKS, propagator="switch", epochs=1, hidden=16)


def walks() -> dict[str, Walk]:
    """The sum of one layer; the forms of its plan are those met from the planning of the run to the frames."""
    graph = SETTINGS.load()
    boundary = Boundary(graph, partition(graph, RANKS, "hash", 0), RANKS)
    planned: list[PlannedRun] = []

    def plan() -> None:
        exchanges = plan_exchanges(boundary, SETTINGS, exchange_widths(SETTINGS, layer_widths(graph, SETTINGS)))
        planned.append(PlannedRun(graph, SETTINGS, boundary, exchanges))
        planned[0].jobs(["unused"] * RANKS)

    planning = walk(plan)
    with EmbeddedSwitch(None, range(1, RANKS + 1)) as switch:
        endpoint = SwitchEndpoint(switch.address, list(zip(switch.port_numbers, switch.port_specs, strict=True)))
        with SwitchFabric(endpoint, "switch") as fabric:
            fabric.load(planned[0].plans, 100)
            opening, feature = run_workers(_walked, planned[0].jobs(fabric.links), lambda _: None)
    feature.forms = _forms([planning, opening, feature])
    return {"feature": feature}


def _forms(every: Iterable[Walk]) -> list[str]:
    """Classes of SwitchGNN that hold a plan, or a worker's part of one, anywhere on its way to the worker's link."""
    met = {cls for each in every for cls in each.classes if is_dataclass(cls) and "switchgnn" in cls.__module__}
    return sorted(cls.__name__ for cls in met if "Plan" in cls.__name__ or "Block" in cls.__name__)


def _walked(group: Group, job: WorkerJob, _report: Callable[[Any], None]) -> tuple[Walk, Walk]:
    """How this rank opens its link, and its second sum; the first one imports what is used."""
    with ExitStack() as stack:
        channels: list[Any] = []
        opening = walk(lambda: channels.append(stack.enter_context(open_channel(job, group))))
        view = Neighbourhood(job.local, channels[0].remote_sum)
        features = torch.ones(len(job.local.vertices), job.widths[1], requires_grad=True)
        view.sum(features)
        return opening, walk(lambda: view.sum(features))
