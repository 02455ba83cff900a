# SPDX-License-Identifier: Apache-2.0
"""A switch in the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_p4.queued import QueuedSwitch
from offramp_p4.tm.config import TmConfig

if TYPE_CHECKING:
    from offramp_p4 import PlainSwitch


class SwitchNode(QueuedSwitch):
    """A :class:`~offramp_p4.queued.QueuedSwitch` with a name."""

    def __init__(self, name: str, switch: PlainSwitch, config: TmConfig) -> None:
        super().__init__(switch, config)
        self.name = name
