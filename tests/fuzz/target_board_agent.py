# SPDX-License-Identifier: Apache-2.0
"""The FPGA board's agent: greetings without the token, and requests of a host that has it."""

from __future__ import annotations

import random
import socket
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[2] / "fpga" / "pynq"))

from offramp_pynq import agent as board
from offramp_pynq import listening

from fuzzing import mutate

NAME = "the FPGA board's agent"
_SECRET = b"of this board, and of no other"


class _Memory(np.ndarray):
    def flush(self) -> None:
        pass

    invalidate = flush


class _Copies:
    def allocate_memories(self, size: int) -> list[Any]:
        if size > 1 << 20:
            raise MemoryError
        return [np.zeros(size, np.uint8).view(_Memory) for _ in range(3)]

    def copy(self, descriptor: bytes) -> Any:
        return SimpleNamespace(status=1)

    def abort(self) -> None:
        pass


class _Sums:
    def total(self, kind: int, vectors: list[bytes]) -> Any:
        assert len({len(vector) for vector in vectors}) == 1
        return SimpleNamespace(status=0, payload=vectors[0])

    def abort(self) -> None:
        pass


def run(rng: random.Random) -> None:
    """A stranger, or requests."""
    if rng.random() < 0.3:
        _stranger(rng)
    else:
        _requests(rng)


def _stranger(rng: random.Random) -> None:
    stranger = listening.Stranger(_SECRET)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.sendall(rng.randbytes(rng.choice((1, 63, 64, 64, 64, 200))))
        try:
            while stranger.read(ours) and not stranger.refused:
                stranger.step(busy=False)
        except BlockingIOError:
            pass
        assert not stranger.proved
        assert not stranger.done


def _requests(rng: random.Random) -> None:
    engines = SimpleNamespace(kvs=None, ebs=None, sums=_Sums(), copies=_Copies(), quantiser=None)
    agent = board.Agent(engines, lambda: 0)
    agent.answer([(board.TABLE, 0, board.SIZES.pack(board.MEMORIES, 64, 0, 0))])
    messages = []
    for number in range(rng.randrange(1, 5)):
        place = board.PLACE.pack(board.MEMORIES, rng.choice((0, 63, 191, 192, rng.getrandbits(64))))
        body = rng.choice(
            (
                board.SIZES.pack(rng.randrange(4), *(rng.choice((0, 1, 64, rng.getrandbits(32))) for _ in range(3))),
                place + rng.randbytes(rng.randrange(80)),
                place + board.LENGTH.pack(rng.choice((0, 1, 192, rng.getrandbits(32)))),
                board.HEADER.pack(rng.randrange(5), rng.randrange(10), 0, rng.randrange(9)) + rng.randbytes(64),
                rng.randbytes(32),
            )
        )
        messages.append(board.REQUEST.pack(rng.randrange(12), number, len(body)) + body)
    raw = b"".join(messages)
    if rng.random() < 0.5:
        raw = mutate.raw(rng, raw)
    ours, theirs = socket.socketpair()
    answers: list[bytes] = []

    def hear() -> None:
        while part := theirs.recv(1 << 16):
            answers.append(part)

    with ours, theirs:
        hearing = threading.Thread(target=hear)
        theirs.sendall(raw)
        theirs.shutdown(socket.SHUT_WR)
        hearing.start()
        try:
            board.serve(agent, ours)
        except listening.Refused as refusal:
            said_lines = str(refusal).count("\n")
        else:
            said_lines = 0
        assert not said_lines
        ours.close()
        hearing.join()
    said = b"".join(answers)
    while said:
        _, status, _, _, length = board.ANSWER.unpack_from(said)
        assert status <= board.OUT_OF_BOUNDS
        assert not length or status == board.OK
        said = said[board.ANSWER.size + length :]
