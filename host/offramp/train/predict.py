"""Traffic of an epoch from the partition alone, before anything is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from offramp.switch.switchgnn.volume import Volume, host_volume, plan_volume
from offramp.train.exchange_plan import plan_exchanges
from offramp.train.job import exchange_widths

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
    exchanges = exchange_widths(widths)
    planned = plan_exchanges(boundary, settings, exchanges)
    p2p = [host_volume(boundary, width) for width in exchanges]
    switch = [plan_volume(planned.plans[planned.plan_of_width[width]], width) for width in exchanges]
    return EpochTraffic(*_both_ways(p2p), *_both_ways(switch))


def _both_ways(volumes: Sequence[Volume]) -> tuple[int, int]:
    return 2 * sum(v.payload_bytes for v in volumes), 2 * sum(v.wire_bytes for v in volumes)
