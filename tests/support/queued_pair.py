# SPDX-License-Identifier: Apache-2.0
"""The traffic managers of both engines side by side, and random configurations of them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from offramp_base.wire.batch import PacketBatch
from offramp_p4 import ir, make_switch
from offramp_p4.queued import QueuedSwitch
from offramp_p4.records import Digest
from offramp_p4.tm import PortConfig, QueueConfig, TmConfig

ENGINES = ("python", "native")


class Pair:
    """Two queued switches that get the same; after every step all that can be seen of them is compared."""

    def __init__(self, program: ir.Program, config: TmConfig, **options: Any) -> None:
        switches = [make_switch(program, engine, **options) for engine in ENGINES]
        self.digests: list[list[Digest]] = [[], []]
        self.depths: list[list[tuple[int, ...]]] = [[], []]
        for switch, digests in zip(switches, self.digests, strict=True):
            switch.on_digest = digests.append
        self.nodes = [QueuedSwitch(switch, config) for switch in switches]

    def observe(self) -> None:
        for node, seen in zip(self.nodes, self.depths, strict=True):
            node.tm.observer = lambda *change, seen=seen: seen.append(change)

    def receive(self, now_ps: int, port: int, frame: bytes) -> None:
        for node in self.nodes:
            node.receive(now_ps, port, frame)
        self.check()

    def receive_batch(self, times: list[int], packets: list[tuple[int, bytes]]) -> None:
        for node in self.nodes:
            node.receive_batch(np.array(times, np.int64), PacketBatch.of(packets))
        self.check()

    def advance(self, until_ps: int) -> int:
        want, got = (node.advance(until_ps) for node in self.nodes)
        assert got == want
        self.check()
        return len(want)

    def check(self) -> None:
        python, native = self.nodes
        assert native.next_ps == python.next_ps
        assert native.switch.now_us == python.switch.now_us
        assert native.switch.stats == python.switch.stats
        assert self.digests[1] == self.digests[0]
        assert self.depths[1] == self.depths[0]
        seen = [
            [
                (node.tm.next_ps, node.tm.held_bytes, node.tm.misdirected),
                [(port, number, len(q), q.bytes, q.config, q.stats) for port, number, q in node.tm.queues()],
            ]
            for node in self.nodes
        ]
        assert seen[1] == seen[0]


def random_config(draw: random.Random) -> TmConfig:
    def port() -> PortConfig:
        def limit(most: int) -> int | None:
            return draw.choice([None, draw.randrange(1, most)])

        def queue() -> QueueConfig:
            marks, weight = draw.choice([None, draw.randrange(500)]), draw.choice([None, None, 1, 3])
            share = draw.choice([None, 1, 10]) if weight is None else None
            return QueueConfig(limit(2000), limit(8), marks, weight, share)

        queues = tuple(queue() for _ in range(draw.choice([1, 3, 8])))
        return PortConfig(draw.choice([None, draw.randrange(10**6, 10**9), 10**7]), queues)

    return TmConfig(
        port(),
        {number: port() for number in range(draw.randrange(4))},
        draw.choice([None, 3000]),
        PortConfig(draw.choice([None, 10**7]), (QueueConfig(limit_packets=draw.choice([None, 2])),)),
    )
