# SPDX-License-Identifier: Apache-2.0
"""All messages of a training step, in an order that the plan gives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from offramp.graph.halo_plan import HaloMessage, HaloPlan


class StepMessage(NamedTuple):
    """A message of a step.

    Attributes:
        message: its rows, numbered from 0.
        layer: number of the state.
        backward: whether it has gradients of the state.
        width: numbers of a row.
    """

    message: HaloMessage
    layer: int
    backward: bool
    width: int


def step_messages(plan: HaloPlan, widths: Sequence[int], *, sent: bool = False) -> Iterator[StepMessage]:
    """Messages that a worker receives in a step, or those ``sent``.

    Args:
        plan: the worker's rows.
        widths: numbers of a row of each layer's messages; those of the first layer never travel.
        sent: whether they leave the worker.
    """
    for number, width in list(enumerate(widths))[1:]:
        layer = plan.layer(number)
        for backward in (False, True):
            messages = layer.sends if sent != backward else layer.receives
            for message in messages:
                yield StepMessage(replace(message, rows=np.arange(len(message.rows))), number, backward, width)
