# SPDX-License-Identifier: Apache-2.0
"""P4Runtime messages: random ones with ids of the program, those of a controller with bits changed, bytes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from fuzzing import mutate
from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import v1
from offramp_p4.frontend import load
from offramp_p4.runtime.handlers import parse
from offramp_p4_tools.fuzz.messages import RandomController, random_message

NAME = "P4Runtime messages"
LINES = 3  # of the message about a program that is pushed
_PROGRAM = Path(__file__).parents[2] / "tests" / "p4" / "runtime" / "features.p4"
_LOADED: list[Any] = []
_KINDS = {
    "Write": v1.WriteRequest,
    "Read": v1.ReadRequest,
    "SetForwardingPipelineConfig": v1.SetForwardingPipelineConfigRequest,
    "GetForwardingPipelineConfig": v1.GetForwardingPipelineConfigRequest,
    "Capabilities": v1.CapabilitiesRequest,
    "Stream": v1.StreamMessageRequest,
}


def prepare() -> None:
    """Load the program that all cases talk to."""
    _LOADED.append(load(_PROGRAM))


def run(rng: random.Random) -> None:
    """A switch and thirty requests, each answered or refused."""
    controller = RandomController(_LOADED[0], rng)
    for _ in range(20):
        controller.step()
    for _ in range(10):
        _one(rng, controller)


def _one(rng: random.Random, controller: RandomController) -> None:
    """A request as bytes, changed after it has been written."""
    name = rng.choice(list(_KINDS))
    message = random_message(rng, _KINDS[name], controller.ids)
    if hasattr(message, "election_id"):
        message.election_id.low = 1
        message.device_id = 0
    data = mutate.raw(rng, message.SerializeToString()) if rng.random() < 0.8 else mutate.noise(rng)
    try:
        request = parse(_KINDS[name], data)
        if name == "Stream":
            controller.service.open_stream(lambda _: None).receive(request)
        elif name == "Read":
            list(controller.service.read(request))
        else:
            controller.service.unary(name, request)
    except OfframpError:
        return  # the next one goes to the same switch
