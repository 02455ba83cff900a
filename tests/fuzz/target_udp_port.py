# SPDX-License-Identifier: Apache-2.0
"""UDP ports: datagrams of strangers redirect nothing, and no answer is longer than its question."""

from __future__ import annotations

import contextlib
import random
import socket

from frames import arrived
from fuzzing import mutate
from offramp_base.listening import Token
from offramp_base.transport import open_io
from offramp_base.transport.udp import resolve
from offramp_base.transport.udp_guard import Local, Proved
from offramp_base.transport.udp_join import ASK, JOINING, LABELS, PROOF, say
from offramp_base.wire.batch import PacketBatch
from offramp_p4.ports.udp import UdpPort

NAME = "datagrams to UDP ports"
_TOKEN = Token(b"of this job, and of no other")
_HERE, _THERE = b"here" * 4, b"away" * 4


def run(rng: random.Random) -> None:
    """Some datagrams to a port that has a host, or to the guard of one that asks for a token."""
    if rng.random() < 0.5:
        _port(rng)
    else:
        _guards(rng)


def _datagram(rng: random.Random) -> bytes:
    whole = rng.choice((JOINING, say(ASK, rng.randbytes(32)), say(PROOF, rng.randbytes(96)), b"", rng.randbytes(60)))
    return mutate.raw(rng, whole) if whole and rng.random() < 0.7 else whole


def _port(rng: random.Random) -> None:
    port = UdpPort("127.0.0.1:0")
    host = open_io(port.name)
    with contextlib.closing(port), contextlib.closing(host), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        sent = []
        for number in range(rng.randrange(1, 6)):
            for _ in range(rng.randrange(4)):
                sent.append(_datagram(rng))
                other.sendto(sent[-1], resolve(port.name.removeprefix("udp:"))[1])
            frame = bytes([number]) * rng.randrange(14, 200)
            host.send(PacketBatch.of([(0, frame)]))
            came = []
            while len(batch := arrived(port)):
                came += batch.frames()
            assert came == [frame]
            port.send(PacketBatch.of([(0, frame)]))
            assert list(host.receive(5).frames()) == [frame]
        assert port.stats.strangers == len(sent)
        other.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                assert len(other.recv(2000)) <= max(map(len, sent))


def _guards(rng: random.Random) -> None:
    guard, peer = Proved(_TOKEN), rng.choice((None, _THERE))
    cookie = guard.judge(_HERE, say(ASK, bytes(32)), peer).reply[5:]
    proof = say(PROOF, bytes(32), cookie, _TOKEN.proof(LABELS[0], bytes(32), cookie))
    datagram = mutate.raw(rng, proof) if rng.random() < 0.5 else _datagram(rng)
    sender = rng.choice((_HERE, _THERE))
    verdict = guard.judge(sender, datagram, peer)
    assert len(verdict.reply) <= len(datagram)
    assert verdict.meets is (sender == _HERE and datagram == proof)
    assert verdict.frame is (sender == peer and not verdict.reply and not datagram.startswith(b"OFu1")) or verdict.frame
    local = Local(lambda _: False).judge(sender, datagram, None)
    assert not local.meets
    assert len(local.reply) <= len(datagram)
