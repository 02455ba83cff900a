# SPDX-License-Identifier: Apache-2.0
"""Faults at random times with real processes: nothing lost, nothing twice, order for each key, devices used again."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest

from leo_faults import KEYS, plan, started, trial, used_again
from leo_lab import batch, program
from nic_agent import built
from offramp.leo.native.dataflow import Trip
from offramp.leo.runtime.process import ResponderProcess
from offramp.leo.runtime.requester import Requester, RequesterSettings
from offramp.leo.selection import Policy
from offramp.nic.build import AGENT
from offramp.nic.process import AgentProcess

pytestmark = pytest.mark.full


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


@pytest.fixture
def agent():
    """That of a smartNIC."""
    with AgentProcess(program=built() / AGENT, compression="none") as running:
        yield running


@pytest.mark.nic
def test_an_agent_that_is_killed(agent):
    """Requests that were with it are done on other paths; when it is back it is used again."""
    with started(7, "shm", f"nic:{agent.path}") as (process, requester):
        trial(process, requester, 7, kills=0, agent=agent)
        assert used_again(requester, 1)
        trial(process, requester, 8, kills=0, agent=agent)
        assert used_again(requester, 1)


@pytest.mark.nic
@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_500_agents_that_are_killed(agent):
    """``pytest -m slow tests/unit/leo/test_faults.py -k agents``."""
    for group in range(50):
        with started(2000 + group, ("shm", "tcp")[group % 2], f"nic:{agent.path}") as (process, requester):
            for seed in range(10):
                trial(process, requester, 10000 + 100 * group + seed, kills=0, agent=agent)
            assert used_again(requester, 1)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_500_runs():
    """About 15 minutes: ``pytest -m slow tests/unit/leo/test_faults.py``."""
    for group in range(50):
        with started(1000 + group, ("shm", "tcp")[group % 2]) as (process, requester):
            for seed in range(10):
                trial(process, requester, 100 * group + seed, kills=1)
            assert used_again(requester, 1)


def test_paths_over_two_responders():
    """One dies for good while the other goes on; it is used again when it is back."""
    flows = [[(Trip("echo", link=0),), (Trip("echo", link=1),)]]
    responders = [ResponderProcess(plan(5)), ResponderProcess(plan(6))]
    try:
        settings = RequesterSettings(rows=64, stride=64, policy=Policy.UNIFORM, timeout_s=2.0)
        asked = program(flows, "ADDR", links=2)
        requester = Requester(asked, responders, settings=settings)
        ended, sent = [], 0
        while len(ended) < 900:
            messages = [bytes([i % 251]) for i in range(sent, min(sent + 16, 900))]
            keys = [i % KEYS for i in range(sent, sent + len(messages))]
            sent += requester.admit(batch(messages, keys), np.arange(sent, sent + len(messages)))
            requester.step()
            done = requester.collect()
            assert not done.statuses.any()
            ended += done.users.tolist()
            if len(ended) > 300 and responders[0].alive():
                responders[0].kill()
        assert sorted(ended) == list(range(900))
        for key in range(KEYS):
            order = [user for user in ended if user % KEYS == key]
            assert order == sorted(order)
        responders[0].start()
        assert used_again(requester, 0)
        requester.close()
    finally:
        for responder in responders:
            responder.close()
