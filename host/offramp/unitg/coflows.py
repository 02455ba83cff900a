# SPDX-License-Identifier: Apache-2.0
"""UniTG's exchanges as coflows with Hermod's priorities, and the switch's gates for them (section 3.10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from offramp.hermod.dscp import Codec
from offramp.hermod.factors import CType, Factors
from offramp.hermod.queues import plan_queues
from offramp.hermod.switch.entries import Role, SwitchPlan
from offramp.unitg.schedule import Op


def codec_of(stages: int, microbatches: int) -> Codec:
    """Priorities of a pipeline: a layer of the codec is a stage.

    Raises:
        OfframpError: no stage or no microbatch.
    """
    return Codec(microbatches, stages)


def transfer_factors(op: Op, sender: int) -> Factors:
    """Priority factors of what a stage sends its neighbour when ``op`` is done."""
    return Factors(op.microbatch, CType.PP, sender)


def gradient_factors(microbatches: int, stage: int) -> Factors:
    """Priority factors of the language model's gradients that a stage's device sends: below everything else."""
    return Factors(microbatches - 1, CType.DP, stage)


def gated_plan(
    stages: int, microbatches: int, hosts: Mapping[int, int], ports: Sequence[int], queues: int = 8
) -> SwitchPlan:
    """What a switch is told: Hermod's queues, and the gates' roles of each DSCP.

    The first microbatch closes a gate, the last opens one, with one microbatch the same packets do both; the language
    model's gradients are held.

    Args:
        stages: of the pipeline.
        microbatches: of an iteration, up to as many as have priorities of their own.
        hosts: ports of the stages' MAC addresses.
        ports: all of the switch.
        queues: of each port.

    Raises:
        OfframpError: no stage or microbatch, too few queues, or a host at a port that the switch has not.
    """
    codec = codec_of(stages, microbatches)
    made = plan_queues(codec, queues)
    roles = {}
    for code, meaning in codec.meanings.items():
        if CType.DP in meaning.ctypes:
            role = Role(held=True)
        else:
            role = Role(closes=meaning.mids[0] == 0, opens=meaning.mids[1] == microbatches - 1)
        if role != Role():
            roles[made.dscp[code]] = role
    classes = {dscp: made.queue[dscp] for dscp in (*made.dscp.values(), *made.control)}
    return SwitchPlan(classes, hosts=hosts, ports=ports, roles=roles)
