# SPDX-License-Identifier: Apache-2.0
"""Multicast groups on a switch: each system has numbers of its own, so that they do not meet where they share one."""

from __future__ import annotations

from typing import Final

FLOOD: Final = 1
"""Hermod's group of all ports."""
SWITCHGNN: Final = 2
"""SwitchGNN's first: all workers; those of acknowledgements follow."""
ALL_REDUCE: Final = 0x8000
"""All-reduce's first: one for each job."""
