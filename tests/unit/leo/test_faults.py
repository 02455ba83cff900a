"""Faults at random times with real processes: nothing lost, nothing twice, order for each key, devices used again."""

from __future__ import annotations

import signal
import threading

import pytest

from leo_faults import started, trial, used_again


@pytest.mark.parametrize(("seed", "transport"), [(1, "shm"), (2, "tcp"), (3, "shm")])
def test_killed_at_random_times(seed, transport):
    with started(seed, transport) as (process, requester):
        trial(process, requester, seed, kills=2)
        assert requester.reconnects >= 1
        assert used_again(requester, 1)


def test_a_responder_that_stands_still_is_not_given_up():
    with started(4) as (process, requester):
        requester.settings = type(requester.settings)(**(vars(requester.settings) | {"timeout_s": 0.2}))
        process.signal(signal.SIGSTOP)
        timer = threading.Timer(0.8, process.signal, [signal.SIGCONT])
        timer.start()
        try:
            trial(process, requester, 4, kills=0)
        finally:
            timer.cancel()
            process.signal(signal.SIGCONT)
        assert requester.retries > 0


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_500_runs():
    """About 15 minutes: ``pytest -m slow tests/unit/leo/test_faults.py``."""
    for group in range(50):
        with started(1000 + group, ("shm", "tcp")[group % 2]) as (process, requester):
            for seed in range(10):
                trial(process, requester, 100 * group + seed, kills=1)
            assert used_again(requester, 1)
