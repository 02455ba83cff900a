# SPDX-License-Identifier: Apache-2.0
"""UniTG's exchanges as coflows with Hermod's priorities, and the switch's gates for them (section 3.10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from offramp.hermod.dscp import DscpCodec
from offramp.hermod.factors import CType, Factors
from offramp.hermod.queues import plan_queues
from offramp.hermod.switch.entries import GateRole, SwitchPlan
from offramp.unitg.schedule import Op


def codec_of(stages: int, microbatches: int) -> DscpCodec:
    """Codec of a pipeline's priorities: a layer of the codec is a stage.

    Raises:
        OfframpError: there is no stage or no microbatch.
    """
    return DscpCodec(microbatches, stages)


def transfer_factors(op: Op, sender: int) -> Factors:
    """Priority factors of a stage's message to its neighbour after ``op``."""
    return Factors(op.microbatch, CType.PP, sender)


def gradient_factors(microbatches: int, stage: int) -> Factors:
    """Priority factors of the language model's gradients from a stage's device: below everything else."""
    return Factors(microbatches - 1, CType.DP, stage)


def gated_plan(
    stages: int, microbatches: int, hosts: Mapping[int, int], ports: Sequence[int], queues: int = 8
) -> SwitchPlan:
    """Plan for a switch: Hermod's queues, and the gates' roles of each DSCP.

    The first microbatch closes a gate and the last opens it; with one microbatch the same packets do both. The language
    model's gradients are held.

    Args:
        stages: stages of the pipeline.
        microbatches: microbatches of an iteration, up to the number with distinct priorities.
        hosts: ports of the stages' MAC addresses.
        ports: all ports of the switch.
        queues: queues of each port.

    Raises:
        OfframpError: there is no stage or microbatch, there are too few queues, or a host is at a port that the switch
            lacks.
    """
    codec = codec_of(stages, microbatches)
    plan = plan_queues(codec, queues)
    roles = {}
    for code, meaning in codec.meanings.items():
        if CType.DP in meaning.ctypes:
            role = GateRole(held=True)
        else:
            role = GateRole(closes=meaning.mids[0] == 0, opens=meaning.mids[1] == microbatches - 1)
        if role != GateRole():
            roles[plan.dscp[code]] = role
    return SwitchPlan(plan.queues, hosts=hosts, ports=ports, roles=roles)
