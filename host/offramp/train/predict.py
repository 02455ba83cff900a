# SPDX-License-Identifier: Apache-2.0
"""Traffic of an epoch from the partition alone, before anything is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from offramp.switchgnn.volume import host_volume
from offramp.train.job import exchange_widths
from offramp.train.switch_plans import plan_exchanges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.graph.boundary import Boundary
    from offramp.train.settings import TrainSettings


@dataclass(frozen=True)
class EpochTraffic:
    """Bytes of an epoch up and down over all links; DONE and GO are not counted."""

    p2p_payload: int
    p2p_wire: int
    switch_payload: int
    switch_wire: int


def predict_epoch(boundary: Boundary, settings: TrainSettings, widths: Sequence[int]) -> EpochTraffic:
    """What p2p and the switch carry in one epoch of a model with layers of the given ``widths``.

    Raises:
        OfframpError: the settings' memory is too small.
    """
    exchanges = exchange_widths(settings, widths)
    planned = plan_exchanges(boundary, settings, exchanges)
    p2p = [host_volume(boundary, width) for width in exchanges]
    switch = [planned.schemes[width] for width in exchanges]
    return EpochTraffic(
        2 * sum(volume.payload_bytes for volume in p2p),
        2 * sum(volume.wire_bytes for volume in p2p),
        sum(made.payload_bytes for made in switch),
        sum(made.wire_bytes for made in switch),
    )
