# SPDX-License-Identifier: Apache-2.0
"""A job while strangers greet its endpoints: every byte right, every stranger refused, nobody kept out.

The full number is `-m slow`; it prints the slowest hundredth of the coflows, by turns in one run. Oracle: the bytes
that were sent. Blind spot: strangers of other machines, whose packets also load the link.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from endpoints import SECONDS, endpoints, view
from offramp.hermod.endhost import Endpoint, Priorities
from offramp.hermod.factors import CType, Factors
from offramp_base.listening import Token
from siege import assert_undisturbed, besiege

pytestmark = pytest.mark.full

TOKEN = Token(b"of this job, and of no other")
JOB = Priorities.of_job(8, 32)


@contextmanager
def job() -> Iterator[tuple[str, Endpoint, Callable[[int], None]]]:
    """The address of an endpoint, it, and a step of its job."""
    with endpoints(2, JOB, token=TOKEN) as (a, b):

        def step(number: int) -> None:
            sent, came = [view(1 << 16, number), view(1 << 16, number + 1)], [view(1 << 16), view(1 << 16)]
            factors = Factors(number % 8, CType.EP, number % 32)
            futures = [a.exchange(number, {1: sent[0]}, {1: came[1]}, factors)]
            futures.append(b.exchange(number, {0: sent[1]}, {0: came[0]}, factors))
            for future in futures:
                future.result(SECONDS)
            assert came == sent

        host, port = a._peers[0]
        yield f"{host}:{port}", a, step
        assert a.failure is b.failure is None


def test_a_job_is_right_while_strangers_greet() -> None:
    with job() as (address, endpoint, step):
        besiege(address, step, 600, 0, 1)
        end = time.monotonic() + SECONDS
        while endpoint.refused < 600 and time.monotonic() < end:
            time.sleep(0.05)
        assert endpoint.refused == 600


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_thousand_strangers_do_not_slow_a_job() -> None:
    with job() as (address, _, step):
        assert_undisturbed(address, step)
