# SPDX-License-Identifier: Apache-2.0
"""A queue of the smartNIC's agent while strangers greet its control socket: every echo right, and none late.

Oracle: the bytes that were sent. Blind spot: strangers of another user, whom the socket's mode turns away.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator

import pytest

from offramp.device import Status
from offramp.nic.client import QueueClient
from offramp.nic.process import AgentProcess
from offramp.nic.wire import NicFunction
from siege import assert_undisturbed, besiege

pytestmark = pytest.mark.nic
ECHOES = 20
"""In a step: an echo alone takes less than the machine's scheduler disturbs."""


@contextlib.contextmanager
def job(agent: AgentProcess) -> Iterator[Callable[[int], None]]:
    """A step of a client."""
    with contextlib.closing(QueueClient(agent.path)) as client:

        def step(number: int) -> None:
            message = random.Random(number).randbytes(512)
            for echo in range(ECHOES):
                assert client.submit(NicFunction.ECHO, echo, message, len(message))
                (reply,) = client.wait(30)
                assert (reply.request, reply.status, reply.message) == (echo, Status.OK, message)

        yield step


def test_a_job_is_right_while_strangers_greet(agent: AgentProcess) -> None:
    with job(agent) as step:
        besiege(f"unix:{agent.path}", step, 600, 0, 1)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_thousand_strangers_do_not_slow_a_job(agent: AgentProcess) -> None:
    with job(agent) as step:
        assert_undisturbed(f"unix:{agent.path}", step)
