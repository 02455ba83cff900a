# SPDX-License-Identifier: Apache-2.0
"""LEO's responder: greetings of strangers, cut, damaged or impossible, on its own socket."""

from __future__ import annotations

import copy
import json
import random
import socket
from contextlib import ExitStack
from typing import Any

from leo_hostile import DEVICES, FUNCTIONS, ROWS, STRIDE, responder, word
from offramp.leo.native.ring import ring_size
from offramp.leo.runtime.responder import Responder
from offramp.leo.transports.greeting import VERSION
from offramp_base.listening.handshake import ANSWER_BYTES, CHALLENGE, VERDICT_BYTES

NAME = "LEO's greeting"
GOOD: dict[str, Any] = {
    "leo": VERSION,
    "transport": "tcp",
    "owner": 5,
    "rows": ROWS,
    "stride": STRIDE,
    "ring_bytes": ring_size(2 * STRIDE, ROWS),
    "functions": list(FUNCTIONS),
    "devices": list(DEVICES),
    "pairs": [["cpu", "echo"]],
}
_ODD = ("", "x", "\0", "unix:/etc/passwd", "shm", "ucx", "é" * 99, None, True, False, 0.5, -0.0, 1e308, [], {}, [[]])
_NOBODY_ELSE = 2**40 + 11
"""An owner that no other greeting names: the journal of one that does may have other rows."""
_STACK = ExitStack()
_MADE: list[Responder] = []


def prepare() -> None:
    """A responder, for all cases."""
    _MADE.append(_STACK.enter_context(responder()))


def _value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(5)
    if kind == 0:
        return word(rng)
    if kind == 1 and depth < 4:
        return [_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 2 and depth < 4:
        return {rng.choice([*GOOD, "worker", "rkey", "base"]): _value(rng, depth + 1) for _ in range(rng.randrange(4))}
    return rng.choice(_ODD)


def _greeting(rng: random.Random) -> bytes:
    content = copy.deepcopy(GOOD)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 5])):
        field = rng.choice([*GOOD, "ucx", "segment", "new"])
        if rng.random() < 0.2:
            content.pop(field, None)
        else:
            content[field] = _value(rng)
    raw = bytearray(json.dumps(content).encode())
    damage = rng.random()
    if damage < 0.1:
        raw = raw[: rng.randrange(len(raw))]
    elif damage < 0.2:
        for _ in range(rng.randrange(1, 8)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
    elif damage < 0.25:
        raw = bytearray(rng.choice([b"[", b"{", b'{"a":', b'"']) * rng.randrange(60_000))
    length = len(raw) if rng.random() < 0.9 else rng.choice([0, 1, len(raw) + 1, 1 << 16, (1 << 32) - 1])
    return length.to_bytes(4, "big") + bytes(raw)


def run(rng: random.Random) -> None:
    """One stranger; the responder has to live, and to serve who greets it properly afterwards."""
    peer = _MADE[0]
    path = peer.listener.address.removeprefix("unix:")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
        sock.setblocking(False)
        _step(peer)
        said = bytes(ANSWER_BYTES) + _greeting(rng)
        cuts = sorted(rng.randrange(len(said)) for _ in range(rng.randrange(3)))
        for start, end in zip([0, *cuts], [*cuts, len(said)], strict=True):
            try:
                sock.send(said[start:end])
            except OSError:
                break
            _step(peer)
    _step(peer)
    if peer.connected > 1 or peer.listener.pending > 1:
        raise AssertionError(f"{peer.connected} connections, {peer.listener.pending} strangers are left")
    if rng.random() < 0.05:
        _proper(peer, path)


def _step(server: Responder) -> None:
    server._listened_at = 0.0
    server.step()


def _proper(server: Responder, path: str) -> None:
    """A proper greeting is answered."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(5)
        sock.connect(path)
        raw = json.dumps({**GOOD, "owner": _NOBODY_ELSE}).encode()
        sock.sendall(bytes(ANSWER_BYTES) + len(raw).to_bytes(4, "big") + raw)
        for _ in range(8):
            _step(server)
        answer = sock.recv(1 << 16)[CHALLENGE.size + VERDICT_BYTES + 4 :]
        if b'"pid"' not in answer:
            raise AssertionError(f"a proper greeting was answered {answer[:200]!r}")
    _step(server)
