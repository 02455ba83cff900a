# SPDX-License-Identifier: Apache-2.0
"""The store behind the switch as a device of LEO: over real links, and as a path of the runtime.

Blind spot: how fast it is; `offramp leo cache` measures that.
"""

from __future__ import annotations

import numpy as np
import pytest

from leo_lab import batch, lab, program
from offramp.device import Status
from offramp.leo.devices.switch import GET, PUT, Options, SwitchDevice, open_device
from offramp.leo.kvcache.control import CacheControl
from offramp.leo.kvcache.store import Store
from offramp.leo.native.dataflow import Trip
from offramp.p4src import p4_text
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session
from offramp_p4.embedded import EmbeddedSwitch
from offramp_sim.leo.cache import CLIENT_MAC, STORE_MAC, Books, CacheSettings, _serving, run_cache

pytestmark = pytest.mark.p4


@pytest.fixture(scope="module")
def served():
    """A device, the control plane, and the store of 100 keys behind a switch."""
    with EmbeddedSwitch(None, 2) as switch, Session(switch.address, timeout_s=60.0) as session:
        session.push(b"", p4_text("kvcache/v1model.p4").encode())
        store = Store({key: bytes([key]) * 64 for key in range(100)})
        control = CacheControl(session, 0, lambda key: store.get(key)[0])
        control.forward({STORE_MAC: 0, CLIENT_MAC: 1})
        with _serving(store, switch.port_specs[0]):
            device = open_device(f"{switch.port_specs[1]},store={STORE_MAC.hex()},mac={CLIENT_MAC.hex()}", "switch")
            yield device, control
            device.close()


def call(device: SwitchDevice, function: str, message: bytes):
    assert device.submit(function, 1, message)
    while True:
        for done in device.poll():
            return done.status, done.message


def test_what_it_answers(served):
    device, control = served
    key = (7).to_bytes(8, "little")
    assert call(device, GET, key) == (Status.OK, b"\7" * 64)
    before = device.by_switch
    control.hold([7])
    call(device, GET, key)  # the first reply is kept
    assert call(device, GET, key) == (Status.OK, b"\7" * 64)
    assert device.by_switch > before
    assert call(device, PUT, key + b"x" * 64) == (Status.OK, (2).to_bytes(4, "little"))
    assert call(device, GET, key) == (Status.OK, b"x" * 64)
    assert call(device, PUT, key + b"\7" * 64)[0] == Status.OK
    assert call(device, GET, (1000).to_bytes(8, "little")) == (Status.FAILED, b"")
    assert call(device, GET, b"short") == (Status.BAD_LENGTH, b"")
    assert call(device, "echo", key) == (Status.UNKNOWN_FUNCTION, b"")


def test_it_is_a_path_of_leo(served):
    device, _ = served
    flow = (Trip(GET, remote="switch"),)
    made_of = program([[flow]])
    with lab(made_of, devices={"switch": _Kept(device)}) as made:
        keys = [n % 100 for n in range(60)]
        sent = 0
        while len(made.ended) < len(keys):
            some = [key.to_bytes(8, "little") for key in keys[sent : sent + 20]]
            if some:
                sent += made.requester.admit(batch(some), np.arange(sent, sent + len(some)))
            made.step()
        assert all(e == (e[0], Status.OK, bytes([keys[e[0]]]) * 64) for e in made.ended)


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
        SwitchDevice(Options("unix:/nowhere", depth=5000))


def test_a_load_with_the_cache_and_without():
    turns = run_cache(CacheSettings(requests=800, rounds=1, keys=300, hot=64, writes=0.1))
    assert {name: turn.wrong for name, turn in turns.items()} == {"without": 0, "with": 0}
    assert turns["without"].by_switch == 0
    assert turns["with"].hits > 0.3


def test_the_books_find_what_cannot_be():
    books, value = Books(), (5).to_bytes(8, "little")
    assert not books.wrong(5, 3, value, 1)
    assert books.wrong(5, 2, value, 3)  # older than what was known
    assert books.wrong(5, 3, value + b"x", 3)  # two values of a version
    assert books.wrong(5, 4, bytes(8), 3)  # another key's
