# SPDX-License-Identifier: Apache-2.0
"""Ranks that are threads of one process."""

from __future__ import annotations

import threading

import pytest

from offramp.workers.mailbox import Key
from offramp_base.errors import OfframpError
from offramp_sim.switchgnn.thread_group import ThreadGroup, run_group


def test_the_fault_that_came_first_is_told_and_not_what_others_made_of_it() -> None:
    """Rank 0's complaint about rank 1 comes later, and first by rank."""
    waits, said = threading.Event(), []

    def work(group: ThreadGroup) -> None:
        box = group.mailbox(900, None)  # nobody waits so long: a rank that fails ends the others
        if group.rank == 1:
            waits.wait()
            raise OfframpError("the cause")
        waits.set()
        try:
            box.wait([(1, Key(0, 0, backward=False, bin=0))])
        except RuntimeError as error:
            said.append(str(error))
            raise

    with pytest.raises(OfframpError, match="the cause"):
        run_group(2, work)
    assert said == ["worker 1 is gone"]
