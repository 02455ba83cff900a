# SPDX-License-Identifier: Apache-2.0
"""Outcomes of an all-reduce packet in a switch."""

from __future__ import annotations

from enum import IntEnum


class PacketVerdict(IntEnum):
    """Outcome of a packet; ``allreduce_outcome_t`` of the P4 programs, which explains each."""

    FOREIGN = 0
    MALFORMED = 1
    STRANGER = 2
    STALE = 3
    OPENED = 4
    ADDED = 5
    COMPLETED = 6
    DUPLICATE = 7
    REPEATED = 8
    PULLED = 9
    DESCENDED = 10
    SUPERSEDED = 11
