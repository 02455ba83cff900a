# SPDX-License-Identifier: Apache-2.0
"""Peculiarities of each kind of device, and the dispatcher that feeds them."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from offramp.device import Status
from offramp.leo.devices import open_device
from offramp.leo.runtime.dispatcher import Dispatcher
from offramp_base.errors import OfframpError


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("toaster:3", "device toaster: expected one of cpu, "),
        ("cpu:x", "device cpu:x: threads=x: expected a number"),
        ("cpu:0", "device cpu: expected at least one thread"),
        ("model:speed=3", "device model:speed=3: no option speed: expected service_us"),
        ("model:service_us=-1", "device model:service_us=-1: service_us=-1: expected 0 or more"),
        ("model:service_us=nan", "expected 0 or more"),
        ("faulty:kill@1", "expected faulty:FAULTS:DEVICE"),
        ("faulty:melt@1:model:", "no fault melt: expected kill, hang or reset"),
        ("faulty:kill@soon:model:", "kill@soon: expected FAULT@SECONDS"),
    ],
)
def test_bad_names_are_one_line(text, line):
    with pytest.raises(OfframpError) as error:
        open_device(text)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_a_model_takes_its_time_whoever_polls(monkeypatch):
    now = [0]
    monkeypatch.setattr(time, "monotonic_ns", lambda: now[0])
    device = open_device("model:service_us=100,parallelism=2,latency_us=7,depth=5")
    assert [device.submit("echo", i, b"") for i in range(6)] == [True] * 5 + [False]
    ends = []
    for moment in range(0, 400_000, 1_000):
        now[0] = moment
        ends += [(c.request, moment // 1000) for c in device.poll()]
    assert ends == [(0, 107), (1, 107), (2, 207), (3, 207), (4, 307)]


def test_a_memo_computes_an_answer_once():
    device = open_device("model:service_us=0,memo=1")
    calls = []
    device._software.call = lambda f, m: (calls.append(m), (Status.OK, m))[1]
    for i in range(3):
        device.submit("echo", i, b"same")
    while device._queue:
        device.poll()
    assert calls == [b"same"]


def dispatcher(text="faulty::model:service_us=0", timeout_s=0.01):
    loop = Dispatcher(open_device(text), timeout_s)
    return loop, []


def until(dispatcher, done, count):
    limit = time.monotonic() + 10
    while len(done) < count and time.monotonic() < limit:
        dispatcher.poll()
    assert len(done) == count


def test_completions_of_a_key_come_in_order():
    loop, done = dispatcher("model:service_us=50,jitter_us=400,parallelism=8,seed=3", timeout_s=30)
    for i in range(40):
        loop.submit("echo", bytes([i]), i % 3, lambda c, i=i: done.append((i % 3, c.message[0])))
    until(loop, done, 40)
    for key in range(3):
        order = [m for k, m in done if k == key]
        assert order == sorted(order)


@pytest.fixture
def now(monkeypatch):
    """The dispatcher's time, which stands still."""
    seconds = [0.0]
    monkeypatch.setattr("offramp.leo.runtime.dispatcher.time", SimpleNamespace(monotonic=lambda: seconds[0]))
    return seconds


def test_a_device_that_hangs_is_reset_and_used_again(now):
    loop, done = dispatcher()
    loop.device.hang()
    loop.submit("echo", b"a", None, lambda c: done.append(c.status))
    loop.poll()
    assert done == []
    now[0] += 0.011
    until(loop, done, 1)
    assert done == [Status.ABORTED]
    assert loop.resets == 1
    loop.submit("echo", b"b", None, lambda c: done.append(c.status))
    until(loop, done, 2)
    assert done[1] is Status.OK


def test_a_device_that_dies_loses_its_work_and_is_used_again(now):
    loop, done = dispatcher("faulty::model:service_us=30000", timeout_s=5)
    for i in range(3):
        loop.submit("echo", b"a", i, lambda c: done.append(c.status))
    loop.device.kill()
    until(loop, done, 3)
    assert done == [Status.LOST] * 3
    now[0] += 0.019
    loop.submit("echo", b"b", None, lambda c: done.append(c.status))
    assert done[3:] == [Status.LOST]  # at once: it is down for a moment
    now[0] += 0.002
    loop.submit("echo", b"c", None, lambda c: done.append(c.status))
    until(loop, done, 5)
    assert done[4] is Status.OK


def test_a_device_that_cannot_be_brought_back_stays_gone():
    loop, done = dispatcher()
    loop.device.close()
    for _ in range(3):
        loop.submit("echo", b"a", None, lambda c: done.append(c.status))
    assert done == [Status.LOST] * 3
    assert loop.unfinished == 0
