# SPDX-License-Identifier: Apache-2.0
"""A new agent takes the place of a running one while clients ask; what cannot be handed over is refused in one line.

Workers that exchange meanwhile are in ``test_exchange.py``.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

import namespaces
from offramp.device import Status
from offramp.leo.devices.nic import NicDevice
from offramp.leo.functions import kvs
from offramp.nic import wire
from offramp.nic.coflows import CoflowPort, RankAddress
from offramp.nic.connection import AgentConnection
from offramp.nic.process import AgentProcess
from offramp_base.errors import OfframpError
from offramp_p4.bench.namespace import in_namespace
from offramp_sim.nic.links import ends

pytestmark = pytest.mark.nic
KEYS = 64
VERSION = 1
ETH_P_ALL, SOL_PACKET, PACKET_FANOUT = 3, 263, 18  # Linux's, which Python does not name


class Load:
    """Look-ups without a pause, each with its answer, in a thread."""

    def __init__(self, device: NicDevice) -> None:
        self.answered, self.wrong = 0, 0
        self._device = device
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        sent = 0
        while not self._stop.is_set() or self.answered < sent:
            while not self._stop.is_set() and self._device.submit(kvs.NAME, sent, struct.pack("<Q", sent % KEYS)):
                sent += 1
            self._device.wait(1.0)
            for done in self._device.poll():
                good = done.status is Status.OK and done.request == self.answered
                self.wrong += not (good and done.message == struct.pack("<Q", self.answered % KEYS + 1))
                self.answered += 1

    def more(self, count: int = 200) -> None:
        """Wait for further answers."""
        wanted, deadline = self.answered + count, time.monotonic() + 20
        while self.answered < wanted:
            assert time.monotonic() < deadline, f"{self.answered} answers, waited for {wanted}"
            time.sleep(0.005)

    def end(self) -> None:
        """Requests are answered, each once and in order."""
        self._stop.set()
        self._thread.join(20)
        assert not self._thread.is_alive()
        assert self.wrong == 0


@contextmanager
def load(agent: AgentProcess) -> Iterator[Load]:
    with closing(NicDevice(agent.path, depth=32, kvs_buckets=256)) as device:
        index = kvs.KeyIndex(device.memory(kvs.NAME), 256)
        for key in range(KEYS):
            index.insert(key, key + 1)
        asked = Load(device)
        try:
            asked.more()
            yield asked
            asked.more()
        finally:
            asked.end()


def take_over(agent: AgentProcess, version: int = VERSION, ports: str = "") -> AgentConnection:
    """A successor that has said what it wants, and no more."""
    connection = AgentConnection(agent.path)
    body = wire.UPGRADE.pack(version) + ports.encode()
    connection._socket.sendall(wire.HEADER.pack(wire.MAGIC, wire.ControlMessageType.UPGRADE, len(body)) + body)
    return connection


def test_clients_do_not_notice(programs: Path) -> None:
    with AgentProcess(program=programs / "offramp-nic-agent", cores=2) as agent:
        watcher = AgentConnection(agent.path)
        with load(agent) as first, load(agent) as second:
            for _ in range(2):
                pid = agent.pid
                assert agent.upgrade() == 0
                assert agent.pid != pid
                for each in (first, second):
                    each.more()
            answered = first.answered + second.answered
            stats = watcher.stats()
            assert (stats["clients"], stats["queues"]) == (3, 2)
            assert stats["requests"] >= answered  # those of the agents before are counted
        watcher.close()
        with closing(AgentConnection(agent.path)) as late:  # the listening socket went along, and so did the file
            assert late.stats()["accepted"] == 6
        assert agent.stop() == 0
        assert not agent.path.exists()


@pytest.mark.parametrize("heard", [0, 1 << 16], ids=["nothing", "all"])
def test_the_old_agent_goes_on_when_the_new_one_dies(programs: Path, heard: int) -> None:
    with AgentProcess(program=programs / "offramp-nic-agent") as agent, load(agent) as asked:
        successor = take_over(agent)
        if heard:
            successor._socket.recv(heard)
        successor.close()
        asked.more()
        assert agent.upgrade() == 0


def test_a_successor_that_says_something_else_is_told_so(programs: Path) -> None:
    with AgentProcess(program=programs / "offramp-nic-agent") as agent, load(agent) as asked:
        with closing(take_over(agent)) as successor:
            answers = []
            for _ in ("counts", "a client", "why"):
                _, kind, length = wire.HEADER.unpack(successor._receive(wire.HEADER.size)[0])
                answers.append((kind, successor._receive(length)[0]))
                if len(answers) == 2:
                    successor._socket.sendall(wire.HEADER.pack(wire.MAGIC, wire.ControlMessageType.STATS, 0))
        assert [kind for kind, _ in answers[:2]] == [wire.REPLY | wire.ControlMessageType.UPGRADE] * 2
        assert answers[2] == (wire.ERROR, b"upgrade: the new agent did not take over; this one goes on")
        asked.more()


@pytest.mark.parametrize(
    ("version", "ports", "said"),
    [
        (2, "", "version 2 of what is handed over, this agent has 1; stop it and start the new one"),
        (1, "eth0\neth1", "ports eth0 eth1, this agent has none"),
    ],
)
def test_what_does_not_fit_is_refused(programs: Path, version: int, ports: str, said: str) -> None:
    with AgentProcess(program=programs / "offramp-nic-agent") as agent, load(agent) as asked:
        with closing(AgentConnection(agent.path)) as successor, pytest.raises(OfframpError, match=f"upgrade: {said}$"):
            successor.ask(wire.ControlMessageType.UPGRADE, wire.UPGRADE.pack(version) + ports.encode())
        asked.more()


def test_coflows_and_ports_that_one_agent_alone_can_hold_are_refused(programs: Path) -> None:
    with AgentProcess(["net_ring0"], program=programs / "offramp-nic-agent") as agent:
        with pytest.raises(OfframpError, match="port net_ring0: two agents cannot hold it at once; stop the old one"):
            agent.upgrade()
        with (
            CoflowPort(f"nic:{agent.path}#0", 0, [RankAddress.of_rank(rank) for rank in range(2)], memory=1 << 20),
            closing(AgentConnection(agent.path)) as successor,
            pytest.raises(OfframpError, match="upgrade: a client has coflows or sums, whose state stays here"),
        ):
            successor.ask(wire.ControlMessageType.UPGRADE, wire.UPGRADE.pack(VERSION) + b"net_ring0")


def test_where_no_agent_is_there_is_none_to_replace(programs: Path, tmp_path: Path) -> None:
    with AgentProcess(program=programs / "offramp-nic-agent") as agent:
        agent.kill()
        with pytest.raises(OfframpError, match=r"--take-over .*: Connection refused"):
            agent._launch("--take-over")


@pytest.mark.netns
def test_an_agent_finds_a_fan_out_group_that_nobody_has(programs: Path) -> None:
    """DPDK takes the group ``process id ^ interface`` and gives up where a socket on another interface has it."""
    namespaces.require()

    def work() -> None:
        with ends("veth") as (port, _), ends("veth") as (other, _), ExitStack() as held:
            index = socket.if_nametoindex(port)
            newest = int(Path("/proc/loadavg").read_text("ascii").split()[-1])
            for process in range(newest, newest + 512):  # one of them will be the agent
                taken = held.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
                taken.bind((other, ETH_P_ALL))
                taken.setsockopt(SOL_PACKET, PACKET_FANOUT, (process ^ index) & 0xFFFF)
            with AgentProcess([port], program=programs / "offramp-nic-agent") as agent:
                assert agent.upgrade() == 0

    in_namespace(work)
