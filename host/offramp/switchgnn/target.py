# SPDX-License-Identifier: Apache-2.0
"""Differences between the programs that run SwitchGNN: names, ports, and where a vertex's chunks may lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from offramp.graph.csr import IntArray
from offramp.switchgnn.chunks import WIDTHS
from offramp.switchgnn.plan import Plan
from offramp_base.errors import OfframpError

TOFINO_PIPES = 4
TOFINO_PORTS_PER_PIPE = 128
TOFINO_RECIRCULATION_PORT = 68
"""Recirculation port of the first pipe, the default in ``tna.p4``."""
_NOWHERE = -1
"""The recirculation port of a program in which no packet passes twice."""


@dataclass(frozen=True)
class ProgramTarget:
    """A program from the control plane's view.

    Attributes:
        name: its name for ``offramp train --target``.
        prefix: prefix of the names of tables, counters and registers, but not of actions.
        egress: controls that are in the egress pipeline; all others are in ingress.
        recirculations: name of the counter of passes beyond a packet's first, without the prefix.
        recirculation_port: port for packets that need another pass; no link may be on it.
        page: aggregators of a page; the chunks of a vertex lie in one page. None: they may lie anywhere.
        aggregators: most that the program can address; None for any number.
        occupancy: whether the program counts its open aggregators.
        lanes: numbers of lanes that its aggregators may have.
        extra_harvest: whether a sum of two segments takes one more pass.
        slots_acknowledge: whether an entry of ``slots`` names the group of the vertex's ACK, instead of a table for it.
    """

    name: str
    prefix: str
    recirculations: str
    recirculation_port: int
    page: int | None = None
    aggregators: int | None = None
    occupancy: bool = True
    slots_acknowledge: bool = False
    egress: frozenset[str] = frozenset()
    lanes: tuple[int, ...] = WIDTHS
    extra_harvest: bool = False

    def full(self, name: str) -> str:
        """Full name of a table, counter or register."""
        return self.prefix + self.action(name)

    def action(self, name: str) -> str:
        """Full name of an action."""
        pipeline, control, *_ = name.split(".")
        return name.replace(pipeline, EGRESS, 1) if control in self.egress else name

    @property
    def replicates(self) -> bool:
        """Whether the replication engine's copies replace further passes."""
        return bool(self.egress)

    def bases(self, ranks: IntArray, chunks: int) -> IntArray:
        """Index of the first chunk's aggregator of the vertices of a block."""
        if self.page is None:
            return ranks * chunks
        in_page = self.page // chunks
        bases: IntArray = ranks // in_page * self.page + ranks % in_page * chunks
        return bases

    def slots(self, plans: Sequence[Plan]) -> int:
        """Number of aggregators that the largest block needs, including those that its pages leave unused."""
        last = ((max((int(block.slots.max()) for block in plan.blocks), default=-1), plan.chunks) for plan in plans)
        return max((int(self.bases(np.array(n), chunks)) + chunks for n, chunks in last if n >= 0), default=0)

    def check_lanes(self, plans: Sequence[Plan]) -> None:
        """Refuse numbers of lanes that the program's aggregators do not have.

        Raises:
            OfframpError: plans of different lanes, or of lanes that the target has no program for.
        """
        lanes = sorted({plan.lanes for plan in plans})
        if len(lanes) > 1:
            raise OfframpError(f"plans: for aggregators of {lanes} lanes, expected the same for all")
        if not set(lanes) <= set(self.lanes):
            expected = ", ".join(map(str, self.lanes))
            raise OfframpError(f"plans: for aggregators of {lanes[0]} lanes, {self.name} has {expected}")

    def on_pipe(self, pipe: int) -> ProgramTarget:
        """The same target on another pipe of a Tofino.

        Raises:
            OfframpError: a Tofino has no such pipe, or the target has no pipes.
        """
        if self.page is None and pipe:
            raise OfframpError(f"pipe {pipe}: {self.name} has no pipes")
        if not 0 <= pipe < TOFINO_PIPES:
            raise OfframpError(f"pipe {pipe}: expected 0 to {TOFINO_PIPES - 1}")
        return replace(self, recirculation_port=TOFINO_PORTS_PER_PIPE * pipe + self.recirculation_port)

    def check_ports(self, ports: Sequence[int]) -> None:
        """Refuse ports that the program cannot serve.

        Raises:
            OfframpError: the recirculation port, or a port of another pipe, whose registers are others.
        """
        own = self.recirculation_port
        if own in ports:
            raise OfframpError(f"port {own}: {self.name} recirculates there; expected a port without a link")
        pipe = own // TOFINO_PORTS_PER_PIPE
        strays = [p for p in ports if p // TOFINO_PORTS_PER_PIPE != pipe] if self.page else []
        if strays:
            first = TOFINO_PORTS_PER_PIPE * pipe
            last = first + TOFINO_PORTS_PER_PIPE - 1
            raise OfframpError(f"port {strays[0]}: expected a port of pipe {pipe}, {first} to {last}")


EGRESS = "SwitchGnnEgress"
V1MODEL = ProgramTarget("v1model", "", "Again.recirculations", 500)
REPLICATED = ProgramTarget(
    "v1model-replicated",
    "",
    f"{EGRESS}.again.recirculations",
    V1MODEL.recirculation_port,
    egress=frozenset({"fanout", "aggregate", "telemetry"}),
)
TNA = ProgramTarget(
    "tna",
    "pipe.",
    "SwitchGnnIngress.recirculations",
    TOFINO_RECIRCULATION_PORT,
    page=256,
    aggregators=1 << 16,
    occupancy=False,
    slots_acknowledge=True,
    lanes=WIDTHS[:2],
    extra_harvest=True,
)
FPGA = ProgramTarget("fpga", "", "", _NOWHERE, occupancy=False, lanes=WIDTHS[:1])
"""A card on Ethernet (``fpga/rtl/switchgnn``), with registers and entries in place of names."""
TARGETS = {target.name: target for target in (V1MODEL, REPLICATED, TNA, FPGA)}


class NameCollection(Protocol):
    """A collection of names."""

    def __contains__(self, name: str, /) -> bool:
        """Whether the target has this name."""


def target_of(tables: NameCollection) -> ProgramTarget:
    """The target whose program has these tables; P4Info for p4c's standard externs omits the pipe's name."""
    verdict = "SwitchGnnIngress.forward.verdict"
    if TNA.full(verdict) in tables:
        return TNA
    if verdict in tables:
        return replace(TNA, prefix="")
    return REPLICATED if "SwitchGnnIngress.replicate.groups" in tables else V1MODEL
