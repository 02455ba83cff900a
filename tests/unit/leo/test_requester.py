# SPDX-License-Identifier: Apache-2.0
"""The request state table over a real responder: states, dataflows, order, back-pressure, failures."""

from __future__ import annotations

import struct
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leo_lab import ROWS, batch, lab, program
from offramp.device import Status
from offramp.leo.devices import open_device
from offramp.leo.devices.functions import FunctionDevice
from offramp.leo.native import state as at
from offramp.leo.native.dataflow import Trip
from offramp.leo.native.functions import ADD
from offramp.leo.native.state import RequestState
from offramp.leo.runtime.requester import Requester, RequesterSettings
from offramp_base.errors import OfframpError

ECHO = (Trip("echo"),)


def run(laboratory, sent, limit_s=20.0):
    """Step until so many have ended."""
    begun = time.monotonic()
    while len(laboratory.ended) < sent:
        laboratory.step()
        assert time.monotonic() - begun < limit_s, f"{sent - len(laboratory.ended)} have not ended"
    return laboratory.ended


def states(laboratory):
    return {RequestState(s) for s in at.column(laboratory.requester.table, at.RequestSlot.state).tolist()} - {
        RequestState.FREE
    }


@pytest.mark.full
def test_states_of_a_request_on_the_way_over_two_accelerators():
    near = FunctionDevice({"compress": lambda m: m[:2]}, "near")
    far = FunctionDevice({"decompress": lambda m: m + b"!"}, "far")
    flow = (Trip("decompress", remote="far", local="near", local_function="compress"),)
    with lab(program([[flow]]), {"far": far}, {"near": near}) as laboratory:
        requester = laboratory.requester
        assert requester.admit(batch([b"abcdef"]), np.array([7])) == 1
        assert states(laboratory) == {RequestState.ACC_PENDING}
        requester.step()
        assert states(laboratory) == {RequestState.NIC_PENDING}
        requester.step()
        assert states(laboratory) == {RequestState.WAIT_RESP}
        for _ in range(3):
            laboratory.responder.step()
        requester.step()
        assert states(laboratory) == {RequestState.DONE}
        done = requester.collect()
        assert (done.users.tolist(), done.answer(0)) == ([7], b"ab!")
        assert not states(laboratory)


def test_round_trips_pass_answers_on():
    trips = (
        Trip("first", length=2),
        Trip("second", previous=True, start=2, length=3),
        Trip("third", previous=True, length=0),
    )
    seen = []

    def note(name):
        return lambda m: (seen.append(m), m.upper() + name.encode())[1]

    with lab(program([[trips]]), python={name: note(name) for name in ("first", "second", "third")}) as laboratory:
        laboratory.requester.admit(batch([b"abcdef"]), np.array([1]))
        assert run(laboratory, 1) == [(1, Status.OK, b"ABFIRSTCDESECONDthird")]
        assert seen == [b"ab", b"ABfirstcde", b"ABFIRSTCDEsecond"]


def test_a_full_table_pushes_back():
    with lab(program([[ECHO]])) as laboratory:
        messages = [bytes([i]) for i in range(ROWS + 9)]
        assert laboratory.requester.admit(batch(messages), np.arange(len(messages))) == ROWS
        assert laboratory.requester.free == 0
        assert laboratory.requester.admit(batch(messages), np.arange(len(messages))) == 0
        assert [e[0] for e in run(laboratory, ROWS)] == list(range(ROWS))
        assert laboratory.requester.free == ROWS


def test_bad_requests_change_nothing():
    with lab(program([[ECHO]])) as laboratory:
        before = laboratory.requester.table.copy()
        with pytest.raises(OfframpError, match="expected types 0 to 0"):
            laboratory.requester.admit(batch([b""], kinds=[1]), np.zeros(1, np.int64))
        with pytest.raises(OfframpError, match="request of 300 bytes: the table has room for 256"):
            laboratory.requester.admit(batch([bytes(300)]), np.zeros(1, np.int64))
        assert (laboratory.requester.table == before).all()


def test_what_the_responder_lacks_is_said_before_anything_starts():
    for flow, line in (
        ((Trip("nothing"),), "responder's cpu has no function nothing: it has echo"),
        ((Trip("echo", remote="gpu"),), "responder has no device gpu: it has cpu"),
        ((Trip("echo", local="npu", local_function="f"),), "requester has no device npu: it has none"),
    ):
        with pytest.raises(OfframpError, match=line), lab(program([[flow]])):
            pass


def test_nobody_there():
    with pytest.raises(OfframpError, match=r"responder at 127.0.0.1:1: Connection refused"):
        Requester(program([[ECHO]]), ["127.0.0.1:1"], settings=RequesterSettings(transport="tcp"))


class Aborting(FunctionDevice):
    """A device that has done the second of its first two requests when the first is aborted."""

    aborted = False

    def poll(self):
        completions = super().poll()
        if len(completions) == 2 and not self.aborted:
            self.aborted = True
            return [completions[1], completions[0]._replace(status=Status.ABORTED, message=b"")]
        return completions


def test_a_request_does_not_end_before_one_of_its_key_that_has_to_go_again():
    device = Aborting({"echo": bytes}, "acc")
    flow = (Trip("echo", remote="acc"),)
    with lab(program([[flow]], "ADDR"), {"acc": device}) as laboratory:
        laboratory.requester.admit(batch([b"first", b"second"], [7, 7]), np.array([1, 2]))
        assert run(laboratory, 2) == [(1, Status.OK, b"first"), (2, Status.OK, b"second")]
        assert laboratory.requester.retries == 2


@pytest.mark.full
@settings(derandomize=True, deadline=None, max_examples=12)
@given(st.integers(0, 2**32), st.sampled_from(["NONE", "ADDR"]), st.integers(1, 3))
def test_random_paths_lose_and_reorder_nothing(seed, dependency, parallelism):
    """Section 13: over paths of different speed, with a device that fails now and then."""
    rng = np.random.default_rng(seed)
    options = f"service_us=30,jitter_us=200,parallelism={parallelism},seed={seed % 1000}"
    device = open_device(f"faulty::model:{options}", "acc")
    slow = open_device("model:service_us=100", "slow")
    flows = [
        [ECHO, (Trip("echo", remote="acc"),), (Trip("echo", remote="slow"), Trip("echo", previous=True, length=0))]
    ]
    flows.append([flows[0][0], None, flows[0][2]])
    with lab(program(flows, dependency), {"acc": device, "slow": slow}, policy="uniform", seed=seed % 97) as laboratory:
        count = 300
        keys = rng.integers(0, 9, count).tolist()
        messages = [struct.pack("<qq", i, k) for i, k in enumerate(keys)]
        requests = batch(messages, keys, rng.integers(0, 2, count).tolist())
        users = np.arange(count)
        sent = 0
        faults = iter(sorted(rng.integers(0, count, 4).tolist()))
        fault = next(faults)
        while sent < count:
            taken = min(int(rng.integers(1, 20)), count - sent)
            sent += laboratory.requester.admit(requests.part(sent, sent + taken), users[sent : sent + taken])
            laboratory.step()
            if sent >= fault:
                [device.kill, device.hang, device.reset][int(rng.integers(3))]()
                fault = next(faults, count + 1)
        run(laboratory, count)
        assert Counter(e[0] for e in laboratory.ended) == Counter(range(count))
        for user, status, answer in laboratory.ended:
            assert status == Status.OK
            assert answer == messages[user]
        if dependency == "ADDR":
            for key in range(9):
                order = [e[0] for e in laboratory.ended if keys[e[0]] == key]
                assert order == sorted(order)


@pytest.mark.full
def test_a_crash_of_the_responder_loses_nothing_and_adds_nothing_twice():
    flow = (Trip(ADD, once=True),)
    with lab(program([[flow]], "ADDR")) as laboratory:
        rng = np.random.default_rng(3)
        sent, count = 0, 2000
        while len(laboratory.ended) < count:
            if sent < count:
                messages = [struct.pack("<qq", 8 * (i % 5), i + 1) for i in range(sent, min(sent + 16, count))]
                keys = [(sent + i) % 5 for i in range(len(messages))]
                sent += laboratory.requester.admit(batch(messages, keys), np.arange(sent, sent + len(messages)))
            laboratory.step()
            if rng.random() < 0.08:
                laboratory.crash()
        assert laboratory.requester.reconnects > 2
        assert all(status == Status.OK for _, status, _ in laboratory.ended)
        totals = [0] * 5
        for user in range(count):
            totals[user % 5] += user + 1
        assert laboratory.host.memory[:5].tolist() == totals
        running = [0] * 5
        for user, _, answer in sorted(laboratory.ended):
            assert struct.unpack("<q", answer)[0] == running[user % 5]
            running[user % 5] += user + 1
