# SPDX-License-Identifier: Apache-2.0
"""Hermod's end host in the agent: its order is that of the scheduler in Python, and bytes arrive through faulty links.

Blind to real NICs, and to what switches do with the DSCPs.
"""

from __future__ import annotations

import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import namespaces
from nic_agent import agent_arguments, link, where_links_are
from offramp.hermod.endhost.priorities import CoflowPriority, Priorities
from offramp.hermod.endhost.scheduler import CoflowScheduler, Lane
from offramp.hermod.endhost.transfers import CoflowTransfers, OutgoingBytes, Piece, Route
from offramp.hermod.factors import CType, Factors
from offramp.nic.coflows import CELL, CoflowPort, RankAddress
from offramp.nic.connection import AgentConnection
from offramp.nic.process import AgentProcess
from offramp_base.errors import OfframpError
from offramp_base.transport.interface import packet_socket
from offramp_base.wire.ethernet import ipv4_frame_prefix

pytestmark = pytest.mark.nic
PRIORITIES = Priorities.of_job(4, 8)


class Model:
    """The scheduler in Python, and the same as lines for the one in C++."""

    def __init__(self) -> None:
        self.scheduler = CoflowScheduler()
        self.outgoing: dict[Route, OutgoingBytes] = {}
        self.blocked: set[Lane] = set()
        self.lines: list[str] = []
        self.answers: list[str] = []
        self._count = 0

    def add(self, key: tuple[int, ...], dscp: int, in_order: bool, pieces: list[tuple[int, int]]) -> None:
        """A coflow with pieces (peer, bytes) that follow each other in each peer's transfer."""
        number, self._count = self._count, self._count + 1
        coflow = CoflowTransfers(CoflowPriority(key, dscp, 0), number, in_order)
        words = []
        at: dict[int, int] = {}
        for peer, size in pieces:
            route = peer, number
            if route not in self.outgoing:
                self.outgoing[route] = OutgoingBytes(route, memoryview(b""), coflow, 0)
            start = at.get(peer, 0)
            at[peer] = start + size
            coflow.pieces.append(Piece(self.outgoing[route], start, start + size))
            words.append(f"{peer} {number} {start} {start + size}")
        keys = " ".join(map(str, key))
        self.lines.append(f"add {number} {int(in_order)} {dscp} {len(key)} {keys} {len(pieces)} {' '.join(words)}")
        self.scheduler.add(coflow)

    def ready(self, which: int) -> None:
        """The receiver of one transfer waits for it."""
        if self.outgoing:
            route = list(self.outgoing)[which % len(self.outgoing)]
            self.outgoing[route].ready = True
            self.lines.append(f"ready {route[0]} {route[1]}")

    def block(self, peer: int, dscp: int) -> None:
        """A connection takes nothing, or takes bytes again."""
        self.lines.append(f"{'unblock' if (peer, dscp) in self.blocked else 'block'} {peer} {dscp}")
        self.blocked ^= {(peer, dscp)}

    def next(self, most: int) -> None:
        """A frame leaves."""
        self.lines.append(f"next {most}")
        piece = self.scheduler.next(self.blocked)
        if piece is None:
            self.answers.append("-")
            return
        count = min(most, piece.stop - piece.start)
        peer, number = piece.outgoing.route
        self.answers.append(f"{peer} {number} {piece.start} {count}")
        self.scheduler.sent(piece, count)


@given(st.data())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_the_order_is_the_models(programs: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    model = Model()
    small = st.integers(0, 3)
    for _ in range(data.draw(st.integers(1, 60))):
        what = data.draw(st.sampled_from(["add", "ready", "ready", "block", "next", "next", "next"]))
        if what == "add":
            pieces = data.draw(st.lists(st.tuples(small, st.integers(1, 3000)), min_size=1, max_size=5))
            key = tuple(data.draw(st.lists(small, max_size=3)))
            model.add(key, data.draw(small), data.draw(st.booleans()), pieces)
        elif what == "ready":
            model.ready(data.draw(st.integers(0, 99)))
        elif what == "block":
            model.block(data.draw(small), data.draw(small))
        else:
            model.next(CELL)
    path = tmp_path_factory.mktemp("schedule") / "lines"
    path.write_text("\n".join(model.lines))
    done = subprocess.run([programs / "offramp-nic-schedule", path], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == model.answers


@pytest.mark.parametrize(("loss", "duplication"), [(0, 0), (0.05, 0.05), (0.3, 0.1)])
def test_bytes_arrive(programs: Path, loss: float, duplication: float) -> None:
    for seed in range(3):
        command = [programs / "offramp-nic-coflows", seed, loss, duplication]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.netns
@pytest.mark.parametrize("loss", [0.0, 0.03])
def test_coflows_between_two_agents(programs: Path, loss: float) -> None:
    """Messages in both directions over a veth pair, with priorities, in any order and in pieces."""
    namespaces.require()
    rng = np.random.default_rng(1)
    factors = [Factors(m, CType.PP, layer) for m in range(3) for layer in (0, 5)] + [None]
    contents = [[rng.bytes(int(rng.integers(1, 60_000))) for _ in factors] for _ in range(2)]

    def run(rank: int, port: CoflowPort) -> None:
        sizes = [len(content) for content in contents[1 - rank]]
        sent = []
        for message, factor in enumerate(factors):
            content = contents[rank][message]
            cut = min(2 * CELL, len(content))
            spans = [(1 - rank, 0, cut)] + ([(1 - rank, cut, len(content))] if cut < len(content) else [])
            order = spans if message % 2 else None
            sent.append(port.exchange(message, {1 - rank: content}, {1 - rank: sizes[message]}, factor, order))
        for message, exchange in enumerate(sent):
            assert port.wait(exchange, 60.0) == {1 - rank: contents[1 - rank][message]}

    def work() -> None:
        with ExitStack() as stack:
            links = stack.enter_context(link("port"))
            hosts = [RankAddress.of_rank(rank) for rank in range(2)]
            program = programs / "offramp-nic-agent"
            ports = []
            for rank, end in enumerate(links):
                agent = stack.enter_context(
                    AgentProcess([end], program=program, compression="none", arguments=agent_arguments())
                )
                where = f"nic:{agent.path}#0"
                ports.append(
                    stack.enter_context(
                        CoflowPort(where, rank, hosts, PRIORITIES, memory=4 << 20, retry_s=0.02, loss=loss, seed=rank)
                    )
                )
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(run, range(2), ports))
            connection = AgentConnection(agent.path)
            classes = connection.stats()["ports"][0]["classes"]
            connection.close()
            assert classes[0] >= len(factors)  # READY and DONE
            assert classes[-1] * CELL >= len(contents[1][-1])  # what has no factors goes last
            assert sum(1 for count in classes if count) >= 4

    where_links_are(work)


@pytest.mark.netns
def test_frames_are_marked_and_the_urgent_overtake(programs: Path) -> None:
    """Frames that leave the port, as a packet socket hears them: DSCPs are the plan's, and order is by priority."""
    namespaces.require()
    late, soon = Factors(3, CType.PP, 7), Factors(0, CType.PP, 0)

    def work() -> None:
        with ExitStack() as stack:
            near, far = stack.enter_context(link("interface"))
            program = programs / "offramp-nic-agent"
            agent = stack.enter_context(
                AgentProcess([near], program=program, compression="none", arguments=agent_arguments())
            )
            hosts = [RankAddress.of_rank(rank) for rank in range(2)]
            heard = stack.enter_context(packet_socket(far))
            heard.bind((far, 3))
            heard.settimeout(10.0)
            port = stack.enter_context(CoflowPort(f"nic:{agent.path}#0", 0, hosts, PRIORITIES, memory=8 << 20))
            content = bytes(4 << 20)
            port.exchange(1, {1: content}, {}, late)
            port.exchange(2, {1: content[:CELL]}, {}, soon)
            for message, size in ((1, len(content)), (2, CELL)):
                heard.send(ready(hosts, message, size))
            marks = {m: PRIORITIES.mark(f).dscp for m, f in ((1, late), (2, soon))}
            before = 0
            while True:
                frame = heard.recv(2000)
                message = int.from_bytes(frame[46:50], "big")
                assert frame[15] >> 2 == marks[message]
                if message == 2:
                    break
                before += 1
            assert before < len(content) // CELL  # the message that was there first had not all left

    where_links_are(work)


def ready(hosts: list[RankAddress], message: int, size: int) -> bytes:
    """The READY frame of rank 1, built by hand (smartnic/lib/hermod/wire.hpp)."""
    macs = (int.from_bytes(host.mac, "big") for host in hosts[:2])
    ips = (int.from_bytes(socket.inet_aton(host.ip), "big") for host in (hosts[1], hosts[0]))
    prefix = ipv4_frame_prefix(*macs, *ips, 17, 40).tobytes()
    udp = (47810).to_bytes(2, "big") * 2 + (40).to_bytes(2, "big") + bytes(2)
    numbers = message.to_bytes(4, "big") + b"".join(n.to_bytes(8, "big") for n in (0, size, size))
    return prefix + udp + bytes([1, 0, 0, 1]) + numbers


def test_bad_coflows(programs: Path) -> None:
    hosts = [RankAddress.of_rank(rank) for rank in range(2)]
    with AgentProcess(["loop"], program=programs / "offramp-nic-agent", compression="none") as agent:
        link = f"nic:{agent.path}#0"
        for bad, text in (
            ((link, 2, hosts), "coflows: ranks outside"),
            ((f"nic:{agent.path}#1", 0, hosts), "coflows: port 1 of 1"),
            ((link, 0, hosts[:1]), "coflows: ranks, times or a DSCP"),
            ((link, 0, [RankAddress(b"", "10.0.0.1")]), "MAC of six bytes"),
            ((link, 0, [RankAddress(bytes(6), "x")]), "expected an IPv4 address"),
        ):
            with pytest.raises(OfframpError, match=text):
                CoflowPort(*bad)
        with CoflowPort(link, 0, hosts, memory=1 << 20) as port:
            with pytest.raises(OfframpError, match="another worker has port"):
                CoflowPort(link, 1, hosts)
            with pytest.raises(OfframpError, match="no room for"):
                port.exchange(1, {1: bytes(2 << 20)}, {})
            with pytest.raises(OfframpError, match="a peer that is none"):
                port.wait(port.exchange(1, {7: b"x"}, {}))
            with pytest.raises(OfframpError, match="pieces that are not the transfers"):
                port.wait(port.exchange(1, {1: bytes(5000)}, {}, None, [(1, 0, 100), (1, 100, 5000)]))
            with pytest.raises(OfframpError, match="message 1 is not over after"):
                port.wait(port.exchange(1, {1: bytes(5000)}, {}), 0.05)
            assert port.wait(port.exchange(2, {1: b""}, {1: 0})) == {1: b""}
