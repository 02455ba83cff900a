# SPDX-License-Identifier: Apache-2.0
"""Traffic of a run from the partition alone, before anything is trained."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from offramp.switchgnn.volume import host_volume
from offramp.train.job import run_widths
from offramp.train.switch_plans import plan_exchanges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.graph.boundary import Boundary
    from offramp.train.settings import TrainSettings


@dataclass(frozen=True)
class RunTraffic:
    """Bytes of a run up and down over all links; DONE and GO are not counted."""

    p2p_payload: int
    p2p_wire: int
    switch_payload: int
    switch_wire: int


def predict_run(boundary: Boundary, settings: TrainSettings, widths: Sequence[int]) -> RunTraffic:
    """What p2p and the switch carry in a run of a model with layers of the given ``widths``, without dropout.

    Raises:
        OfframpError: the settings' memory is too small.
    """
    times = Counter(run_widths(settings, widths))
    planned = plan_exchanges(boundary, settings, list(times))
    p2p = [(n, host_volume(boundary, width)) for width, n in times.items()]
    switch = [(n, planned.schemes[width]) for width, n in times.items()]
    return RunTraffic(
        2 * sum(n * volume.payload_bytes for n, volume in p2p),
        2 * sum(n * volume.wire_bytes for n, volume in p2p),
        sum(n * made.payload_bytes for n, made in switch),
        sum(n * made.wire_bytes for n, made in switch),
    )
