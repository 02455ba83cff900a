# SPDX-License-Identifier: Apache-2.0
"""Networks that lose nothing: priority flow control (IEEE 802.1Qbb) holds senders back, under any congestion control.

The compiled engine computes a packet's departure when it joins a queue, which a pause would change. This one goes from
event to event in Python, some hundred times slower: for questions about pauses, on small networks. The senders are the
same code (:mod:`offramp_sim.packets.congestion`); their answers meet no other packets.
"""

from __future__ import annotations

import heapq
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from offramp.fabric import Fabric
from offramp_base.errors import OfframpError
from offramp_sim.packets import layout as at
from offramp_sim.packets.congestion import note_sent, open_window, process_answer
from offramp_sim.packets.control import Control, Dcqcn, Hpcc, check, load_control
from offramp_sim.packets.flows import FlowSchedule
from offramp_sim.packets.ports import measured
from offramp_sim.packets.routed import packet_topology
from offramp_sim.packets.simulate import Framing, controlled
from offramp_sim.packets.topology import Floats, Topology, Words

PAUSE_BYTES: Final = 84
"""Link bytes of a pause frame."""
ANSWER_BYTES: Final = 84
_TIME: Final = (1 << at.USE_SHIFT) - 1
_PS_PER_BYTE: Final = 8e12


@dataclass(frozen=True, slots=True)
class Pauses:
    """When a switch pauses the sender of a link, by the bytes that it holds of what arrived there.

    Attributes:
        stop_bytes: XOFF, beyond which it pauses.
        go_bytes: XON, at or below which it lets the sender go on.
    """

    stop_bytes: int = 100_000
    go_bytes: int = 80_000

    def __post_init__(self) -> None:
        if not 0 <= self.go_bytes <= self.stop_bytes or not self.stop_bytes:
            raise OfframpError(f"pauses: {self.go_bytes} to {self.stop_bytes} bytes: expected go at most stop, above 0")

    def most_bytes(self, byte_ps: float, delay_ps: float, packet: int) -> int:
        """What a switch holds of a link at most: until a pause works, the link carries a round trip and two packets."""
        return self.stop_bytes + 2 * packet + PAUSE_BYTES + math.ceil(2 * delay_ps / byte_ps)


@dataclass(frozen=True, eq=False)
class LosslessRun:
    """Result of a run; times in picoseconds, bytes of link time.

    Attributes:
        finish_ps: ``(f,)`` when each flow arrived.
        link_bytes: ``(links,)`` that each link of the fabric carried.
        held_bytes: ``(links,)`` most bytes that a switch held of what arrived by each link.
        pauses: ``(links,)`` how often the sender of each link was paused.
        paused_ps: ``(links,)`` for how long.
        delay_ps: ``(f,)`` mean one-way time of a flow's packets.
        peak_port_bytes: longest queue at a port of a switch.
        packets, marked, cuts: packets on any link, packets marked, rates cut.
        wall_s: time that the simulation took.
    """

    finish_ps: npt.NDArray[np.int64]
    link_bytes: npt.NDArray[np.int64]
    held_bytes: npt.NDArray[np.int64]
    pauses: npt.NDArray[np.int64]
    paused_ps: npt.NDArray[np.int64]
    delay_ps: npt.NDArray[np.float64]
    peak_port_bytes: int
    packets: int
    marked: int
    cuts: int
    wall_s: float

    @property
    def seconds(self) -> float:
        """Seconds until the last flow has arrived."""
        return float(self.finish_ps.max(initial=0)) / 1e12


class _LosslessPacket(NamedTuple):
    flow: int
    came: int  # link by which it arrived where it is
    payload: int
    size: int
    note: int  # when it was sent, and beyond that the use of its busiest link (HPCC)
    marked: bool


@dataclass(slots=True)
class _PausedLink:
    """A link and the port that sends on it."""

    byte_ps: float
    delay_ps: int
    from_host: bool
    queue: deque[_LosslessPacket] = field(default_factory=deque)
    queued: int = 0
    busy: bool = False
    wakes: int = -1  # when its host looks next for a flow whose time has come
    paused: bool = False
    paused_since: int = 0
    asked: bool = False  # the switch at its end has sent the last pause, not yet its end
    held: int = 0


def run_lossless(
    fabric: Fabric,
    flows: FlowSchedule,
    pauses: Pauses | None = None,
    control: Control | None = None,
    *,
    payload: int = 1024,
    header: int = 82,
    mark_bytes: int | None = None,
    seed: int = 0,
) -> LosslessRun:
    """Run flows between NICs of a fabric whose switches pause.

    Args:
        fabric: hosts, switches and links; its routing chooses a path for each flow or, at each switch, packet.
        flows: flows, whose hosts are the fabric's NICs.
        pauses: thresholds of the switches.
        control: None: hosts send at line rate.
        payload: most bytes of a flow in a packet.
        header: link bytes beyond them.
        mark_bytes: queued bytes from which packets are marked; None: the control's own thresholds.
        seed: seed of marks and paths by chance.

    Raises:
        OfframpError: hosts that do not exist, links that fail during the run, or switches that pause each other for
            ever.
    """
    if fabric.changes_ns:
        raise OfframpError("pauses: links that fail or are mended during the run: expected failures from the start on")
    if len(flows) and max(flows.source.max(), flows.sink.max()) >= len(fabric.nics):
        raise OfframpError(f"flows: expected hosts from 0 to {len(fabric.nics) - 1}")
    if control is not None:
        check(control)
    return _LosslessSimulation(
        fabric.at(0.0), flows, pauses or Pauses(), control, payload, header, mark_bytes, seed
    ).run()


class _LosslessSimulation:
    def __init__(
        self,
        fabric: Fabric,
        flows: FlowSchedule,
        pauses: Pauses,
        control: Control | None,
        payload: int,
        header: int,
        mark_bytes: int | None,
        seed: int,
    ) -> None:
        self._fabric, self._flows, self._pauses, self._control = fabric, flows, pauses, control
        self._payload, self._header = payload, header
        self._random = np.random.default_rng(seed)
        up = set(fabric.nics.up.tolist())
        byte = _PS_PER_BYTE / fabric.rate_bps
        delay = np.rint(fabric.delay_ns * 1000).astype(np.int64)
        self._links = [_PausedLink(float(byte[k]), int(delay[k]), k in up) for k in range(len(byte))]
        self._paths = _paths(fabric, flows) if fabric.cluster.routing not in ("spray", "adaptive") else None
        self._first: list[int] = fabric.nics.up[flows.source].tolist()
        self._last: list[int] = fabric.nics.down[flows.sink].tolist()
        topology = packet_topology(fabric)
        if control is not None:
            topology = controlled(topology, control, Framing(payload, header))
        self._marks = _marks(control, topology, mark_bytes)
        self._to_send = flows.size.tolist()
        self._to_arrive = flows.size.tolist()
        self._of_host: dict[int, deque[int]] = {}  # by first link: flows that have something to send, in turn
        self._heap: list[tuple[int, int, Callable[[Any], None], Any]] = []
        self._order = 0
        self._now = 0
        self._finish = np.full(len(flows), -1)
        self._numbers = {name: np.zeros(len(byte), np.int64) for name in ("bytes", "held", "pauses", "paused")}
        self._delay, self._arrived = np.zeros(len(flows)), np.zeros(len(flows), np.int64)
        self._next_notice = [0] * len(flows)
        self._answer_ps = _answer_times(fabric, flows, delay + ANSWER_BYTES * byte)
        self._peak = self._packets = self._marked = 0
        self._senders = _senders(control, topology, flows, payload, header)

    def run(self) -> LosslessRun:
        begun = time.perf_counter()
        for flow, start in enumerate(self._flows.start_ps.tolist()):
            self._at(start, self._start, flow)
        while self._heap:
            self._now, _, happens, subject = heapq.heappop(self._heap)
            happens(subject)
        stuck = np.flatnonzero(self._finish < 0)
        if len(stuck):
            raise OfframpError(f"pauses: {len(stuck)} flows wait for ever: switches pause each other in a circle")
        return LosslessRun(
            self._finish,
            self._numbers["bytes"],
            self._numbers["held"],
            self._numbers["pauses"],
            self._numbers["paused"],
            self._delay / np.maximum(self._arrived, 1),
            self._peak,
            self._packets,
            self._marked,
            int(self._senders.cuts),
            time.perf_counter() - begun,
        )

    def _at(self, when: float, happens: Callable[[Any], None], subject: object) -> None:
        self._order += 1
        heapq.heappush(self._heap, (math.ceil(when), self._order, happens, subject))

    # --- hosts ---------------------------------------------------------------------------------------------

    def _start(self, flow: int) -> None:
        first = self._first[flow]
        self._of_host.setdefault(first, deque()).append(flow)
        self._serve(first)

    def _next_of_host(self, number: int) -> _LosslessPacket | None:
        """The packet that a host sends next: flows whose time has come, and whose windows are open, take turns."""
        turns = self._of_host.get(number)
        if not turns:
            return None
        soonest = None
        for _ in range(len(turns)):
            flow = turns.popleft()
            sender = self._senders.senders[flow] if self._control is not None else None
            if sender is not None and not open_window(self._senders, sender):
                turns.append(flow)
                continue
            due = 0 if sender is None else sender.next_send
            if due <= self._now:
                return self._take(flow, turns)
            turns.append(flow)
            soonest = due if soonest is None else min(soonest, due)
        link = self._links[number]
        if soonest is not None and not self._now < link.wakes <= soonest:
            link.wakes = soonest
            self._at(soonest, self._serve, number)
        return None

    def _take(self, flow: int, turns: deque[int]) -> _LosslessPacket:
        payload = min(self._payload, self._to_send[flow])
        self._to_send[flow] -= payload
        if self._to_send[flow]:
            turns.append(flow)
        if self._control is not None:
            self._senders.now = self._now
            note_sent(self._senders, flow, payload)
        note = self._measured(self._first[flow], 0, payload + self._header, self._now)
        return _LosslessPacket(flow, at.NOTHING, payload, payload + self._header, note, False)

    def _measured(self, number: int, queued: int, size: int, note: int) -> int:
        """What is noted in a packet, with the use of a port if it is the highest on its way (HPCC)."""
        if not isinstance(self._control, Hpcc):
            return note
        byte_ps = self._links[number].byte_ps
        self._senders.now = self._now
        noted: int = measured(self._senders, number, round(queued * byte_ps), round(size * byte_ps), note)
        return noted

    def _receive(self, packet: _LosslessPacket) -> None:
        flow, sent = packet.flow, packet.note & _TIME
        self._delay[flow] += self._now - sent
        self._arrived[flow] += 1
        self._to_arrive[flow] -= packet.payload
        if not self._to_arrive[flow]:
            self._finish[flow] = self._now
        answered, use = packet.payload, packet.note >> at.USE_SHIFT
        if self._control is None:
            return
        if isinstance(self._control, Dcqcn):
            if not packet.marked or self._now < self._next_notice[flow]:
                return
            self._next_notice[flow] = self._now + self._control.notice_ps
            answered = 0
        answer = (flow | answered << at.HALF, use << (at.USE_SHIFT + 1) | sent << 1 | packet.marked)
        self._at(self._now + self._answer_ps[flow], self._answered, answer)

    def _answered(self, answer: tuple[int, int]) -> None:
        self._senders.now = self._now
        process_answer(self._senders, *answer)
        self._serve(self._first[answer[0] & at.LOW])

    # --- links ---------------------------------------------------------------------------------------------

    def _serve(self, number: int) -> None:
        """Send the next packet of a port that is neither busy nor paused."""
        link = self._links[number]
        if link.busy or link.paused:
            return
        if link.from_host:
            packet = self._next_of_host(number)
            if packet is None:
                return
        elif link.queue:
            packet = link.queue[0]
        else:
            return
        link.busy = True
        self._at(self._now + packet.size * link.byte_ps, self._sent, (number, packet))

    def _sent(self, what: tuple[int, _LosslessPacket]) -> None:
        number, packet = what
        link = self._links[number]
        link.busy = False
        self._packets += 1
        self._numbers["bytes"][number] += packet.size
        if not link.from_host:
            link.queue.popleft()
            link.queued -= packet.size
            self._release(packet.came, packet.size)
        self._at(self._now + link.delay_ps, self._arrive, (number, packet))
        self._serve(number)

    def _arrive(self, what: tuple[int, _LosslessPacket]) -> None:
        number, packet = what
        if number == self._last[packet.flow]:
            self._receive(packet)
            return
        following = self._following(number, packet.flow)
        link, out = self._links[number], self._links[following]
        link.held += packet.size
        self._numbers["held"][number] = max(int(self._numbers["held"][number]), link.held)
        if link.held > self._pauses.stop_bytes and not link.asked:
            link.asked = True
            self._at(self._now + link.delay_ps + PAUSE_BYTES * link.byte_ps, self._pause, (number, True))
        marked = packet.marked or self._marks_at(out.queued)
        self._marked += marked and not packet.marked
        note = self._measured(following, out.queued, packet.size, packet.note)
        out.queue.append(packet._replace(came=number, note=note, marked=marked))
        out.queued += packet.size
        self._peak = max(self._peak, out.queued)
        self._serve(following)

    def _following(self, number: int, flow: int) -> int:
        """The link on which a switch sends what came by another: the flow's only one, any, or the shortest queue."""
        if self._paths is not None:
            return self._paths[flow][number]
        fabric = self._fabric
        at_switch, home = (int(fabric.ends[link, k]) for link, k in ((number, 1), (self._last[flow], 0)))
        if at_switch == home:
            return self._last[flow]
        first, count, ways = fabric.paths.ways
        cell = (at_switch - fabric.hosts) * (len(fabric.nodes) - fabric.hosts) + home - fabric.hosts
        choices = np.roll(ways[first[cell] : first[cell] + count[cell]], -int(self._random.integers(count[cell])))
        if fabric.cluster.routing == "adaptive":
            return int(min(choices.tolist(), key=lambda link: self._links[link].queued))
        return int(choices[0])

    def _release(self, number: int, size: int) -> None:
        """A packet that arrived by a link has left the switch."""
        link = self._links[number]
        link.held -= size
        if link.asked and link.held <= self._pauses.go_bytes:
            link.asked = False
            self._at(self._now + link.delay_ps + PAUSE_BYTES * link.byte_ps, self._pause, (number, False))

    def _pause(self, what: tuple[int, bool]) -> None:
        number, paused = what
        link = self._links[number]
        link.paused = paused
        if paused:
            link.paused_since = self._now
            self._numbers["pauses"][number] += 1
            return
        self._numbers["paused"][number] += self._now - link.paused_since
        self._serve(number)

    def _marks_at(self, queued: int) -> bool:
        least, most, probability = self._marks
        if queued < least:
            return False
        if queued >= most:
            return True
        return bool(self._random.random() * (most - least) < probability * (queued - least))


def _paths(fabric: Fabric, flows: FlowSchedule) -> list[dict[int, int]]:
    """For each flow, the link that follows each of its path."""
    following: list[dict[int, int]] = [{} for _ in range(len(flows))]
    last = fabric.nics.up[flows.source].tolist()
    for flow, link, _ in _walk(fabric, flows)[1:]:  # hop by hop
        for k, number in zip(flow.tolist(), link.tolist(), strict=True):
            following[k][last[k]] = number
            last[k] = number
    return following


def _walk(fabric: Fabric, flows: FlowSchedule) -> list[tuple[Words, Words, Floats]]:
    paths, places = fabric.paths, fabric.paths.places[flows.sink]
    choice = paths.hashes(flows.source, flows.sink, 0) if fabric.cluster.routing == "ecmp" else places
    return paths.walk(flows.source, flows.sink, choice)


def _answer_times(fabric: Fabric, flows: FlowSchedule, link_ps: Floats) -> list[float]:
    """``(f,)`` picoseconds of an answer, which takes as long on each link as given; of several paths the mean."""
    times = np.zeros(len(flows))
    for flow, link, share in _walk(fabric, flows):
        times += np.bincount(flow, share * link_ps[link], len(flows))
    return [float(each) for each in times]


def _marks(control: Control | None, topology: Topology, mark_bytes: int | None) -> tuple[float, float, float]:
    """Queued bytes from which packets are marked, from which all are, and the probability just below."""
    links = topology.links
    if control is not None and mark_bytes is not None:
        return mark_bytes, mark_bytes, 1.0
    if control is None or links.mark_bytes is None:
        return math.inf, math.inf, 0.0
    return links.mark_bytes, links.mark_all_bytes or links.mark_bytes, links.mark_probability


class _SenderMemory:
    """What :func:`offramp_sim.packets.control.load_control` fills: one context, whose arrays are kept as they are."""

    def __init__(self, **words: object) -> None:
        self.contexts = [SimpleNamespace(**words)]
        self.arrays: dict[object, npt.NDArray[Any]] = {}

    def give(self, field: object, array: npt.NDArray[Any]) -> None:
        self.arrays[field] = array


def _senders(control: Control | None, topology: Topology, flows: FlowSchedule, payload: int, header: int) -> Any:
    """The words of a partition that senders read and write."""
    memory = _SenderMemory(now=0, cuts=0, payload=payload, header=header, short_bytes=ANSWER_BYTES)
    (context,) = memory.contexts
    if control is None:
        return context
    load_control(cast("Any", memory), topology, flows, control, header, payload)
    kinds = at.SenderCongestion.__annotations__
    rows = memory.arrays[at.PartitionState.senders]
    context.senders = [
        SimpleNamespace(
            **{name: float(real[k]) if kind == "float" else int(row[k]) for k, (name, kind) in enumerate(kinds.items())}
        )
        for row, real in zip(rows, rows.view(np.float64), strict=True)
    ]
    assert topology.ways is not None
    links = len(topology.ways.fabric.ends)
    context.use, context.use_time = [0.0] * links, [0] * links
    return context
