# SPDX-License-Identifier: Apache-2.0
"""``offramp leo serve`` with a switch in front: clients of both sides, and a store that is started again."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time

import pytest

from offramp.leo.devices.switch import GET, SwitchDevice, SwitchDeviceOptions
from offramp.leo.store.client import StoreClient
from offramp_p4.embedded import EmbeddedSwitch
from store_lab import a_token

pytestmark = [pytest.mark.p4, pytest.mark.full]
KEY = (7).to_bytes(8, "little")


@contextlib.contextmanager
def serving(switch: EmbeddedSwitch):
    """The address of the command's store."""
    words = ["--listen", "127.0.0.1:0", "--cache-link", switch.port_specs[0], "--cache-switch", switch.address]
    command = [sys.executable, "-m", "offramp", "leo", "serve", *words, "--cache-host", "0a:00:00:00:00:02=1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().split()[1]
            assert process.stdout.readline().startswith("switch ")
            yield address
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
    assert process.returncode == 130


def get(device: SwitchDevice) -> bytes:
    device.submit(GET, 1, KEY)
    until = time.monotonic() + 60
    while not (done := device.poll()):
        assert time.monotonic() < until
    return done[0].message


def test_both_sides_see_each_write_and_a_new_store_begins_with_nothing_held() -> None:
    with a_token() as token, EmbeddedSwitch(None, 2) as switch:
        device = SwitchDevice(SwitchDeviceOptions(switch.port_specs[1]))
        for life in range(2):
            with serving(switch) as address, StoreClient(address, token) as client:
                before, number, until = device.by_switch, 0, time.monotonic() + 60
                client.set({KEY: b"%064d" % -life})
                assert get(device) == b"%064d" % -life  # not what the switch held for the store before
                while device.by_switch < before + 50:
                    number += 1
                    client.set({KEY: b"%064d" % number})
                    assert get(device) == b"%064d" % number
                    assert time.monotonic() < until
        device.close()
