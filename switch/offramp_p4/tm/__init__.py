# SPDX-License-Identifier: Apache-2.0
"""The traffic manager: queues between ingress and egress, schedulers, line rates, buffer limits, ECN marks.

Time is integer picoseconds and comes from the caller: nothing here has a clock.
"""

from __future__ import annotations

from offramp_p4.tm.config import PortConfig, QueueConfig, TmConfig
from offramp_p4.tm.ecn import mark_ce
from offramp_p4.tm.joint import Departure
from offramp_p4.tm.manager import Dequeued, TrafficManager
from offramp_p4.tm.queue import QueueStats

__all__ = [
    "Departure",
    "Dequeued",
    "PortConfig",
    "QueueConfig",
    "QueueStats",
    "TmConfig",
    "TrafficManager",
    "mark_ce",
]
