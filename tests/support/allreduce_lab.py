# SPDX-License-Identifier: Apache-2.0
"""Ranks around switches without sockets: one switch, or leaves and a spine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from offramp.allreduce import entries
from offramp.allreduce.compiled import CompiledAllReduceEndpoint
from offramp.allreduce.endpoint import AllReduceEndpoint
from offramp.allreduce.rank_endpoint import RankEndpoint
from offramp.p4src import p4_source
from offramp.switchgnn.leaf_spine import LeafSpine
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import PlainSwitch, ir, make_switch
from offramp_p4.frontend import load
from offramp_sim.allreduce import direct
from offramp_sim.allreduce.lockstep import AllReduceLockstep
from switchgnn_channel import UnrulyChannel

TARGETS = ("v1model-python", "v1model-native", "tna-python", "tna-native")
JOB = 0x5EED
PAGES = 4


@cache
def program(name: str, segments: int = 1) -> ir.Program:
    """A program with four pages of slots."""
    sizes = {"PAGES": str(PAGES), "SEGMENTS": str(segments), "SOURCE_ENTRIES": "256"}
    return load(p4_source(f"allreduce/{name}.p4"), defines=sizes)


def make(target: str, segments: int = 1) -> PlainSwitch:
    """A switch that runs the program, without entries."""
    name, engine = target.split("-")
    return make_switch(program(name, segments), engine)


class Star:
    """Ranks on ports 1, 2, … of one switch."""

    def __init__(self, switch: PlainSwitch, ranks: int, job: int = JOB, pages: Sequence[int] = (1,)) -> None:
        self.switch, self.ranks, self.job, self.pages = switch, ranks, job, pages
        self.ports = list(range(1, ranks + 1))
        self.restart()

    def restart(self) -> None:
        """The switch loses everything and gets the job's entries back."""
        self.switch.reset()
        direct.load(self.switch, entries.star(self.ports), self.job, self.pages)

    def process(self, batch: PacketBatch) -> PacketBatch:
        """Frames that leave."""
        return self.switch.process(batch)


class Tree:
    """Ranks under leaves that a spine joins; the port of rank *r* is *r*."""

    def __init__(self, make_one: Callable[[], PlainSwitch], network: LeafSpine, job: int = JOB) -> None:
        self.network, self.ports = network, list(range(network.workers))
        self.leaves = [make_one() for _ in range(network.leaves)]
        self.spine = make_one()
        for number, switch in enumerate(self.leaves):
            direct.load(switch, entries.leaf(network, number), job, [number % PAGES])
        direct.load(self.spine, entries.spine(network), job, [3])

    def process(self, batch: PacketBatch) -> PacketBatch:
        """Frames that leave to ranks, until nothing moves between the switches."""
        moving: list[tuple[int, int, bytes]] = []  # leaf or -1 for the spine, port, frame
        for rank, frame in batch:
            moving.append((self.network.racks[rank], self.network.host_port(rank), frame))
        arrived = []
        while moving:
            where, port, frame = moving.pop(0)
            switch = self.spine if where < 0 else self.leaves[where]
            for out, sent in switch.process(PacketBatch.of([(port, frame)])):
                if where < 0:
                    leaf = out - self.network.downlink(0)
                    moving.append((leaf, self.network.uplink(leaf, 0), sent))
                elif out == self.network.uplink(where, 0):
                    moving.append((-1, self.network.downlink(where), sent))
                else:
                    arrived.append((self.network.members(where)[out - 1], sent))
        return PacketBatch.of(arrived)


ENGINES: tuple[type[RankEndpoint], ...] = (AllReduceEndpoint, CompiledAllReduceEndpoint)
"""The model, and the agent's endpoint in machine code: each an oracle for the other."""


def endpoints(
    ranks: int, engines: Sequence[type[RankEndpoint]] = ENGINES, turn: int = 0, **settings: Any
) -> list[RankEndpoint]:
    """Ranks of a job that take turns in their engines, beginning with the one whose turn it is."""
    chosen = (engines[(turn + rank) % len(engines)] for rank in range(ranks))
    return [engine(rank, ranks, JOB, **settings) for rank, engine in enumerate(chosen)]  # type: ignore[call-arg]


def lockstep(
    net: Star | Tree,
    seed: int,
    trouble: float = 0.0,
    segments: int = 1,
    *,
    engines: Sequence[type[RankEndpoint]] = ENGINES,
    pages: int = 1,
    first: int = 0,
    **more: Any,
) -> AllReduceLockstep:
    """Ranks of a network whose links lose, double and delay frames with probability ``trouble`` each."""
    ports = net.ports
    ranks = endpoints(len(ports), engines, seed, segments=segments, pages=pages, retry_s=20, first=first)
    up, down = (UnrulyChannel(seed * 2 + side, trouble, trouble, trouble) for side in range(2))
    return AllReduceLockstep(ranks, ports, more.pop("process", net.process), up=up, down=down, patience=8000, **more)


def equal(got: np.ndarray, expected: np.ndarray) -> bool:
    """Whether arrays are equal to the bit, NaNs being alike."""
    return bool(np.array_equal(got, expected, equal_nan="float" in got.dtype.name))
