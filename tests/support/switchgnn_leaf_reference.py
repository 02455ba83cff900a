# SPDX-License-Identifier: Apache-2.0
"""Leaves and spines of SwitchGNN in plain Python (specification section 9): the oracle for the P4 program."""

from __future__ import annotations

from collections.abc import Sequence

from offramp.switchgnn.leaf_spine import MAX_LEAVES, ROOT, LeafSpine
from offramp.switchgnn.plan import BlockPlan, Plan
from offramp.switchgnn.telemetry import Disposition
from offramp.switchgnn.wire import (
    LEAF_IP,
    LEVEL_LEAF,
    NO_ID,
    SHORT_FRAME_BYTES,
    SwitchGnnPacketType,
    is_newer,
    next_round,
)
from offramp_base.wire.ethernet import ETHERNET, IPV4, ipv4_checksum
from offramp_sim.switchgnn.frames import Header, kind_of, payload_end, reply
from offramp_sim.switchgnn.reference import Output, ReferenceSwitch, lanes_of


class ReferenceLeaf(ReferenceSwitch):
    """A leaf: sums of what its rack contributes, and whole sums of its own vertices."""

    def __init__(self, plans: Sequence[Plan], network: LeafSpine, leaf: int, *, acks: bool = False) -> None:
        super().__init__(plans, network.racks, acks=acks)
        self._network = network
        self._leaf = leaf
        self._members = network.members(leaf)
        self._joined: dict[int, tuple[int, set[int]]] = {}
        self._complete = 0  # the round that all hosts wait for
        self._leaves_wait_for = [0] * network.leaves

    # --- ways ----------------------------------------------------------------------------------------------

    def _channel(self, vertex: int, owner: int) -> int:
        network = self._network
        if network.racks[owner] == self._leaf:
            return network.host_port(owner)
        return network.uplink(self._leaf, int(network.spine_of(vertex)))

    def _is_home(self, block: BlockPlan, rank: int) -> bool:
        return self._network.racks[int(block.owner[rank])] == self._leaf

    def _from_here(self, block: BlockPlan, rank: int) -> int:
        """Number of a vertex's neighbours in this rack."""
        return sum(self._is_home(block, int(source)) for source in block.row(rank))

    def _reply(self, frame: bytes, header: Header, rest: bytes) -> bytes:
        return addressed(reply(frame, header, rest), self._leaf)

    # --- who sends -----------------------------------------------------------------------------------------

    def _from_leaves(self) -> bool:
        """Whether the packet came by an uplink."""
        return self._port in [self._network.uplink(self._leaf, spine) for spine in range(self._network.spines)]

    def _is_bound(self, frame: bytes, header: Header) -> bool:
        if self._from_leaves():
            return sender_of(frame) not in (None, self._leaf) and is_of_leaf(header)
        return self._port in map(self._network.host_port, self._members) and header["level"] == 0

    def _is_workers(self, worker: int) -> bool:
        if self._network.racks[worker] == self._leaf:
            return self._port == self._network.host_port(worker)
        return self._from_leaves()

    # --- packets -------------------------------------------------------------------------------------------

    def _serve(self, frame: bytes, header: Header) -> Output:
        if self._from_leaves() and header["src_id"] == NO_ID and is_newer(header["round"], self.round):
            self.round = header["round"]  # another switch would not send it before its round
        if kind_of(header) == SwitchGnnPacketType.DATA and header["level"] == LEVEL_LEAF:
            return self._join(frame, header)
        return super()._serve(frame, header)

    def _known(self, block: BlockPlan, rank: int) -> bool:
        """A vertex of the rack, or one that is added to another rack's or to which another rack's is added, across."""
        return self._is_home(block, rank) or self._from_here(block, rank) > 0 or self._goes_here(block, rank)

    def _goes_here(self, block: BlockPlan, rank: int) -> bool:
        return any(self._is_home(block, int(v)) for v in block.row(rank))

    def _multicast(self, frame: bytes, header: Header, block: BlockPlan, chunks: int, neighbours: list[int]) -> Output:
        out: Output = []
        for v in neighbours:
            home = self._is_home(block, v)
            need = int(block.need[v]) if home else self._from_here(block, v)
            out += self._add(frame, header, block, chunks, v, need, 1, 0 if home else LEVEL_LEAF)
        return out

    def _join(self, frame: bytes, header: Header) -> Output:
        """A partial sum from another leaf."""
        if header["round"] != self.round:
            return self._drop(Disposition.STALE)
        rank = self._ranks.get((header["block_id"], header["dst_id"]))
        if rank is None:
            return self._drop(Disposition.UNKNOWN)
        block, chunks = self._blocks[header["block_id"]]
        need = int(block.need[rank])
        if not self._is_home(block, rank) or self._from_here(block, rank) == need:
            return self._drop(Disposition.UNKNOWN)
        leaf = sender_of(frame)
        if header["chunk_id"] >= chunks or not 0 < header["count"] <= need or leaf is None:
            return self._drop(Disposition.MALFORMED)
        index = rank * chunks + header["chunk_id"]
        round_, came = self._joined.get(index, (0, set()))
        came = came if round_ == self.round else set()
        self._joined[index] = self.round, came | {leaf}
        if leaf in came:
            return self._drop(Disposition.DUPLICATE)
        return self._add(frame, header, block, chunks, rank, need, header["count"], 0)

    def _add(
        self, frame: bytes, header: Header, block: BlockPlan, chunks: int, v: int, need: int, weight: int, level: int
    ) -> Output:
        lanes = lanes_of(frame, header)
        done = self._contribute(v * chunks + header["chunk_id"], need, lanes, header["ecn"], weight)
        if done is None:
            return []
        total, ecn = done
        vertex = int(block.vertices[v])
        fields = {"src_id": NO_ID, "dst_id": vertex, "count": need, "ecn": ecn, "level": level}
        rest = total.astype(">i4").tobytes() + frame[payload_end(header) :]
        return [(self._channel(vertex, int(block.owner[v])), self._reply(frame, {**header, **fields}, rest))]

    def _forward(self, frame: bytes, header: Header, outcome: Disposition) -> Output:
        self.outcomes[outcome] += 1
        vertex = header["dst_id"]
        return [(self._channel(vertex, self._owners[vertex]), self._reply(frame, header, frame[SHORT_FRAME_BYTES:]))]

    def _ack(self, frame: bytes, header: Header) -> Output:
        place = self._find(header)
        if isinstance(place, Disposition):
            return self._turn_away(place)
        if not self._acks:
            return self._drop(Disposition.UNKNOWN)
        block, _, rank = place
        owners = [int(block.owner[v]) for v in block.row(rank)]
        home = self._is_home(block, rank)
        ports = {self._channel(header["src_id"], o) for o in owners if home or self._network.racks[o] == self._leaf}
        if not ports:
            return self._drop(Disposition.UNKNOWN)
        self.outcomes[Disposition.ACKNOWLEDGED] += 1
        return [(port, self._reply(frame, header, frame[SHORT_FRAME_BYTES:])) for port in sorted(ports)]

    # --- barrier -------------------------------------------------------------------------------------------

    def _done(self, frame: bytes, header: Header) -> Output:
        source, network = header["src_id"], self._network
        if source == NO_ID and self._leaf != ROOT:
            if not self._from_leaves():
                return self._refuse()
            if header["round"] != self.round:
                return self._drop(Disposition.STALE)
            self.outcomes[Disposition.GO] += 1
            return [(network.host_port(w), self._go_as_it_is(frame, header)) for w in self._members]
        child = source - network.workers
        if source not in self._members and not (self._leaf == ROOT and 0 <= child < network.leaves):
            return self._drop(Disposition.UNKNOWN)
        from_host = child < 0
        if not (self._is_workers(source) if from_host else self._from_leaves()):
            return self._refuse()
        behind = (self.round - header["round"]) & 0xFFFF
        if behind >= 0x8000:
            return self._drop(Disposition.STALE)
        if behind:
            self.outcomes[Disposition.GO_REPEATED] += 1
            port = network.host_port(source) if from_host else self._to_leaf(child)
            return [(port, self._go_with(frame, header, from_host))]
        return self._host_done(frame, header) if from_host else self._leaf_done(frame, header, child)

    def _host_done(self, frame: bytes, header: Header) -> Output:
        network, after, host = self._network, next_round(self.round), header["src_id"]
        first = self._waits_for[host] != after
        self._waits_for[host] = after
        self.outcomes[Disposition.DONE if first else Disposition.DONE_REPEATED] += 1
        if any(self._waits_for[w] != after for w in self._members):
            return []
        up = {**header, "src_id": network.leaf_id(self._leaf), "level": LEVEL_LEAF}
        if self._leaf != ROOT:
            port = network.uplink(self._leaf, self._leaf % network.spines)
            return [(port, self._reply(frame, up, frame[SHORT_FRAME_BYTES:]))]
        self.recirculations += 1
        return self._leaf_done(frame, up, ROOT)

    def _leaf_done(self, frame: bytes, header: Header, child: int) -> Output:
        network, after = self._network, next_round(self.round)
        first = self._leaves_wait_for[child] != after
        self._leaves_wait_for[child] = after
        self.outcomes[Disposition.DONE if first else Disposition.DONE_REPEATED] += 1
        if not first or any(waits_for != after for waits_for in self._leaves_wait_for):
            return []
        self.round = after
        self.recirculations += 1
        self.outcomes[Disposition.GO] += 1
        ports = [network.host_port(w) for w in self._members] + [network.uplink(ROOT, 0)]
        return [(port, self._go_with(frame, header, False)) for port in ports]

    def _to_leaf(self, leaf: int) -> int:
        return self._network.uplink(ROOT, leaf % self._network.spines)

    def _go_with(self, frame: bytes, header: Header, to_host: bool) -> bytes:
        fields = {
            **header,
            "src_id": NO_ID,
            "dst_id": NO_ID,
            "block_id": (header["block_id"] + 1) & 0xFFFF,
            "count": len(self._members) if to_host else self._network.leaves,
            "round": self.round,
            "level": 0,
        }
        return self._reply(frame, fields, frame[SHORT_FRAME_BYTES:])

    def _go_as_it_is(self, frame: bytes, header: Header) -> bytes:
        return self._reply(frame, header, frame[SHORT_FRAME_BYTES:])


def sender_of(frame: bytes) -> int | None:
    """The leaf whose address a frame bears, if any."""
    leaf = IPV4.decode(frame[ETHERNET.size :])["src_addr"] - LEAF_IP
    return leaf if 0 <= leaf < MAX_LEAVES else None


def is_of_leaf(header: Header) -> bool:
    """Whether a leaf sends such: partial sums and its own DONE are of its level, what it passes on is not."""
    kind, nobody = kind_of(header), header["src_id"] == NO_ID
    done = header["is_ack"] and header["is_fetch"]
    level = LEVEL_LEAF if kind == SwitchGnnPacketType.DATA or (done and not nobody) else 0
    return header["level"] == level and (kind != SwitchGnnPacketType.DATA or nobody)


def addressed(frame: bytes, leaf: int) -> bytes:
    """The frame with a leaf's own address as its source."""
    ip = IPV4.decode(frame[ETHERNET.size :])
    ip.update(src_addr=LEAF_IP | leaf, header_checksum=0)
    ip["header_checksum"] = ipv4_checksum(IPV4.encode(ip))
    return frame[: ETHERNET.size] + IPV4.encode(ip) + frame[ETHERNET.size + IPV4.size :]


class ReferenceSpine(ReferenceSwitch):
    """A spine: passes on what is between leaves, as it is."""

    def __init__(self, plans: Sequence[Plan], network: LeafSpine, *, acks: bool = False) -> None:
        super().__init__(plans, network.racks, acks=acks)
        self._network = network

    def _is_bound(self, frame: bytes, header: Header) -> bool:
        sender = sender_of(frame)
        return sender is not None and self._port == self._network.downlink(sender) and is_of_leaf(header)

    def _serve(self, frame: bytes, header: Header) -> Output:
        kind = kind_of(header)
        if kind == SwitchGnnPacketType.DONE:
            if not self._may_say(header["src_id"]):
                return self._refuse()
            return self._relay(frame, self._done_ports(header["src_id"]))
        if kind not in self._served:
            return self._drop(Disposition.FOREIGN)
        if kind == SwitchGnnPacketType.ACK:
            return self._relay(frame, self._ack_ports(header), Disposition.ACKNOWLEDGED)
        owner = self._owners.get(header["dst_id"])
        return self._relay(frame, [] if owner is None else [self._network.downlink(self._network.racks[owner])])

    def _done_ports(self, source: int) -> list[int]:
        network = self._network
        if source == NO_ID:
            return [network.downlink(leaf) for leaf in range(network.leaves) if leaf != ROOT]
        return [network.downlink(ROOT)] if 0 <= source - network.workers < network.leaves else []

    def _may_say(self, source: int) -> bool:
        """Whether the port is that of the leaf whose DONE or GO it is, where it is anyone's."""
        leaf = ROOT if source == NO_ID else source - self._network.workers
        return not 0 <= leaf < self._network.leaves or self._port == self._network.downlink(leaf)

    def _ack_ports(self, header: Header) -> list[int]:
        rank = self._ranks.get((header["block_id"], header["src_id"]))
        if rank is None or not self._acks:
            return []
        racks, (block, _) = self._network.racks, self._blocks[header["block_id"]]
        leaves = {racks[int(block.owner[v])] for v in block.row(rank)} - {racks[int(block.owner[rank])]}
        return [self._network.downlink(leaf) for leaf in sorted(leaves)]

    def _relay(self, frame: bytes, ports: list[int], outcome: Disposition = Disposition.RELAYED) -> Output:
        if not ports:
            return self._drop(Disposition.UNKNOWN)
        self.outcomes[outcome] += 1
        return [(port, frame) for port in ports]
