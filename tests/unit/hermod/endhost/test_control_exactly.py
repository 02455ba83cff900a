# SPDX-License-Identifier: Apache-2.0
"""Control connections by themselves: limits, locks, peers that do not listen, and what everybody hears in the end."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from locks import waits_for
from offramp.hermod.endhost import control as module
from offramp.hermod.endhost.control import ControlChannel, Gathering, words
from offramp.hermod.endhost.wire import HEADER_BYTES, FrameHeader, FrameType
from offramp_base.errors import OfframpError


def test_the_limits_hold_for_more_than_a_training_has() -> None:
    assert (module._MOST_EARLY, module._MOST_HELD) == (65_536, 67_108_864)


def test_rounds_ahead_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_EARLY", 3)
    gathering = Gathering(2)
    for message in range(3):
        gathering.add(1, message, b"")
    with pytest.raises(OfframpError, match="rank 1 is more than 3 rounds ahead"):
        gathering.add(1, 3, b"")


def test_bytes_of_rounds_that_are_over_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_HELD", 10)
    gathering = Gathering(1)
    for message in range(5):
        future = gathering.wait_for(message)
        gathering.add(0, message, bytes(10))
        assert future.result(0) == [bytes(10)]


def test_a_rank_speaks_once_in_a_round() -> None:
    gathering = Gathering(3)
    gathering.add(1, 9, b"a")
    with pytest.raises(OfframpError, match="rank 1 spoke twice in round 0x9"):
        gathering.add(1, 9, b"a")
    assert gathering.missing(9) == [0, 2]
    assert gathering.missing(8) == [0, 1, 2]


def test_a_failure_ends_all_rounds_and_those_to_come() -> None:
    gathering = Gathering(2)
    futures = [gathering.wait_for(message) for message in range(3)]
    gathering.fail(OfframpError("rank 1 is gone"))
    for future in futures:
        assert str(future.exception(0)) == "rank 1 is gone"
    with pytest.raises(OfframpError, match=r"^rank 1 is gone$"):
        gathering.wait_for(7)
    gathering.add(1, 0, b"late")  # nobody waits
    assert gathering.missing(0) == [0, 1]


@pytest.mark.parametrize("change", ["wait_for", "add", "missing", "fail"])
def test_rounds_wait_for_the_lock(change: str) -> None:
    gathering = Gathering(2)
    changes = {
        "wait_for": lambda: gathering.wait_for(1),
        "add": lambda: gathering.add(1, 1, b""),
        "missing": lambda: gathering.missing(1),
        "fail": lambda: gathering.fail(OfframpError("gone")),
    }
    assert waits_for(gathering._lock, changes[change])


def test_frames_of_several_threads_stay_whole() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        control = ControlChannel(ours, 30)
        assert waits_for(control._lock, lambda: control.send(*words(5, b"abc")))
        theirs.settimeout(10)
        assert theirs.recv(1000) == FrameHeader(FrameType.WORDS, 3, 5).pack() + b"abc"
        sizes = [1000, 70_000, 3, 200_000]
        threads = [
            threading.Thread(target=control.send, args=words(number, bytes([number]) * size))
            for number, size in enumerate(sizes)
        ]
        for thread in threads:
            thread.start()
        came = b""
        while len(came) < sum(sizes) + HEADER_BYTES * len(sizes):
            came += theirs.recv(1 << 20)
        for thread in threads:
            thread.join(10)
        payloads = {}
        while came:
            header = FrameHeader.unpack(came[:HEADER_BYTES], 1)
            payload, came = came[HEADER_BYTES : HEADER_BYTES + header.length], came[HEADER_BYTES + header.length :]
            payloads[header.message] = payload
        assert payloads == {number: bytes([number]) * size for number, size in enumerate(sizes)}


@pytest.mark.parametrize("timeout_s", [0.3, 1.2])
def test_a_peer_that_does_not_listen_is_no_reason_to_wait_forever(timeout_s: float) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ended: list[float] = []

        def send() -> None:
            begun = time.monotonic()
            with pytest.raises(OSError, match=r".*"):
                ControlChannel(ours, timeout_s).send(*words(1, bytes(1 << 24)))
            ended.append(time.monotonic() - begun)

        thread = threading.Thread(target=send, daemon=True)
        thread.start()
        thread.join(30)
        assert ended
        assert ended[0] >= 0.9 * timeout_s
