# SPDX-License-Identifier: Apache-2.0
"""LEO's rings, both ways: a requester that writes what it likes into a responder's, a responder into a requester's."""

from __future__ import annotations

import random
import struct
import threading
from contextlib import ExitStack
from typing import Any

import numpy as np

from leo_hostile import HEAD, ROWS, STRIDE, TAIL, Forged, answers, connected, hello, info, responder, ring_info, word
from leo_lab import batch, program
from offramp.device import Status
from offramp.leo.native.dataflow import Trip
from offramp.leo.runtime.requester import Requester, RequesterSettings
from offramp.leo.runtime.responder import Responder
from offramp_base.errors import OfframpError

NAME = "LEO's rings"
_STACK = ExitStack()
_MADE: list[Responder] = []
_FLOWS = [[(Trip("echo"), Trip("echo", previous=True, length=0)), (Trip("echo", remote="acc"),)]]


def prepare() -> None:
    """A responder, for all cases."""
    _MADE.append(_STACK.enter_context(responder()))


def run(rng: random.Random) -> None:
    """One peer of one kind."""
    (_hostile_requester if rng.random() < 0.6 else _hostile_responder)(rng)


def _damage(rng: random.Random, words: np.ndarray[Any, Any]) -> None:
    """Write into a ring's memory."""
    if rng.random() < 0.2:
        seed = rng.randrange(1 << 32)
        words[16:] = np.random.default_rng(seed).integers(-(2**63), 2**63 - 1, len(words) - 16)
    for _ in range(rng.randrange(6)):
        words[rng.choice([HEAD, TAIL, 16, 21, rng.randrange(len(words))])] = word(rng)


def _hostile_requester(rng: random.Random) -> None:
    peer = _MADE[0]
    good, bad = connected(peer, hello(owner=9)), connected(peer, hello(owner=7))
    try:
        for _ in range(rng.randrange(1, 12)):
            content = rng.randbytes(rng.choice([0, 8, 12, 16, 64, 65, 256, 512]))
            if rng.random() < 0.5 and len(content) >= 8:
                content = struct.pack("<q", word(rng)) + content[8:]
            length = len(content) if rng.random() < 0.9 else word(rng)
            number = rng.randrange(ROWS) if rng.random() < 0.9 else word(rng)
            bad.put(length, content, (number, word(rng), word(rng), info(rng)))
        if rng.random() < 0.5:
            _damage(rng, rng.choice([bad.requests, bad.answers]))
        with _Flipping(rng, bad) if rng.random() < 0.1 else ExitStack():
            for _ in range(4):
                peer.step()
        good.put(8, b"12345678", (3, 0, 0, ring_info(0)))
        for _ in range(3):
            peer.step()
        if answers(good) != [(3, Status.OK, b"12345678")]:
            raise AssertionError("the other requester was not served")
    finally:
        for connection in list(peer._connections):
            peer._drop(connection)
        for dispatcher in peer.service.dispatchers.values():
            dispatcher.reset()
            dispatcher.poll()


class _Flipping:
    """A thread that rewrites words of a ring while it is read."""

    def __init__(self, rng: random.Random, link: Forged) -> None:
        places = [rng.randrange(16, 80) for _ in range(8)]
        values = [word(rng) for _ in range(8)]
        self._stop = threading.Event()

        def flip() -> None:
            while not self._stop.is_set():
                for place, value in zip(places, values, strict=True):
                    before = link.requests[place]
                    link.requests[place] = value
                    link.requests[place] = before

        self._thread = threading.Thread(target=flip)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def _hostile_responder(rng: random.Random) -> None:
    links: list[Forged] = []

    def opener(address: str, transport: str, greeting: dict[str, Any]) -> tuple[Forged, dict[str, Any]]:
        del address, transport
        links.append(Forged(greeting["ring_bytes"], None))
        return links[-1], {"pid": word(rng)}

    settings = RequesterSettings(rows=ROWS, stride=STRIDE, lost_s=0.0, timeout_s=60.0)
    requester = Requester(program(_FLOWS), ["nowhere"], settings=settings, opener=opener)
    try:
        count = rng.randrange(1, ROWS + 1)
        requester.admit(batch([b"12345678"] * count), np.arange(count))
        requester.step()
        numbers = [int(n) for n in requester.table[requester.table[21] :].reshape(-1)[3 : 24 * ROWS : 24]]
        ended = 0
        for _ in range(rng.randrange(1, 20)):
            content = rng.randbytes(rng.choice([0, 3, 4, 12, 260, 261, 300]))
            length = len(content) if rng.random() < 0.9 else word(rng)
            number = rng.choice(numbers) if rng.random() < 0.8 else word(rng)
            said = info(rng) if rng.random() < 0.5 else (rng.randrange(8) << 40 | rng.randrange(3) << 24)
            links[0].put(length, content, (number, word(rng), word(rng), said))
        if rng.random() < 0.3:
            _damage(rng, rng.choice([links[0].requests, links[0].answers]))
        for _ in range(4):
            requester.step()
            done = requester.collect()
            ended += done.count
            for i in range(done.count):
                Status(int(done.statuses[i]))
                if len(done.answer(i)) > STRIDE or done.jct_ns[i] < 0 or not 0 <= done.users[i] < count:
                    raise AssertionError(f"request {done.users[i]}: {done.lengths[i]} bytes, {done.jct_ns[i]} ns")
        if ended > count:
            raise AssertionError(f"{ended} of {count} requests have ended")
    except OfframpError:
        pass
    finally:
        requester.close()
