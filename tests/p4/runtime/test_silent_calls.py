# SPDX-License-Identifier: Apache-2.0
"""Calls that say nothing are ended; those that wait for the server itself, or behind a stalled machine, are not."""

from __future__ import annotations

import threading
import time

import grpc
import pytest

from offramp_base.p4rt.connection import open_channel
from offramp_base.p4rt.schema import SERVICE
from offramp_base.p4rt.session import Session
from offramp_p4.runtime import calls
from offramp_p4.runtime.device import P4Device
from offramp_p4.runtime.server import Server
from offramp_p4.runtime.service import P4RuntimeService
from offramp_p4.switch import Switch


class Call:
    """A call as the server's limits see it."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    def cancel(self) -> None:
        self.ended.set()

    def peer(self) -> str:
        return "nobody"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "SILENT_S", 0.3)


def assert_a_silent_stream_is_ended(address: str) -> None:
    over = threading.Event()
    with open_channel(address) as channel:
        stream = channel.stream_stream(f"/{SERVICE}/StreamChannel")(iter(over.wait, True))
        with pytest.raises(grpc.RpcError) as ended:
            next(stream)
        assert ended.value.code() is grpc.StatusCode.CANCELLED
    over.set()


def test_a_controller_waits_for_the_one_before_it() -> None:
    """As while a program is compiled; a stream that has said nothing is ended in the same time."""
    device = P4Device(0, Switch)
    with Server(P4RuntimeService(device), "127.0.0.1:0") as server:
        opened = threading.Event()

        def control() -> None:
            with Session(server.address, timeout_s=30):
                opened.set()

        with device.control():
            controller = threading.Thread(target=control, daemon=True)
            controller.start()
            for _ in range(2):  # after the second, the controller has waited longer than any silence
                assert_a_silent_stream_is_ended(server.address)
            assert not opened.is_set()
        controller.join()
        assert opened.is_set()


def test_a_machine_that_stands_still_makes_nobody_silent() -> None:
    ahead = [0.0]
    refusals, call, late = calls.Refusals("P4Runtime"), Call(), Call()
    silent = calls.Silent(refusals, lambda: time.monotonic() + ahead[0])
    watcher = threading.Thread(target=silent.watch, daemon=True)
    with silent.waiting(late):
        watcher.start()
        assert late.ended.wait(30)  # it watches
    with silent.waiting(call):
        began = time.monotonic()
        ahead[0] = 1000.0
        assert call.ended.wait(30)
        assert time.monotonic() - began > 0.2
    silent.close()
    watcher.join()
    assert refusals.counts == {"a silent call": 2}
