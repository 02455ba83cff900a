# SPDX-License-Identifier: Apache-2.0
"""Rounds in compiled code beside rounds by hand: the same requests, answers and order; due times, windows, refusals."""

from __future__ import annotations

import struct
import time
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leo_lab import ROWS, batch, lab, program, serve_while
from offramp.device import Status
from offramp.leo.devices import open_device
from offramp.leo.devices.functions import FunctionDevice
from offramp.leo.native.dataflow import Trip
from offramp_base.errors import OfframpError

ECHO = (Trip("echo"),)
LIMIT_S = 20.0


def flow_all(pair, requests, users, rng, due_ns=None):
    """Everything through ``flow``, in parts and with windows of changing size; (user, status, answer) in order."""
    ended, sent, begun = [], 0, time.monotonic()
    while len(ended) < len(users):
        if not pair.requester.offered and sent < len(users):
            count = min(int(rng.integers(1, 40)), len(users) - sent)
            some = slice(sent, sent + count)
            due = None if due_ns is None else due_ns[some]
            sent += pair.requester.offer(requests.part(sent, sent + count), users[some], due)
        done = pair.requester.flow(int(rng.integers(1, ROWS)))[1]
        assert pair.requester.in_flight <= ROWS
        ended += [(int(done.users[i]), int(done.statuses[i]), done.answer(i)) for i in range(done.count)]
        assert time.monotonic() - begun < LIMIT_S, f"{len(users) - len(ended)} have not ended"
    return ended


def by_key(ended, keys):
    users_by_key = defaultdict(list)
    for user, _, _ in ended:
        users_by_key[keys[user]].append(user)
    return users_by_key


@pytest.mark.full
@settings(derandomize=True, deadline=None, max_examples=8)
@given(st.integers(0, 2**32), st.sampled_from(["NONE", "ADDR"]))
def test_flow_answers_what_steps_answer(seed, dependency):
    rng = np.random.default_rng(seed)
    count = 200
    keys = rng.integers(0, 9, count).tolist()
    requests = batch([struct.pack("<qq", i, k) for i, k in enumerate(keys)], keys)
    flows = [
        [ECHO, (Trip("echo", remote="slow"),), (Trip("double", local="near", local_function="echo", remote="far"),)]
    ]
    answers = []
    for way in ("flow", "step"):
        far = {
            "slow": open_device("model:service_us=50", "slow"),
            "far": FunctionDevice({"double": lambda m: bytes(m) * 2}, "far"),
        }
        near = {"near": FunctionDevice({"echo": bytes}, "near")}
        with lab(program(flows, dependency), far, near, policy="uniform", seed=seed % 97) as laboratory:
            if way == "flow":
                ended = serve_while(
                    laboratory.responder, lambda m=laboratory: flow_all(m, requests, np.arange(count), rng)
                )
            else:
                sent = 0
                while len(laboratory.ended) < count:
                    sent += laboratory.requester.admit(requests.part(sent, count), np.arange(sent, count))
                    laboratory.step()
                ended = laboratory.ended
            assert laboratory.requester.free == ROWS
        answers.append((Counter((user, status) for user, status, _ in ended), by_key(ended, keys)))
        for user, _, answer in ended:
            assert answer in (
                requests.payload[16 * user :][:16].tobytes(),
                requests.payload[16 * user :][:16].tobytes() * 2,
            )
    assert answers[0][0] == answers[1][0] == Counter((i, int(Status.OK)) for i in range(count))
    if dependency == "ADDR":
        assert answers[0][1] == answers[1][1]


def test_nothing_is_admitted_before_it_is_due():
    with lab(program([[ECHO]])) as laboratory:
        clock = laboratory.requester.settings.clock.now
        due = clock() + np.arange(1, 21, dtype=np.int64) * 2_000_000
        laboratory.requester.offer(batch([b"x"] * 20), np.arange(20), due)
        begun = {}

        def wait():
            while len(begun) < 20:
                done = laboratory.requester.flow(ROWS)[1]
                begun.update(zip(done.users.tolist(), done.begun_ns.tolist(), strict=True))

        serve_while(laboratory.responder, wait)
        assert all(begun[i] >= due[i] for i in range(20))


def test_a_window_holds_and_what_is_withdrawn_is_never_sent():
    with lab(program([[ECHO]])) as laboratory:
        laboratory.requester.offer(batch([b"x"] * 30), np.arange(30))
        laboratory.requester.flow(7)
        assert (laboratory.requester.in_flight, laboratory.requester.offered) == (7, 23)
        laboratory.requester.withdraw()
        assert laboratory.requester.offered == 0
        ended = Counter()

        def drain():
            while ended.total() < 7:
                ended.update(laboratory.requester.flow(0)[1].users.tolist())

        serve_while(laboratory.responder, drain)
        assert ended == Counter(range(7))
        assert laboratory.requester.free == ROWS


def test_a_bad_request_refuses_the_batch():
    good = batch([b"abc", b"defg"])
    for bad, line in (
        (good._replace(types=np.array([0, 3])), "request of type 3: expected types 0 to 0"),
        (good._replace(sizes=np.array([3, 999])), "request of 999 bytes: the table has room for 256"),
        (good._replace(offsets=np.array([0, 5])), "bytes 5 to 9 do not lie in the payload of 7"),
        (good._replace(offsets=np.array([0, -1])), "bytes -1 to 3 do not lie"),
        (good._replace(keys=np.array([0])), "expected as many keys"),
    ):
        with lab(program([[ECHO]])) as laboratory:
            before = laboratory.requester.table.copy()
            for call in (laboratory.requester.offer, laboratory.requester.admit):
                with pytest.raises(OfframpError, match=line):
                    call(bad, np.arange(2))
            assert (laboratory.requester.table == before).all()
            assert laboratory.requester.offered == 0
