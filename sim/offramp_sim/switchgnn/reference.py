# SPDX-License-Identifier: Apache-2.0
"""The switch of SwitchGNN in plain Python (specification section 5): the oracle for the P4 programs.

It shares the wire format with the host library, and only the specification with the P4 programs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from offramp.switchgnn.plan import BlockPlan, Plan
from offramp.switchgnn.telemetry import Disposition, totals
from offramp.switchgnn.wire import LANES, NO_ID, SHORT_FRAME_BYTES, SwitchGnnPacketType, next_round
from offramp_base.wire.batch import PacketBatch
from offramp_sim.switchgnn.frames import Header, classify, kind_of, payload_end, reply

Sum = npt.NDArray[np.int32]
Output = list[tuple[int, bytes]]


DEAD = 0x8000
"""Marks the register of a released aggregator."""


@dataclass
class Aggregator:
    """A partial sum."""

    round: int
    left: int
    lanes: Sum
    ecn: int = 0

    @property
    def open(self) -> bool:
        """Whether it waits for contributions."""
        return 0 < self.left < DEAD


def lanes_of(frame: bytes, header: Header) -> Sum:
    """The payload of a packet that has one."""
    return np.frombuffer(frame[SHORT_FRAME_BYTES : payload_end(header)], ">i4").astype(np.int32)


class ReferenceSwitch:
    """SwitchGNN's data plane; every packet runs to completion before the next.

    Attributes:
        round: the current round.
        outcomes: number of passes by outcome.
        strangers: packets of strangers by ingress port.
        occupancy: open aggregators after each packet.
        open: aggregators with contributions missing.
        peak: most aggregators that were open at once.
    """

    _served = frozenset(
        {SwitchGnnPacketType.DATA, SwitchGnnPacketType.FETCH, SwitchGnnPacketType.RESEND, SwitchGnnPacketType.ACK}
    )

    def __init__(
        self,
        plans: Sequence[Plan],
        ports: Sequence[int],
        *,
        acks: bool = False,
        replicates: bool = False,
        extra_harvest: bool = False,
    ) -> None:
        """Make a switch with a target's peculiarities (:class:`~offramp.switchgnn.target.ProgramTarget`).

        ``replicates``: copies, in the order of their ports, replace further passes; ``extra_harvest``: a sum of more
        than one segment makes one more pass.
        """
        self.round = 0
        self.outcomes: Counter[int] = Counter()
        self.strangers: Counter[int] = Counter()
        self.uploads = 0
        self.recirculations = 0
        self.occupancy: list[int] = []
        self.open = 0
        self.peak = 0
        self._ports = list(ports)
        self._port = 0  # of the packet in hand
        self._acks = acks
        self._extra_harvest = extra_harvest
        self._segments = max((plan.lanes for plan in plans), default=LANES) // LANES
        self._replicates = replicates
        self._owners = {
            int(vertex): int(owner)
            for plan in plans
            for block in plan.blocks
            for vertex, owner in zip(block.vertices, block.owner, strict=True)
        }
        self._blocks = {block.block_id: (block, plan.chunks) for plan in plans for block in plan.blocks}
        self._ranks = {
            (block.block_id, int(vertex)): rank
            for block, _ in self._blocks.values()
            for rank, vertex in enumerate(block.vertices)
        }
        self._seen: dict[int, int] = {}
        self._aggregators: dict[int, Aggregator] = {}
        self._waits_for = [0] * len(self._ports)
        self._arrived = 0

    def counters(self) -> dict[str, int]:
        """Counters by name, as the control plane reads them."""
        return totals(self.outcomes, self.uploads, self.recirculations)

    def process(self, batch: PacketBatch) -> PacketBatch:
        """Process arrivals; returns the packets that leave."""
        return PacketBatch.of(out for port, frame in batch for out in self.process_one(port, frame))

    def process_one(self, port: int, frame: bytes) -> Output:
        """``(port, frame)`` pairs that leave for one frame that arrived at ``port``."""
        header = classify(frame, self._segments)
        if isinstance(header, Disposition):
            out = self._drop(header)
        else:
            self._port = port
            out = self._serve(frame, header) if self._is_bound(frame, header) else self._refuse()
        self.occupancy.append(self.open)
        return out

    # --- who sends -----------------------------------------------------------------------------------------

    def _is_bound(self, frame: bytes, header: Header) -> bool:  # noqa: ARG002 - leaves look at both
        """Whether a worker of the job is behind the port."""
        return self._port in self._ports

    def _is_workers(self, worker: int) -> bool:
        """Whether packets of ``worker`` arrive at this port."""
        return self._port == self._ports[worker]

    def _refuse(self) -> Output:
        self.strangers[self._port] += 1
        return self._drop(Disposition.STRANGER)

    def _serve(self, frame: bytes, header: Header) -> Output:
        kind = kind_of(header)
        if kind == SwitchGnnPacketType.DONE:
            return self._done(frame, header)
        if kind not in self._served:
            return self._drop(Disposition.FOREIGN)
        if header["round"] != self.round:
            return self._drop(Disposition.STALE)
        serve = {
            SwitchGnnPacketType.DATA: self._data,
            SwitchGnnPacketType.FETCH: self._fetch,
            SwitchGnnPacketType.RESEND: self._resend,
            SwitchGnnPacketType.ACK: self._ack,
        }
        return serve[SwitchGnnPacketType(kind)](frame, header)

    # --- data ----------------------------------------------------------------------------------------------

    def _data(self, frame: bytes, header: Header) -> Output:
        place = self._find(header)
        if isinstance(place, Disposition):
            return self._turn_away(place)
        block, chunks, rank = place
        slot = int(block.slots[rank]) * chunks + header["chunk_id"]
        if self._seen.get(slot, 0) == self.round:
            return self._drop(Disposition.DUPLICATE)
        self._seen[slot] = self.round
        self.uploads += 1
        neighbours = block.row(rank).tolist()
        if not neighbours:
            return self._drop(Disposition.UNKNOWN)
        if self._replicates:
            neighbours.sort(key=lambda v: self._ports[block.owner[v]])
        self.recirculations += 0 if self._replicates else len(neighbours) - 1
        return self._multicast(frame, header, block, chunks, neighbours)

    def _find(self, header: Header) -> tuple[BlockPlan, int, int] | Disposition:
        """Block, chunks and rank of the packet's source, or why the packet is dropped."""
        rank = self._ranks.get((header["block_id"], header["src_id"]))
        if rank is None:
            return Disposition.UNKNOWN
        block, chunks = self._blocks[header["block_id"]]
        if not self._known(block, rank):
            return Disposition.UNKNOWN
        if not self._is_workers(int(block.owner[rank])):
            return Disposition.STRANGER
        return (block, chunks, rank) if header["chunk_id"] < chunks else Disposition.MALFORMED

    def _known(self, block: BlockPlan, rank: int) -> bool:  # noqa: ARG002 - a leaf knows some
        """Whether the switch knows a vertex."""
        return True

    def _multicast(self, frame: bytes, header: Header, block: BlockPlan, chunks: int, neighbours: list[int]) -> Output:
        out: Output = []
        lanes = lanes_of(frame, header)
        for v in neighbours:
            need = int(block.need[v])
            done = self._contribute(int(block.slots[v]) * chunks + header["chunk_id"], need, lanes, header["ecn"])
            if done is not None:
                total, ecn = done
                result = {**header, "src_id": NO_ID, "dst_id": int(block.vertices[v]), "count": need, "ecn": ecn}
                rest = total.astype(">i4").tobytes() + frame[payload_end(header) :]
                out.append((self._ports[block.owner[v]], reply(frame, result, rest)))
        return out

    def _contribute(self, index: int, need: int, lanes: Sum, ecn: int, weight: int = 1) -> tuple[Sum, int] | None:
        """Add a value for ``weight`` contributions to an aggregator; returns the sum and its mark if complete."""
        if need == weight:
            self.outcomes[Disposition.DELIVERED] += 1
            return lanes, ecn
        aggregator = self._aggregators.get(index)
        if aggregator is None or aggregator.round != self.round:
            self.open += aggregator is None or not aggregator.open
            wide = np.zeros(self._segments * LANES, np.int32)
            wide[: len(lanes)] = lanes  # what a packet does not have counts as zeros
            self._aggregators[index] = Aggregator(self.round, need - weight, wide, ecn)
            self.outcomes[Disposition.OPENED] += 1
            self.peak = max(self.peak, self.open)
            return None
        if aggregator.left == DEAD:
            self.outcomes[Disposition.RELEASED] += 1
            return None
        aggregator.left -= weight
        aggregator.ecn |= ecn
        with np.errstate(over="ignore"):
            aggregator.lanes[: len(lanes)] += lanes
        if aggregator.left:
            self.outcomes[Disposition.ADDED] += 1
            return None
        self.outcomes[Disposition.COMPLETED] += 1
        self.open -= 1
        self.outcomes[Disposition.HARVESTED] += self._extra_harvest and len(lanes) > LANES
        return aggregator.lanes[: len(lanes)], aggregator.ecn

    def _turn_away(self, outcome: Disposition) -> Output:
        return self._refuse() if outcome is Disposition.STRANGER else self._drop(outcome)

    def _drop(self, outcome: Disposition) -> Output:
        self.outcomes[outcome] += 1
        return []

    # --- pulling, acknowledging ----------------------------------------------------------------------------

    def _fetch(self, frame: bytes, header: Header) -> Output:
        place = self._find(header)
        if isinstance(place, Disposition):
            return self._turn_away(place)
        if header["dst_id"] not in self._owners:
            return self._drop(Disposition.UNKNOWN)
        block, chunks, rank = place
        index = int(block.slots[rank]) * chunks + header["chunk_id"]
        before = self._aggregators.get(index)
        self.open -= before is not None and before.open
        self._aggregators[index] = Aggregator(self.round, DEAD, np.zeros(0, np.int32))
        return self._forward(frame, header, Disposition.FETCHED)

    def _resend(self, frame: bytes, header: Header) -> Output:
        place = self._find(header)
        if isinstance(place, Disposition):
            return self._turn_away(place)
        if header["dst_id"] not in self._owners:
            return self._drop(Disposition.UNKNOWN)
        return self._forward(frame, header, Disposition.RESENT)

    def _forward(self, frame: bytes, header: Header, outcome: Disposition) -> Output:
        self.outcomes[outcome] += 1
        return [(self._ports[self._owners[header["dst_id"]]], reply(frame, header, frame[SHORT_FRAME_BYTES:]))]

    def _ack(self, frame: bytes, header: Header) -> Output:
        place = self._find(header)
        if isinstance(place, Disposition):
            return self._turn_away(place)
        if not self._acks:
            return self._drop(Disposition.UNKNOWN)
        self.outcomes[Disposition.ACKNOWLEDGED] += 1
        block, _, rank = place
        indptr, sources = block.sources
        owners = sorted({int(block.owner[v]) for v in sources[indptr[rank] : indptr[rank + 1]]})
        return [(self._ports[worker], reply(frame, header, frame[SHORT_FRAME_BYTES:])) for worker in owners]

    # --- barrier -------------------------------------------------------------------------------------------

    def _done(self, frame: bytes, header: Header) -> Output:
        host = header["src_id"]
        if host >= len(self._ports):
            return self._drop(Disposition.UNKNOWN)
        if not self._is_workers(host):
            return self._refuse()
        behind = (self.round - header["round"]) & 0xFFFF
        if behind and not self.round:  # a host is ahead of a switch that lost its registers
            self.outcomes[Disposition.RESUMED] += 1
            return self._begin(header["round"], frame, header)
        if behind >= 0x8000:
            return self._drop(Disposition.STALE)
        if behind:
            self.outcomes[Disposition.GO_REPEATED] += 1
            return [(self._ports[host], self._go(frame, header))]
        after = next_round(self.round)
        if self._waits_for[host] == after:
            return self._drop(Disposition.DONE_REPEATED)
        self._waits_for[host] = after
        self._arrived += 1
        self.outcomes[Disposition.DONE] += 1
        if self._arrived < len(self._ports):
            return []
        return self._begin(after, frame, header)

    def _begin(self, round_: int, frame: bytes, header: Header) -> Output:
        self._arrived = 0
        self.round = round_
        self.recirculations += 1
        self.outcomes[Disposition.GO] += 1
        return [(port, self._go(frame, header)) for port in self._ports]

    def _go(self, frame: bytes, header: Header) -> bytes:
        fields = {
            **header,
            "src_id": NO_ID,
            "dst_id": NO_ID,
            "block_id": (header["block_id"] + 1) & 0xFFFF,
            "count": len(self._ports),
            "round": self.round,
        }
        return reply(frame, fields, frame[SHORT_FRAME_BYTES:])
