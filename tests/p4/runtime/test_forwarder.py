# SPDX-License-Identifier: Apache-2.0
"""The loop of a switch before it waits."""

from __future__ import annotations

import select
import time
from types import SimpleNamespace

import pytest

from offramp_p4.ports.forwarder import Forwarder

pytestmark = pytest.mark.p4


@pytest.mark.parametrize(("due_s", "least_s"), [(None, 0.05), (0.0, 0.0), (0.01, 0.005)])
def test_ports_are_told_before_a_wait_also_where_a_queue_is_always_due(due_s, least_s):
    """A switch that is behind its queues has something due in every turn; hosts are to hear of their frames then."""
    rests = []
    port = SimpleNamespace(rest=lambda: rests.append(1))
    forwarder = Forwarder(SimpleNamespace(due_s=due_s, inject=None), {1: port})
    poll = select.poll()
    poll.register(forwarder._alarm, select.POLLIN)
    begun = time.monotonic()
    for _ in range(3):
        events = forwarder._wait(poll, 0.05)
        assert [descriptor for descriptor, _ in events] == ([forwarder._alarm.fileno()] if due_s else [])
        forwarder._alarm.clear()
    assert len(rests) == 3
    assert time.monotonic() - begun >= 3 * least_s
