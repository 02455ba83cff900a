# SPDX-License-Identifier: Apache-2.0
"""Learning over bmv2's services: notifications of nanomsg's publisher, buffers, time-outs, acknowledgements."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from nanomsg_subscriber import exactly, message, subscriber, wait_until
from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_p4.runtime.device import P4Device
from offramp_p4_tools.dropin.nanomsg import Publisher
from offramp_p4_tools.dropin.thrift.client import ThriftClient
from offramp_p4_tools.dropin.thrift.learning import LearnList
from offramp_p4_tools.dropin.thrift.services import RequestRefused
from thrift_switch import serving

SOURCE = Path(__file__).parent / "control_plane.p4"

pytestmark = pytest.mark.p4


@pytest.fixture
def publisher(tmp_path: Path) -> Iterator[Publisher]:
    with Publisher(f"ipc://{tmp_path}/notes.ipc") as publisher:
        yield publisher


def learn(device: P4Device, *values: int) -> None:
    """Run packets whose digests have these values."""
    frames = [value.to_bytes(4, "big") + bytes(40) for value in values]
    device.process(PacketBatch.of((1, frame) for frame in frames))


@pytest.mark.parametrize("engine", ["python", "native"])
def test_samples_are_published_and_kept_back_until_acknowledged(publisher: Publisher, engine: str) -> None:
    with serving(SOURCE, notifications=publisher, engine=engine, device_id=3) as server, subscriber(publisher) as sub:
        device = server._running.device
        with ThriftClient("127.0.0.1", server.port) as client:
            learn(device, 7)
            assert message(sub) == struct.pack("<4sQIiQI", b"LEA|", 3, 0, 1, 0, 1) + bytes((0, 0, 0, 7))
            client.call("standard", "bm_learning_set_buffer_size", list_id=1, nb_samples=2)
            learn(device, 7, 8, 7, 9)
            first = message(sub)
            assert first == struct.pack("<4sQIiQI", b"LEA|", 3, 0, 1, 1, 2) + bytes((0, 0, 0, 8, 0, 0, 0, 9))
            client.call("standard", "bm_learning_ack_buffer", list_id=1, buffer_id=0)
            client.call("standard", "bm_learning_ack", list_id=1, buffer_id=1, sample_ids=[1, 5, -1])
            learn(device, 7, 8, 9)
            assert message(sub)[32:] == bytes((0, 0, 0, 7, 0, 0, 0, 9))
            client.call("standard", "bm_reset_state")
            learn(device, 8, 9)
            assert message(sub)[20:28] == bytes(8), "buffers count from 0 again"
            with pytest.raises(OfframpError, match="refused"):
                client.call("standard", "bm_learning_ack_buffer", list_id=2, buffer_id=0)


def test_a_buffer_waits_for_its_time() -> None:
    learned = LearnList(1, (1,), most=3)
    assert learned.due_ns is None
    learned.add((5,), 100)
    learned.add((6,), 200)
    assert learned.due_ns == 100 + 10**9
    learned.timeout_ns = 0
    assert learned.due_ns is None
    learned.add((7,), 300)
    learned.add((8,), 400)
    assert learned.due_ns == 100
    assert learned.take() == (0, [b"\5", b"\6", b"\7"])
    learned.timeout_ns = 1
    assert learned.take() == (1, [b"\x08"])
    assert learned.due_ns is None


def test_tcp_has_no_octet_in_front_of_messages_and_many_may_listen() -> None:
    with Publisher("tcp://127.0.0.1:0") as publisher, subscriber(publisher) as one, subscriber(publisher) as two:
        publisher.publish(b"hello")
        for client in (one, two):
            assert exactly(client, 13) == struct.pack(">Q", 5) + b"hello"


def test_strangers_are_closed_and_nobody_is_waited_for(publisher: Publisher) -> None:
    with socket.socket(socket.AF_UNIX) as stranger, subscriber(publisher) as slow:
        stranger.settimeout(20)
        stranger.connect(publisher.address.removeprefix("ipc://"))
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert exactly(stranger, 8)
        with contextlib.suppress(ConnectionResetError):
            assert stranger.recv(1) == b""
        assert publisher.refused == 1
        while not publisher.lost:
            publisher.publish(bytes(100_000))
        assert message(slow) == bytes(100_000)
    wait_until(lambda: publisher.subscribers == 0)


@pytest.mark.parametrize("address", ["ipc://", "inproc://x", "tcp://0.0.0.0:1", "/tmp/x", "tcp://127.0.0.1:x"])
def test_golden_errors(address: str) -> None:
    with pytest.raises(OfframpError, match=r"expected|other machines"):
        Publisher(address)


def test_a_refusal_has_bmv2_s_code() -> None:
    with serving(SOURCE) as server:
        methods = dict(server._learning.methods(server.pipeline))
        with pytest.raises(RequestRefused) as refused:
            methods["bm_learning_set_timeout"](list_id=9, timeout_ms=1)
        assert refused.value.code == 1
