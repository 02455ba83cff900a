# SPDX-License-Identifier: Apache-2.0
"""The store behind the switch as a device of LEO: over real links, and as a path of the runtime.

Blind spot: how fast it is; `offramp leo cache` measures that.
"""

from __future__ import annotations

import numpy as np
import pytest

from leo_lab import batch, lab, program
from offramp.device import Status
from offramp.leo.devices.switch import GET, PUT, SwitchDevice, SwitchDeviceOptions, open_device
from offramp.leo.native.dataflow import Trip
from offramp_base.errors import OfframpError
from offramp_sim.leo.cache import Books, CacheLoadSettings, run_cache, served

pytestmark = pytest.mark.p4


@pytest.fixture(scope="module")
def device():
    """A client's device in front of a store of 100 keys behind a switch, and the front's service."""
    with served({key: bytes([key]) * 64 for key in range(100)}) as (device, service):
        yield device, service


def call(device: SwitchDevice, function: str, message: bytes):
    assert device.submit(function, 1, message)
    while True:
        for done in device.poll():
            return done.status, done.message


def test_what_it_answers(device):
    device, service = device
    key = (7).to_bytes(8, "little")
    assert call(device, GET, key) == (Status.OK, b"\7" * 64)
    before = device.by_switch
    service.hold(100)
    assert call(device, GET, key) == (Status.OK, b"\7" * 64)
    assert device.by_switch > before
    status, version = call(device, PUT, key + b"x" * 64)
    assert (status, len(version)) == (Status.OK, 4)
    assert call(device, PUT, key + b"x" * 64)[1] > version
    assert call(device, GET, key) == (Status.OK, b"x" * 64)
    assert call(device, PUT, key + b"\7" * 64)[0] == Status.OK
    assert call(device, GET, (1000).to_bytes(8, "little")) == (Status.FAILED, b"")
    assert call(device, GET, b"short") == (Status.BAD_LENGTH, b"")
    assert call(device, "echo", key) == (Status.UNKNOWN_FUNCTION, b"")


@pytest.mark.full
def test_it_is_a_path_of_leo(device):
    device, _ = device
    flow = (Trip(GET, remote="switch"),)
    made_of = program([[flow]])
    with lab(made_of, devices={"switch": _Kept(device)}) as chain:
        keys = [n % 100 for n in range(60)]
        sent = 0
        while len(chain.ended) < len(keys):
            some = [key.to_bytes(8, "little") for key in keys[sent : sent + 20]]
            if some:
                sent += chain.requester.admit(batch(some), np.arange(sent, sent + len(some)))
            chain.step()
        assert all(e == (e[0], Status.OK, bytes([keys[e[0]]]) * 64) for e in chain.ended)


class _Kept:
    """The laboratory closes its devices; this one goes on."""

    def __init__(self, device: SwitchDevice) -> None:
        self._device = device

    def __getattr__(self, name):
        return getattr(self._device, name)

    def close(self) -> None:
        pass


def test_options_that_are_none():
    with pytest.raises(OfframpError, match="expected a MAC address"):
        open_device("unix:/nowhere,store=x", "switch")
    with pytest.raises(OfframpError, match="depth below"):
        SwitchDevice(SwitchDeviceOptions("unix:/nowhere", depth=5000))


@pytest.mark.full
def test_a_load_with_the_cache_and_without():
    turns = run_cache(CacheLoadSettings(requests=800, rounds=1, keys=300, hot=64, writes=0.1))
    assert {name: turn.wrong for name, turn in turns.items()} == {"without": 0, "with": 0}
    assert turns["without"].by_switch == 0
    assert turns["with"].hits > 0.3


@pytest.mark.full
def test_the_books_find_what_cannot_be():
    books, value = Books(), (5).to_bytes(8, "little")
    assert not books.wrong(5, 3, value, 1)
    assert books.wrong(5, 2, value, 3)  # older than what was known
    assert books.wrong(5, 3, value + b"x", 3)  # two values of a version
    assert books.wrong(5, 4, bytes(8), 3)  # another key's
