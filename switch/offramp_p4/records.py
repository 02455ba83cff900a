# SPDX-License-Identifier: Apache-2.0
"""Reports of a switch beside the packets that it sends: counts and digests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class SwitchStats:
    """Counts since the start; packets unless said otherwise.

    Attributes:
        dropped: copies that a drop, an unknown group or a failed check has ended.
        passes: times that ingress has run, ``recirculations`` and ``resubmissions`` included.
        looped: copies dropped because their packet had used up its passes.
        exhausted: packets that were cut short because they had used up their steps.
        failed_checks: calls of ``assert`` or ``assume`` that were false.
    """

    packets_in: int = 0
    packets_out: int = 0
    dropped: int = 0
    parse_errors: int = 0
    checksum_errors: int = 0
    passes: int = 0
    recirculations: int = 0
    resubmissions: int = 0
    clones: int = 0
    replicas: int = 0
    truncated: int = 0
    looped: int = 0
    failed_checks: int = 0
    exhausted: int = 0


@dataclass(frozen=True, slots=True)
class Digest:
    """A message to the control plane: the name of its type, and its scalars as they were at the call."""

    name: str
    values: tuple[int, ...]
