# SPDX-License-Identifier: Apache-2.0
"""The whole chain on one machine: a host, its card as RTL, its agent, a P4 switch, another host's agent and memory.

Two agents have veth pairs to an embedded switch, which runs Hermod's program and knows both by their addresses.
Everything is in a network namespace of its own.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final, Self

import numpy as np

from offramp.fabric.forwarding import entries
from offramp.leo import hops
from offramp.leo.applications.application import Application
from offramp.leo.applications.chain import CARD, NIC, application
from offramp.leo.applications.load import LoadResult, counted_loop
from offramp.leo.devices.fpga import FpgaOptions
from offramp.leo.devices.options import parse
from offramp.leo.runtime.process import ResponderProcess
from offramp.leo.runtime.requester import Requester
from offramp.leo.transports.nic import PORT
from offramp.nic.coflows import RankAddress
from offramp.nic.process import AgentProcess
from offramp.p4src import p4_text
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_base.iproute import ip
from offramp_base.p4rt.session import Session
from offramp_p4.bench.namespace import in_namespace
from offramp_p4.embedded import EmbeddedSwitch
from offramp_sim.leo.wire_tap import WireTap
from offramp_sim.rtl.build import missing
from offramp_sim.rtl.card import pynq_python

SWITCH: Final = "switch"
SIDES: Final = ("responder", "requester")
"""The two sides, by rank."""
PLACES: Final = ("requester", CARD, "agent of requester", SWITCH, "agent of responder", "responder", NIC)
"""Places of a request, in order of its path."""
Advance = Callable[[str, int, int], None]


@dataclass(frozen=True)
class ChainRun:
    """Result of a run.

    Attributes:
        load: requests with many in flight.
        hops_ns: hops of sequential requests: median time at each place, and in all, in nanoseconds.
        engine_ns: that the card's RTL worked on one, at 250 MHz.
        trace: trace of the median one among them, for Perfetto or Chrome.
        clocks: how far the responder's clock was ahead, and the uncertainty of that, in nanoseconds.
    """

    load: LoadResult
    hops_ns: dict[str, float] = field(default_factory=dict)
    engine_ns: float = 0.0
    trace: dict[str, Any] = field(default_factory=dict)
    clocks: tuple[float, float] = (0.0, 0.0)


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Set environment variables for processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class AgentChain:
    """Two agents, and a switch between them; a context manager in a namespace of its own.

    Attributes:
        agents: agents of the sides, by rank.
        near, far: interfaces of the agents and of the switch, by rank.
        switch: switch between them.
    """

    def __init__(self, program: Path | None = None) -> None:
        """``program``: of the agents."""
        name = secrets.token_hex(3)
        self.near, self.far = [f"n{name}{rank}" for rank in range(2)], [f"s{name}{rank}" for rank in range(2)]
        self._program, self._stack = program, ExitStack()
        self.agents: list[AgentProcess] = []
        self.switch: EmbeddedSwitch | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            ip("link", "set", "lo", "up")
            for near, far in zip(self.near, self.far, strict=True):
                ip("link", "add", near, "type", "veth", "peer", "name", far)
                stack.callback(ip, "link", "del", near)
                for end in (near, far):
                    ip("link", "set", end, "addrgenmode", "none", "up")
            self.switch = stack.enter_context(EmbeddedSwitch(None, 2, interfaces=self.far))
            with Session(self.switch.address, timeout_s=60.0) as session:
                session.push(b"", p4_text("hermod/v1model.p4").encode())
                known = {int.from_bytes(RankAddress.of_rank(rank).mac, "big"): rank for rank in range(2)}
                session.insert(entries(session, known))
            for near in self.near:
                agent = AgentProcess([near], program=self._program, compression="none")
                self.agents.append(stack.enter_context(agent))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def run_chain(
    requests: int,
    *,
    traced: int = 50,
    keys: int = 1000,
    seed: int = 1,
    card: str = "fpga:",
    program: Path | None = None,
    advance: Advance | None = None,
) -> ChainRun:
    """Send requests through the whole chain and compare every byte; some go one after the other, with times by hop.

    Args:
        requests: number of requests; the application says how many are in flight.
        traced: further requests, one after the other.
        keys: number of objects.
        seed: random seed for objects and requests.
        card: device name that opens the requester's card.
        program: program of the agents; by default the installed one.
        advance: called with what is being done, and how much of how much is done.

    Raises:
        OfframpError: no right to make interfaces, something does not start, or a request does not end.
    """
    if _runs_pynq(card):
        pynq_python()  # installs what is missing; the namespace has no way out
    return in_namespace(
        lambda: _run(requests, traced=traced, keys=keys, seed=seed, card=card, program=program, advance=advance)
    )


def _runs_pynq(card: str) -> bool:
    """Whether a card will start in simulation under PYNQ's drivers; one that lacks its simulator will not start."""
    kind, _, text = card.partition(":")
    if kind != "fpga":
        return False
    options = parse(FpgaOptions, text, card, "at")
    elsewhere = options.at or options.udp or options.xclbin
    return not elsewhere and options.shell == "pynq" and not missing(options.simulator)


def _run(
    requests: int,
    *,
    traced: int,
    keys: int,
    seed: int,
    card: str,
    program: Path | None,
    advance: Advance | None,
) -> ChainRun:
    """:func:`run_chain`, in a namespace of its own."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(temporary_folder()))
        network = stack.enter_context(AgentChain(program))
        links = [f"nic:{agent.path}#0" for agent in network.agents]
        app = application(card, f"nic:{network.agents[0].path}", keys=keys, seed=seed)
        with environment(**{PORT: links[0], hops.FOLDER: str(folder), hops.SIDE: SIDES[0]}):
            responder = stack.enter_context(_closing(ResponderProcess(app.plan)))
        stack.enter_context(environment(**{PORT: links[1], hops.FOLDER: str(folder), hops.SIDE: SIDES[1]}))
        stack.enter_context(_recording())
        devices = app.local()
        for device in devices.values():
            stack.callback(device.close)
        requester = Requester(app.program(app.paths, {}), [responder], devices, app.settings)
        stack.callback(requester.close)
        load = _counted(app, requester, requests, advance)
        with WireTap(network.far, network.near) as tap:
            spans, wrong = _one_by_one(app, requester, traced, advance)
        load.wrong += wrong
        return _outcome(load, spans, tap, folder)


@contextmanager
def _recording() -> Iterator[None]:
    """Record notes of this process, in the files that environment variables name."""
    hops.recorder.cache_clear()
    recorder = hops.recorder()
    try:
        yield
    finally:
        if recorder is not None:
            recorder.close()
        hops.recorder.cache_clear()


@contextmanager
def _closing(responder: ResponderProcess) -> Iterator[ResponderProcess]:
    try:
        yield responder
    finally:
        responder.close()


def _counted(application: Application, requester: Requester, requests: int, advance: Advance | None) -> LoadResult:
    def hook(_: float) -> None:
        if advance is not None:
            advance("requests", int(requester.selector.completed.sum()), requests)

    return counted_loop(requester, application.workload(application.settings.seed), requests, application.window, hook)


def _outcome(load: LoadResult, spans: list[tuple[int, int]], tap: WireTap, folder: Path) -> ChainRun:
    """The result, from the notes of all processes."""
    near, far = hops.read(folder, SIDES[1]), hops.read(folder, SIDES[0])
    clocks = _clocks(near, far)
    moments = [each for part in near for each in part.moments] + tap.moments()
    for part in far:
        moments += [hops.HopMoment(round(each.at_ns - clocks[0]), each.where, each.note) for each in part.moments]
    cuts = [hops.pieces(moments, begun, ended, SIDES[1]) for begun, ended in spans]
    totals = [ended - begun for begun, ended in spans]
    by_place = {
        place: median(sum(end - begin for where, begin, end, _ in cut if where == place) for cut in cuts)
        for place in PLACES
    }
    lacking = [place for place in PLACES if not all(any(row[0] == place for row in cut) for cut in cuts)]
    if lacking:
        raise OfframpError(f"chain: requests that were not seen at {', '.join(lacking)}")
    middle = min(range(len(spans)), key=lambda i: abs(totals[i] - median(totals)))
    engine = [each.note["worked_ns"] for part in near for each in part.moments if "worked_ns" in each.note]
    trace = hops.chrome_trace(cuts[middle], PLACES, f"request {middle} of {len(spans)}")
    return ChainRun(load, by_place | {"all": float(median(totals))}, float(median(engine)), trace, clocks)


def _one_by_one(
    application: Application, requester: Requester, count: int, advance: Advance | None
) -> tuple[list[tuple[int, int]], int]:
    workload, spans, wrong = application.workload(application.settings.seed + 1), [], 0
    for number in range(count):
        requester.admit(workload.batch(number, 1), np.array([number]))
        done = requester.collect()
        while not done.count:
            requester.step()
            done = requester.collect()
        wrong += workload.wrong(done)
        spans.append((int(done.begun_ns[0]), int(done.ended_ns[0])))
        if advance is not None:
            advance("one by one", number + 1, count)
    return spans, wrong


def _clocks(near: list[hops.Noted], far: list[hops.Noted]) -> tuple[float, float]:
    """The lead of the responder's clock and its error bound, in ns; exactly 0 if both are the same clock."""
    if {noted.boot for noted in far} == {noted.boot for noted in near} == {hops.boot()}:
        return 0.0, 0.0
    left = [_cells(noted, "agent of ") for noted in (near, far)]
    came = [_cells(noted, side) for noted, side in ((near, SIDES[1]), (far, SIDES[0]))]
    there = [(left[0][number], at) for number, at in came[1].items() if number in left[0]]
    back = [(left[1][number], at) for number, at in came[0].items() if number in left[1]]
    return hops.offset_ns(there, back)


def _cells(noted: list[hops.Noted], where: str) -> dict[int, int]:
    moments = (each for part in noted for each in part.moments)
    return {e.note["message"]: e.at_ns for e in moments if e.where.startswith(where) and "message" in e.note}
