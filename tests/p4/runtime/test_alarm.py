# SPDX-License-Identifier: Apache-2.0
"""Alarms ring at the time that was set, finer than poll(2) counts."""

from __future__ import annotations

import select
import time

import pytest

from offramp_p4.ports.alarm import Alarm


@pytest.fixture
def alarm():
    clock = Alarm()
    yield clock
    clock.close()


def ring(alarm: Alarm, seconds: float) -> float:
    poll = select.poll()
    poll.register(alarm, select.POLLIN)
    start = time.monotonic()
    alarm.set(seconds)
    assert poll.poll(10_000)
    alarm.clear()
    return time.monotonic() - start


def test_never_early_and_not_by_whole_milliseconds(alarm: Alarm) -> None:
    waits = [ring(alarm, 2e-4) for _ in range(100)]
    assert min(waits) >= 2e-4
    assert min(waits) < 1e-3  # the best of many: a busy machine makes the others late


def test_a_later_time_replaces_an_earlier_one(alarm: Alarm) -> None:
    alarm.set(0.001)
    assert ring(alarm, 0.05) >= 0.05


def test_at_once(alarm: Alarm) -> None:
    assert ring(alarm, 0.0) < 5
    alarm.clear()  # nothing to clear is no fault
