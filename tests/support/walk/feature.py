# SPDX-License-Identifier: Apache-2.0
"""A feature vector of the built-in GCN: from the layer's sum over remote neighbours to the switch's frames and back.

Two ranks train karate through the embedded switch, over gloo and shared memory; rank 0 is walked in its second epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from offramp.models.neighbourhood import Neighbourhood
from offramp.train.planned import plan_run
from offramp.train.propagators.channel import open_channel
from offramp.train.settings import TrainSettings
from offramp.workers.processes import run_workers
from offramp_p4.embedded import EmbeddedSwitch
from walk import Walk, walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from offramp.train.job import WorkerJob
    from offramp.workers.group import Group

RANKS = 2
SETTINGS = TrainSettings("karate", workers=RANKS, propagator="switch", epochs=1, hidden=16)


def walks() -> dict[str, Walk]:
    """The sum of one layer, forward."""
    from offramp.switchgnn.fabric import SwitchEndpoint, SwitchFabric

    planned = plan_run(SETTINGS.load(), SETTINGS)
    assert planned.exchanges is not None
    with EmbeddedSwitch(None, range(1, RANKS + 1)) as switch:
        endpoint = SwitchEndpoint(switch.address, list(zip(switch.port_numbers, switch.port_specs, strict=True)))
        with SwitchFabric(endpoint, "switch") as fabric:
            fabric.load(planned.exchanges.plans, 100)
            steps = run_workers(_walked, planned.jobs(fabric.links), lambda _: None)
    return {"feature": Walk(steps)}


def _walked(group: Group, job: WorkerJob, _report: Callable[[Any], None]) -> list[tuple[str, str]]:
    """Steps of this rank's second sum; the first one imports what is used."""
    with open_channel(job, group) as propagator:
        view = Neighbourhood(job.local, propagator.remote_sum)
        features = torch.ones(len(job.local.vertices), job.widths[1], requires_grad=True)
        view.sum(features)
        return walk(lambda: view.sum(features)).steps
