# SPDX-License-Identifier: Apache-2.0
"""A port and its host in shared memory: frames in order, a ring that is full, and sides that write what cannot be.

Blind to processors that reorder more than this one does.
"""

from __future__ import annotations

import os
import select
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from frames import arrived
from offramp_base.errors import OfframpError
from offramp_base.native.ring import ENTRY_BYTES, SKIP, MessageHeader
from offramp_base.sealed_memory import SharedMemory
from offramp_base.transport import open_io
from offramp_base.transport.framing import MAX_FRAME
from offramp_base.transport.shm import bell
from offramp_base.transport.shm.io import ShmIO
from offramp_base.transport.shm.rings import MEMORY_BYTES, RING_BYTES, Spoilt
from offramp_base.wire.batch import PacketBatch
from offramp_p4.ports.shm import ShmPort
from offramp_p4.ports.unix import UnixPort

pytest.importorskip("llvmlite")
FIRST = 16
"""The word of a ring where entries begin."""


@pytest.fixture
def port(tmp_path: Path) -> Iterator[ShmPort]:
    opened = ShmPort(tmp_path / "port")
    yield opened
    opened.close()


def wait(port: ShmPort, timeout_s: float = 5.0) -> bool:
    poll = select.poll()
    for descriptor, events in port.interest():
        poll.register(descriptor, events)
    return bool(poll.poll(1000 * timeout_s))


def connected(port: ShmPort) -> ShmIO:
    """A host of the port, which has accepted it."""
    accepted: list[ShmIO] = []
    caller = threading.Thread(target=lambda: accepted.append(ShmIO(port.name.removeprefix("shm:"))))
    caller.start()
    assert wait(port)
    assert len(port.receive()) == 0
    caller.join(5)
    return accepted[0]


@pytest.fixture
def host(port: ShmPort) -> Iterator[ShmIO]:
    opened = connected(port)
    yield opened
    opened.close()


def frames_of(rng: np.random.Generator, count: int, most: int = 1500) -> list[bytes]:
    return [rng.bytes(int(n)) for n in rng.integers(1, most, count)]


def taken(port: ShmPort, count: int) -> list[bytes]:
    got: list[bytes] = []
    while len(got) < count and wait(port):
        got += arrived(port).frames()
    return got


def heard(host: ShmIO, count: int) -> list[bytes]:
    got: list[bytes] = []
    while len(got) < count and len(batch := host.receive(5.0)):
        got += batch.frames()
    return got


@pytest.mark.parametrize("seed", range(4))
def test_frames_come_through_both_ways_in_order(port: ShmPort, host: ShmIO, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(12):  # several times round the rings
        sent = frames_of(rng, int(rng.integers(1, 500)))
        if rng.random() < 0.5:
            sent = [frame[:1].ljust(578, b"x") for frame in sent]
        batch = PacketBatch.of((0, frame) for frame in sent)
        host.send(batch)
        assert taken(port, len(sent)) == sent
        rows = rng.permutation(len(sent))
        port.send(batch, rows)
        port.rest()
        assert heard(host, len(sent)) == [sent[row] for row in rows]
    assert port.stats.lost == host.stats.lost == 0
    assert port.stats.sent == host.stats.received == host.stats.sent == port.stats.received


def test_messages_of_several_lengths_come_in_order_in_one_turn(port: ShmPort, host: ShmIO) -> None:
    """Frames of one length are taken many messages at a time, others one by one."""
    rng = np.random.default_rng(5)
    sent: list[bytes] = []
    for width in (60, 60, 578, None, 578, 578, 60, None, None, 9):
        frames = frames_of(rng, 40) if width is None else [rng.bytes(width) for _ in range(40)]
        host.send(PacketBatch.of((0, frame) for frame in frames))
        sent += frames
    assert taken(port, len(sent)) == sent


def test_a_length_beyond_its_row_is_refused(host: ShmIO) -> None:
    batch = PacketBatch(np.zeros(2, np.int32), np.array([4, 5], np.int32), np.zeros((2, 4), np.uint8))
    with pytest.raises(OfframpError, match="frame of 5 bytes"):
        host.send(batch)


def test_the_longest_frame_is_carried_and_a_longer_one_is_refused(port: ShmPort, host: ShmIO) -> None:
    host.send(PacketBatch.of([(0, b"y" * MAX_FRAME)]))
    assert taken(port, 1) == [b"y" * MAX_FRAME]
    with pytest.raises(OfframpError, match="a link carries at most"):
        host.send(PacketBatch.of([(0, b"y" * (MAX_FRAME + 1))]))


def test_a_port_keeps_what_its_host_has_no_room_for(port: ShmPort, host: ShmIO) -> None:
    frames = [bytes([n % 251]) * 1000 for n in range(3000)]
    port.send(PacketBatch.of((0, frame) for frame in frames))
    assert port.busy
    port.rest()
    got: list[bytes] = []
    while len(got) < len(frames) and len(batch := host.receive(5.0)):
        got += batch.frames()
        if wait(port, 0.0):  # the host has rung: there is room
            port.receive()
        port.rest()
    assert got == frames
    assert not port.busy
    assert port.stats.dropped == 0


def test_a_host_waits_for_a_port_that_takes_nothing(port: ShmPort, host: ShmIO) -> None:
    frames = [bytes([n % 251]) * 1000 for n in range(3000)]
    sender = threading.Thread(target=host.send, args=(PacketBatch.of((0, frame) for frame in frames),))
    sender.start()
    assert taken(port, len(frames)) == frames
    sender.join(5)
    assert not sender.is_alive()


def test_either_side_hears_that_the_other_has_gone(port: ShmPort, tmp_path: Path) -> None:
    first = connected(port)
    first.send(PacketBatch.of([(0, b"last")]))
    first.close()
    assert taken(port, 1) == [b"last"]
    second = connected(port)
    second.send(PacketBatch.of([(0, b"hello")]))
    assert taken(port, 1) == [b"hello"]
    port.close()
    with pytest.raises(OfframpError, match=r"shm:.*the switch closed the link$"):
        second.receive(5.0)
    second.close()
    assert not (tmp_path / "port").exists()


def put(words: np.ndarray, length: int, count: int, head: int, content: bytes = b"") -> None:
    """An entry at the beginning of a ring, published up to ``head``."""
    words[FIRST + MessageHeader.length], words[FIRST + MessageHeader.id] = length, count
    at = 8 * FIRST + ENTRY_BYTES
    words.view(np.uint8)[at : at + len(content)] = np.frombuffer(content, np.uint8)
    words[0] = head


LIES = {
    "a head beyond the ring": lambda w: put(w, 8, 1, RING_BYTES + 8),
    "a head that is behind": lambda w: put(w, 8, 1, -8),
    "an entry of negative length": lambda w: put(w, -2, 0, 64),
    "an entry that is too long": lambda w: put(w, 1 << 40, 1, 64),
    "nothing but an end": lambda w: put(w, SKIP, 0, RING_BYTES),
    "more frames than bytes": lambda w: put(w, 8, 5, 48),
    "less than no frames": lambda w: put(w, 8, -1, 48),
    "very many frames": lambda w: put(w, 8, 1 << 62, 48),
    "lengths that are too much": lambda w: put(w, 8, 1, 48, b"abcdef\xff\xff"),
    "lengths that are too few": lambda w: put(w, 8, 1, 48, b"abcdef\0\1"),
    "lengths at an odd place": lambda w: put(w, 7, 1, 48, b"abcde\0\5"),
    "a long frame among thousands of empty ones": lambda w: put(
        w, 26384, 5000, 26384 + ENTRY_BYTES, bytes(MAX_FRAME) + MAX_FRAME.to_bytes(2, "big") + bytes(9998)
    ),
    "a frame that is too long": lambda w: put(
        w, MAX_FRAME + 4, 1, MAX_FRAME + 8 + ENTRY_BYTES, bytes(MAX_FRAME + 2) + (MAX_FRAME + 2).to_bytes(2, "big")
    ),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=list(LIES))
def test_a_host_that_lies_is_cut_off_with_one_line(port: ShmPort, caplog: pytest.LogCaptureFixture, lie) -> None:
    host = connected(port)
    lie(host.memory.words)
    os.write(host.fileno(), b"!")
    assert wait(port)
    assert len(port.receive()) == 0
    (said,) = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert said.startswith(f"{port.name}: its host is cut off: ")
    assert "\n" not in said
    assert port.stats.malformed == 1
    with pytest.raises(OfframpError, match="the switch closed the link"):
        host.receive(5.0)
    host.close()
    another = connected(port)
    another.send(PacketBatch.of([(0, b"frame")]))
    assert taken(port, 1) == [b"frame"]
    another.close()


@pytest.mark.parametrize("lie", LIES.values(), ids=list(LIES))
def test_a_switch_that_lies_is_an_error_of_one_line(host: ShmIO, lie) -> None:
    lie(host.memory.words[FIRST + RING_BYTES // 8 :])
    with pytest.raises(OfframpError) as failure:
        host.receive(5.0)
    assert str(failure.value).startswith(f"{host.name}: the switch spoilt the link: ")
    assert "\n" not in str(failure.value)


def test_a_ring_full_of_empty_frames_is_no_traffic(port: ShmPort) -> None:
    host = connected(port)
    host.send(PacketBatch.of([(0, b"")] * (RING_BYTES // 16 + 1)))
    with pytest.raises(Spoilt, match=r"^\d+ frames at once: they are shorter than headers$"):
        port._take([], RING_BYTES)  # as it does with what arrives beside its turn
    host.close()


def test_a_tail_that_cannot_be_is_noticed_by_whoever_sends(port: ShmPort, host: ShmIO) -> None:
    host.memory.words[8] = -1 << 40
    with pytest.raises(OfframpError, match="the switch spoilt the link: a position outside the ring"):
        host.send(PacketBatch.of([(0, b"frame")]))
    host.memory.words[FIRST + RING_BYTES // 8 + 8] = 64
    port.send(PacketBatch.of([(0, b"frame")]))
    assert port.stats.malformed == 1


def test_a_port_drops_frames_that_no_link_carries(port: ShmPort, host: ShmIO) -> None:
    port.send(PacketBatch.of([(0, b"one"), (0, b"y" * (MAX_FRAME + 1)), (0, b"two")]))
    port.rest()
    assert heard(host, 2) == [b"one", b"two"]
    assert (port.stats.dropped, port.stats.unfit) == (1, 1)


def test_random_words_never_do_more_than_cut_off(port: ShmPort) -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        host = connected(port)
        words = host.memory.words
        for _ in range(4):
            at = int(rng.choice([0, 1, 8, FIRST, FIRST + 1, FIRST + 5, FIRST + 6]))
            words[at] = int(rng.choice([0, 8, 48, 1 << 20, -1, -8, int(rng.integers(-(1 << 62), 1 << 62))]))
        os.write(host.fileno(), b"!")
        port.send(PacketBatch.of([(0, b"frame")]))
        if wait(port):
            port.receive()
        host.close()
        while wait(port, 0.0):
            port.receive()


def test_ends_that_do_not_go_together(tmp_path: Path) -> None:
    plain = UnixPort(tmp_path / "plain")
    failures: list[str] = []

    def call() -> None:
        try:
            open_io(f"shm:{tmp_path}/plain")
        except OfframpError as error:
            failures.append(str(error))

    caller = threading.Thread(target=call)
    caller.start()
    while not plain.interest() or plain._host is None:
        plain.receive()
    plain.send(PacketBatch.of([(0, b"frame")]))
    caller.join(5)
    assert failures == [f"shm:{tmp_path}/plain: what listens there is no port in shared memory"]
    plain.close()
    with pytest.raises(OfframpError, match="is the switch running"):
        open_io(f"shm:{tmp_path}/none")


def test_memory_of_another_size_is_refused() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    memory = SharedMemory(MEMORY_BYTES // 2)
    bell.offer(theirs, memory)
    with pytest.raises(OfframpError, match=r"shared memory from shm:here: .* expected"):
        bell.accept(ours, "shm:here")
    for each in (ours, theirs, memory):
        each.close()
