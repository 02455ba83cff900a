# SPDX-License-Identifier: Apache-2.0
"""The end-host scheduler: coflows in strict order over TCP, a connection and a DSCP for each priority (section 5.4)."""

from offramp.hermod.endhost.endpoint import Endpoint
from offramp.hermod.endhost.priorities import Mark, Priorities
from offramp.hermod.endhost.tuning import Tuning

__all__ = ["Endpoint", "Mark", "Priorities", "Tuning"]
