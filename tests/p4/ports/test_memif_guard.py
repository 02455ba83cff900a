# SPDX-License-Identifier: Apache-2.0
"""Messages of a memif client before the driver hears them: every lie is one line, and the next client is welcome.

The driver is a socket of the test's. Blind to descriptors in shared memory, which nobody checks before the driver.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from offramp_base.errors import OfframpError
from offramp_p4.ports.dpdk import memif
from offramp_p4.ports.dpdk.devices import parse_device
from offramp_p4.ports.dpdk.memif import ACK, ADD_REGION, ADD_RING, CONNECT, DISCONNECT, HELLO, INIT, SIZE, MemifGuard
from siege import assert_undisturbed, besiege

pytestmark = pytest.mark.p4

SECRET = "hush"


def message(kind: int, layout: str = "", *values: int | bytes) -> bytes:
    return (struct.pack("<H", kind) + struct.pack(f"<{layout}", *values)).ljust(SIZE, b"\0")


GREETING = message(INIT, "HIB24s", 0x0200, 3, 0, SECRET.encode())


class Scene:
    """A guard, the driver behind it, and a client."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(memif, "_PAUSE_S", -1.0)
        self.driver = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.driver.bind(f"{folder}/inner")
        self.driver.listen(1)
        self.driver.settimeout(5)
        self.free = True
        self.path = f"{folder}/outer"
        self.guard = MemifGuard(self.path, f"{folder}/inner", 3, SECRET, lambda: self.free)

    def client(self) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sock.settimeout(5)
        sock.connect(self.path)
        self.guard.turn()
        assert sock.recv(SIZE)[:2] == message(HELLO)[:2]
        return sock

    def greeted(self) -> tuple[socket.socket, socket.socket]:
        """A client, and what the driver has of it."""
        client = self.client()
        client.send(GREETING)
        self.guard.turn()
        behind, _ = self.driver.accept()
        behind.settimeout(5)
        assert behind.recv(SIZE) == GREETING
        behind.send(message(HELLO))  # of the driver: the guard has greeted already
        self.guard.turn()
        return client, behind


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    guarded = Scene(tmp_path, monkeypatch)
    yield guarded
    guarded.guard.close()
    guarded.driver.close()
    assert not Path(guarded.path).exists()


def memory(size: int, *, sealed: bool = True) -> int:
    region = os.memfd_create("region", os.MFD_ALLOW_SEALING)
    os.ftruncate(region, size)
    if sealed:
        fcntl.fcntl(region, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    return region


def test_messages_and_descriptors_pass_both_ways(scene: Scene) -> None:
    client, behind = scene.greeted()
    region = memory(1 << 16)
    said = [
        (message(ADD_REGION, "HQ", 0, 1 << 16), [region]),
        (message(ADD_RING, "HHHIBH", 1, 0, 0, 4096, 10, 0), [region]),
        (message(CONNECT), []),
    ]
    for words, descriptors in said:
        socket.send_fds(client, [words], descriptors)
        scene.guard.turn()
        heard, got, _, _ = socket.recv_fds(behind, SIZE, 4)
        assert (heard, len(got)) == (words, len(descriptors))
        assert all(os.fstat(each).st_size == 1 << 16 for each in got)
        behind.send(message(ACK))
        scene.guard.turn()
        assert client.recv(SIZE) == message(ACK)
    behind.close()
    scene.guard.turn()
    assert client.recv(SIZE) == b""
    assert scene.guard.strangers == 0


@pytest.mark.parametrize(
    "words",
    [b"", b"\0", b"\xff" * 4096, message(CONNECT), message(INIT, "HIB24s", 0x0200, 4, 0, SECRET.encode()),
     message(INIT, "HIB24s", 0x0200, 3, 1, SECRET.encode()), message(INIT, "HIB24s", 0x0100, 3, 0, SECRET.encode()),
     message(INIT, "HIB24s", 0x0200, 3, 0, b"hush!")],
)  # fmt: skip
def test_who_does_not_greet_never_reaches_the_driver(scene: Scene, words: bytes) -> None:
    client = scene.client()
    if words:
        client.send(words)
    else:
        client.close()
    scene.guard.turn()
    if words:
        assert client.recv(SIZE) == b""
        assert scene.guard.strangers == 1
    scene.driver.setblocking(False)
    with pytest.raises(BlockingIOError):
        scene.driver.accept()
    scene.driver.settimeout(5)
    scene.greeted()


@pytest.mark.parametrize(
    ("words", "size"),
    [
        (message(ADD_REGION, "HQ", 1, 4096), 4096),
        (message(ADD_REGION, "HQ", 0, 4097), 4096),
        (message(ADD_REGION, "HQ", 0, 0), 4096),
        (message(ADD_REGION, "HQ", 0, 1 << 63), 4096),
        (message(ADD_REGION, "HQ", 0, 4096), -4096),
        (message(ADD_REGION, "HQ", 0, 4096), 0),
        (message(ADD_RING, "HHHIBH", 1, 0, 0, 0, 4, 0), 4096),
        (message(ADD_RING, "HHHIBH", 1, 999, 0, 0, 4, 0), 4096),
        (message(ADD_RING, "HHHIBH", 1, 0, 0, 0, 200, 0), 4096),
        (message(DISCONNECT), 4096),
        (GREETING, 0),
        (message(77), 0),
    ],
)
def test_lies_about_memory_are_cut_off(scene: Scene, words: bytes, size: int) -> None:
    client, behind = scene.greeted()
    descriptors = [memory(abs(size), sealed=size > 0)] if size else []
    socket.send_fds(client, [words], descriptors)
    scene.guard.turn()
    assert client.recv(SIZE) == b""
    assert behind.recv(SIZE) == b""
    assert scene.guard.strangers == 1
    scene.greeted()


def test_a_silent_client_makes_room_and_a_busy_driver_is_left_alone(scene: Scene) -> None:
    silent = scene.client()
    scene.guard.tick(1e12)
    assert silent.recv(SIZE) == b""
    scene.free = False
    client = scene.client()
    client.send(GREETING)
    scene.guard.turn()
    assert client.recv(SIZE) == b""


def one_message(scene: Scene, client: socket.socket, behind: socket.socket) -> None:
    client.send(message(CONNECT))
    scene.guard.turn()
    assert behind.recv(SIZE) == message(CONNECT)
    behind.send(message(ACK))
    scene.guard.turn()
    assert client.recv(SIZE) == message(ACK)


def test_a_client_is_served_while_strangers_greet(scene: Scene) -> None:
    client, behind = scene.greeted()
    besiege(f"seqpacket:{scene.path}", lambda _: one_message(scene, client, behind), 400, 0, 1)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_thousand_strangers_do_not_slow_a_client(scene: Scene) -> None:
    client, behind = scene.greeted()
    assert_undisturbed(f"seqpacket:{scene.path}", lambda _: one_message(scene, client, behind))


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("dpdk:eth0", "expected a device such as"),
        ("dpdk:", "expected a device such as"),
        ("memif:", "expected memif:PATH"),
        ("memif:/tmp/m,sise=1", "expected memif:PATH"),
        ("memif:/tmp/m,id=x", "expected memif:PATH"),
        ("memif:/tmp/m,id=1,id=2", "expected memif:PATH"),
        ("memif:/tmp/m,bsize=256", "expected a bsize of at least 2048"),
        ("memif:/tmp/m,bsize=x", "expected a bsize of at least 2048"),
        (f"memif:/tmp/m,secret={'x' * 25}", "at most 24 bytes"),
    ],
)
def test_links_that_are_none(link: str, problem: str) -> None:
    with pytest.raises(OfframpError, match=problem):
        parse_device(link, 0)
