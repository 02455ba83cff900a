# SPDX-License-Identifier: Apache-2.0
"""The traffic manager: queues between ingress and egress, schedulers, line rates, buffer limits, ECN marks.

Time is integer picoseconds and comes from the caller: nothing here has a clock.

>>> from offramp_p4.tm import QueueConfig, TmConfig
>>> config = TmConfig.uniform(queues=2, rate_bps=10**9, queue=QueueConfig(limit_bytes=1500))
>>> len(config.default.queues)
2
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_p4.tm.config import PortConfig as PortConfig
    from offramp_p4.tm.config import QueueConfig as QueueConfig
    from offramp_p4.tm.config import TmConfig as TmConfig
    from offramp_p4.tm.ecn import mark_ce as mark_ce
    from offramp_p4.tm.joint import Departure as Departure
    from offramp_p4.tm.manager import Dequeued as Dequeued
    from offramp_p4.tm.manager import TrafficManager as TrafficManager
    from offramp_p4.tm.queue import QueueStats as QueueStats
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Departure": "offramp_p4.tm.joint",
            "Dequeued": "offramp_p4.tm.manager",
            "PortConfig": "offramp_p4.tm.config",
            "QueueConfig": "offramp_p4.tm.config",
            "QueueStats": "offramp_p4.tm.queue",
            "TmConfig": "offramp_p4.tm.config",
            "TrafficManager": "offramp_p4.tm.manager",
            "mark_ce": "offramp_p4.tm.ecn",
        },
    )
