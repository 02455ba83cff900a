# SPDX-License-Identifier: Apache-2.0
"""Hermod's end host: greetings of strangers, and frames of a rank that has the token but means no good."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
from concurrent.futures import wait
from contextlib import ExitStack
from itertools import pairwise

from endpoints import endpoints, view
from fuzzing import mutate
from offramp.hermod.endhost import Endpoint, Priorities
from offramp.hermod.endhost.wire import PROTOCOL, FrameHeader, FrameType
from offramp_base.errors import OfframpError
from offramp_base.listening import Token, connect

NAME = "Hermod's greetings and frames"
LIMIT_S = 20.0
_TOKEN = Token(b"of this job, and of no other")
_JOB = Priorities.of_job(8, 32)
_SIZE = 4000
_lasting: list[Endpoint] = []
_stack = ExitStack()


def run(rng: random.Random) -> None:
    """A stranger, a greeting or frames."""
    if not _lasting:
        _lasting.extend(_stack.enter_context(endpoints(2, _JOB, token=_TOKEN)))
    kind = rng.randrange(4)
    if kind == 0:
        _stranger(rng, _lasting[0])
    elif kind == 1:
        _greeting(rng, _lasting[0])
    else:
        _frames(rng, control=kind == 3)
    a, b = _lasting
    came, number = view(100), rng.getrandbits(32)
    futures = [a.exchange(number, {}, {1: came}), b.exchange(number, {0: view(100, 1)}, {})]
    for future in futures:
        future.result(10)
    assert came == view(100, 1)


def _stranger(rng: random.Random, endpoint: Endpoint) -> None:
    with socket.create_connection(endpoint._peers[0], 10) as sock, contextlib.suppress(OSError):
        for _ in range(rng.randrange(3)):
            sock.sendall(rng.randbytes(rng.choice((0, 1, 31, 64, 65, 4096))))


def _greeting(rng: random.Random, endpoint: Endpoint) -> None:
    greeting = mutate.tree(rng, {"session": endpoint._session, "size": 2, "rank": 1, "dscp": 63})
    host, port = endpoint._peers[0]
    try:
        connect(f"{host}:{port}", _TOKEN, PROTOCOL, greeting, timeout_s=10)[0].close()
    except (OSError, ValueError, TypeError, AttributeError, OfframpError):
        return  # refused, or no JSON to begin with
    endpoint._greeted.discard((1, greeting["dscp"]))


def _frames(rng: random.Random, *, control: bool) -> None:
    payload, into = view(_SIZE, rng.getrandbits(16)), view(_SIZE)
    with endpoints(2, _JOB, token=_TOKEN) as (a, b):
        future = a.exchange(1, {}, {1: into})
        if control:
            raw = b"".join(
                FrameHeader(
                    rng.choice(list(FrameType)), rng.choice((0, 0, 4, rng.getrandbits(32))), rng.getrandbits(64)
                ).pack()
                + rng.randbytes(rng.choice((0, 4, 4096)))
                for _ in range(rng.randrange(1, 4))
            )
            b._controls[0]._sock.sendall(mutate.raw(rng, raw))
        else:
            cuts = sorted({0, _SIZE, *(rng.randrange(_SIZE) for _ in range(3))})
            headers = [FrameHeader(FrameType.DATA, stop - start, 1, start, _SIZE) for start, stop in pairwise(cuts)]
            pieces = [(bytearray(h.pack()), bytes(payload[h.offset : h.offset + h.length])) for h in headers]
            for _ in range(rng.choice((0, 1, 1, 2))):
                change = rng.randrange(3)
                if change == 0:
                    header = rng.choice(pieces)[0]
                    struct.pack_into(
                        "!Q", header, rng.choice((8, 16, 24)), rng.choice((0, 1, _SIZE, rng.getrandbits(64)))
                    )
                elif change == 1:
                    rng.shuffle(pieces)
                else:
                    pieces.insert(rng.randrange(len(pieces)), rng.choice(pieces))
            host, port = a._peers[0]
            greeting = {"session": a._session, "size": 2, "rank": 1, "dscp": 7}
            sock, _ = connect(f"{host}:{port}", _TOKEN, PROTOCOL, greeting, timeout_s=10)
            with sock, contextlib.suppress(OSError):
                sock.sendall(b"".join(bytes(header) + content for header, content in pieces))
        wait([future], 0.05)
        if future.done():
            error = future.exception()
            assert error is None or (isinstance(error, OfframpError) and "\n" not in str(error))
            assert error is not None or into == payload  # only all bytes, each where it belongs, end a transfer
        assert a._receiver._thread.is_alive()
