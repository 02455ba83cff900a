# SPDX-License-Identifier: Apache-2.0
"""Jobs that wait for room on switches are admitted in the order in which they began to wait.

A job has one place on all its switches. So the first of all who wait stands behind nobody, and is blocked by jobs that
run alone; each of the others becomes the first at some time. A small job does not overtake a large one.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from typing import Self

from offramp.cluster.model import ClusterSwitch
from offramp.job.claimant import claimant, has_ended
from offramp.job.ledger import opened
from offramp_base.errors import OfframpError


class WaitingLine:
    """The place of this process in line on the switches of its job, which it leaves at the end of the context."""

    def __init__(self, switches: Iterable[ClusterSwitch]) -> None:
        self._switches = tuple(switches)
        self._stands = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OfframpError):  # others find that this process has ended
            self.leave()

    def stand(self) -> None:
        """Stand in line on all switches, unless it does so already.

        Raises:
            OfframpError: a ledger cannot be opened.
        """
        if self._stands:
            return
        self._stands = True
        place = time.time_ns()
        for switch in self._switches:
            with opened(switch) as ledger:
                others = {owner: other for owner, other in ledger.line.items() if not has_ended(owner)}
                ledger.line = others | {claimant(): place}

    def leave(self) -> None:
        """Wait no longer: the job is admitted, or has given up.

        Raises:
            OfframpError: a ledger cannot be opened.
        """
        if not self._stands:
            return
        self._stands = False
        for switch in self._switches:
            with opened(switch) as ledger:
                ledger.line = {owner: place for owner, place in ledger.line.items() if owner != claimant()}
