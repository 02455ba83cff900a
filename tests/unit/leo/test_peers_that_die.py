# SPDX-License-Identifier: Apache-2.0
"""A responder that dies is named within a second and started again where it can be; one that stands still is named."""

from __future__ import annotations

import contextlib
import os
import signal
import time

import numpy as np
import pytest

from leo_faults import KEYS, plan, started, trial
from leo_hostile import Forged
from leo_lab import batch, program
from offramp.leo.native.dataflow import Trip
from offramp.leo.native.functions import ADD
from offramp.leo.runtime.process import ResponderPlan, ResponderProcess
from offramp.leo.runtime.requester import Requester, RequesterSettings
from offramp.leo.transports import TRANSPORTS
from offramp_base.errors import OfframpError

FLOW = [[(Trip("echo"),)]]
BASIC = "offramp.leo.runtime.service:prepare"


# Transport nic needs agents: tests/nic/test_chain.py kills one.
@pytest.fixture(params=[name for name in TRANSPORTS.names() if name != "nic"])
def transport(request):
    if request.param == "ucx":
        from offramp.leo.transports.ucx import library

        try:
            library()
        except OfframpError as error:
            pytest.skip(str(error))
    return request.param


def until(requester, condition, limit_s=30.0):
    """Step until something is so; returns the seconds that it took."""
    begun = time.monotonic()
    while not condition():
        requester.step()
        assert time.monotonic() - begun < limit_s
    return time.monotonic() - begun


def talk(requester, count=1):
    """Requests that end."""
    sent, ended = requester.admit(batch([b"x"] * count), np.arange(count)), 0
    while ended < sent:
        requester.step()
        done = requester.collect()
        assert not done.statuses.any()
        ended += done.count


@pytest.mark.full
def test_one_that_is_killed_is_named_within_a_second(transport):
    """Known by its address only: nobody can start it again."""
    process = ResponderProcess(ResponderPlan(BASIC, rows=64, listen="" if transport == "shm" else "127.0.0.1:0"))
    try:
        settings = RequesterSettings(rows=64, stride=64, transport=transport, token=process.token)
        requester = Requester(program(FLOW), [process.address], settings=settings)
        talk(requester)
        pid = process.pid
        process.signal(signal.SIGKILL)
        killed = time.monotonic()
        requester.admit(batch([b"y"]), np.array([1]))
        with pytest.raises(OfframpError, match=rf"responder at .* \(pid {pid}\) is gone: .*1 requests have not ended"):
            until(requester, lambda: False, 5.0)
        assert time.monotonic() - killed < 1.0
        assert requester.in_flight == 1
        requester.close()
    finally:
        process.close()


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_how_it_ended_is_said_where_it_may_not_be_started_again(number):
    process = ResponderProcess(ResponderPlan(BASIC, rows=64, restarts=0))
    try:
        requester = Requester(program(FLOW), [process], settings=RequesterSettings(rows=64, stride=64))
        pid = process.pid
        process.signal(number)
        begun = time.monotonic()
        line = rf"responder at unix:.* \(pid {pid}\) was killed by {number.name}$"
        with pytest.raises(OfframpError, match=line):
            until(requester, lambda: False, 5.0)
        assert time.monotonic() - begun < 1.0
        requester.close()
    finally:
        process.close()


@pytest.mark.full
@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_its_requester_starts_it_again(transport):
    """Killed twice in the midst of additions: each is made once, and nobody but the requester does anything."""
    with started(11, transport) as (process, requester):
        pid, kills = process.pid, []

        class Killing:
            """The process of the trial; a kill is a signal from outside."""

            host = process.host

            @staticmethod
            def kill():
                process.signal(signal.SIGKILL)
                kills.append(process.pid)

            @staticmethod
            def start():
                """Nobody does."""

        trial(Killing, requester, 11, kills=2)
        assert process.restarts >= 1
        assert process.pid != pid
        assert "was killed by SIGKILL" in process.fate


@pytest.mark.full
def test_one_that_is_killed_while_it_starts_is_started_once_more():
    process = ResponderProcess(ResponderPlan(BASIC, rows=64))
    try:
        requester = Requester(program(FLOW), [process], settings=RequesterSettings(rows=64, stride=64))
        process.signal(signal.SIGKILL)
        until(requester, lambda: process.restarts == 1)
        process.signal(signal.SIGTERM)
        talk(requester, 8)
        assert process.restarts == 2
        assert "was killed by SIGTERM" in process.fate
        requester.close()
    finally:
        process.close()


@pytest.mark.full
def test_it_is_started_again_so_often_and_not_more():
    process = ResponderProcess(ResponderPlan(BASIC, rows=64, restarts=2))
    try:
        requester = Requester(program(FLOW), [process], settings=RequesterSettings(rows=64, stride=64))
        for restarts in (1, 2):
            process.signal(signal.SIGKILL)
            until(requester, lambda wanted=restarts: requester.reconnects == wanted)
            talk(requester, 8)
            assert process.restarts == restarts
        process.signal(signal.SIGKILL)
        with pytest.raises(OfframpError, match="was killed by SIGKILL; it was started again 2 times already"):
            until(requester, lambda: False)
        requester.close()
    finally:
        process.close()


@pytest.mark.full
def test_one_that_stands_still_is_named(caplog):
    process = ResponderProcess(plan(3))
    try:
        settings = RequesterSettings(rows=64, stride=64, timeout_s=0.2, silent_s=0.6)
        requester = Requester(program(FLOW), [process], settings=settings)
        talk(requester)
        process.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)  # on a busy machine it takes a while to stop
        requester.admit(batch([b"y"]), np.array([1]))
        line = r"responder at .* is stopped and has answered nothing for 0.8 s; 1 requests have not ended"
        with pytest.raises(OfframpError, match=line):
            until(requester, lambda: False, 10.0)
        assert "has answered nothing for 0.2 s; it is given up after 0.6 s more" in caplog.text
        process.signal(signal.SIGCONT)
        ended = 0
        for _ in range(100):  # looks; on a busy machine it is named again before it has had the processor
            with contextlib.suppress(OfframpError):
                until(requester, lambda: requester.collect().count == 1)
                ended = 1
                break
        assert ended
        requester.close()
    finally:
        process.close()


@pytest.mark.full
def test_what_was_given_to_a_device_is_not_done_twice():
    """A crash while a device has a request that is to be executed once: nobody knows, so it ends with LOST."""
    slow = ResponderPlan(BASIC, devices={"acc": "model:service_us=300000"}, rows=64)
    process = ResponderProcess(slow)
    try:
        flows = [[(Trip("echo", remote="acc", once=True),)], [(Trip(ADD, once=True),)]]
        requester = Requester(program(flows), [process], settings=RequesterSettings(rows=64, stride=64))
        requester.admit(batch([b"device", bytes(15) + b"\x01"], kinds=[0, 1]), np.array([5, 6]))
        ended = []
        until(requester, lambda: ended.extend(_take(requester)) or len(ended) == 1)
        assert ended == [(6, 0)]
        process.signal(signal.SIGKILL)
        until(requester, lambda: ended.extend(_take(requester)) or len(ended) == 2)
        assert ended[1] == (5, 6)
        assert process.host.memory[0] == 1 << 56
        requester.close()
    finally:
        process.close()


def _take(requester):
    done = requester.collect()
    return list(zip(done.users.tolist(), done.statuses.tolist(), strict=True))


def test_a_responder_that_writes_what_cannot_be_is_not_spoken_to_again():
    links = []

    def opener(address, transport, hello):
        del address, transport
        links.append(Forged(hello["ring_bytes"], None))
        return links[-1], {"pid": "x"}

    requester = Requester(program(FLOW), ["nowhere"], settings=RequesterSettings(rows=64, stride=64), opener=opener)
    requester.admit(batch([b"y"]), np.array([1]))
    requester.step()
    links[0].requests[16], links[0].requests[0] = -(2**62), 4096
    line = "responder at nowhere is gone: the peer has written a message of an impossible length; 1 requests"
    with pytest.raises(OfframpError, match=line):
        until(requester, lambda: False, 2.0)
    assert len(links) == 1
    requester.close()


@pytest.mark.full
def test_a_responder_that_dies_beside_another_is_no_error():
    """Requests take the other path; both keep their keys in order."""
    flows = [[(Trip("echo", link=0),), (Trip("echo", link=1),)]]
    responders = [ResponderProcess(plan(5)), ResponderProcess(plan(6))]
    try:
        settings = RequesterSettings(rows=64, stride=64, timeout_s=2.0, token=responders[0].token)
        requester = Requester(
            program(flows, "ADDR", links=2), [responders[0].address, responders[1]], settings=settings
        )
        responders[0].kill()
        begun = time.monotonic()
        while time.monotonic() - begun < 1.5:
            requester.admit(batch([bytes([k]) for k in range(KEYS)], range(KEYS)), np.arange(KEYS))
            requester.step()
            assert not requester.collect().statuses.any()
        requester.close()
    finally:
        for responder in responders:
            responder.close()
