# SPDX-License-Identifier: Apache-2.0
"""Frames that match no rule never reach the functions, and are counted; ports are not promiscuous; several queues.

The oracle is a packet socket at the other end that sends frames made here by hand. Blind to cards: their flow rules
and address filters are not exercised, but for a device that takes part of the rules and refuses the rest (net_tap).
"""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

import namespaces
from offramp.hermod.endhost.priorities import Priorities
from offramp.hermod.factors import CType, Factors
from offramp.nic.coflows import CoflowPort, RankAddress
from offramp.nic.connection import AgentConnection
from offramp.nic.process import AgentProcess
from offramp.switchgnn.nic_worker import NicWorker
from offramp.switchgnn.recovery import Recovery
from offramp_base.errors import OfframpError
from offramp_base.transport.interface import packet_socket
from offramp_base.wire.ethernet import ipv4_frame_prefix
from offramp_p4.bench.namespace import in_namespace
from offramp_sim.nic.links import ends
from offramp_sim.switchgnn.jobs import random_job

pytestmark = pytest.mark.nic
PRIORITIES = Priorities.of_job(micro_batches=4, layers=8)
FACTORS = Factors(0, CType.PP, 0)
HOSTS = [RankAddress.of_rank(rank) for rank in range(4)]
PORT = 47810
SIZE = 5000
BROADCAST_MAC, BROADCAST_IP = 0xFFFF_FFFF_FFFF, 0xFFFF_FFFF


def mac(host: RankAddress) -> int:
    return int.from_bytes(host.mac, "big")


def ip(host: RankAddress) -> int:
    return int.from_bytes(socket.inet_aton(host.ip), "big")


def ready(
    *, to_mac: int = mac(HOSTS[0]), to_ip: int = ip(HOSTS[0]), protocol: int = 17, port: int = PORT, checksum: int = 0
) -> bytes:
    """READY of rank 1 for its message of rank 0 (smartnic/lib/hermod/wire.hpp)."""
    body = bytes([1, 0, 0, 1]) + struct.pack(">I3Q", 1, 0, SIZE, SIZE)
    udp = struct.pack(">4H", PORT, port, 8 + len(body), checksum)
    return ipv4_frame_prefix(to_mac, mac(HOSTS[1]), ip(HOSTS[1]), to_ip, protocol, 40).tobytes() + udp + body


def changed(frame: bytes, at: int, *values: int) -> bytes:
    return frame[:at] + bytes(values) + frame[at + len(values) :]


def tagged(frame: bytes, vlan: int) -> bytes:
    return frame[:12] + struct.pack(">HH", 0x8100, vlan) + frame[12:]


UNMATCHED = {
    "another MAC": ready(to_mac=0x0200_0000_0099),
    "another IP": ready(to_ip=0x0A00_0099),
    "to everybody": ready(to_mac=BROADCAST_MAC, to_ip=BROADCAST_IP),
    "another UDP port": ready(port=47811),
    "TCP": ready(protocol=6),
    "SwitchGNN": ready(protocol=253),
    "all-reduce": ready(protocol=254),
    "ARP": changed(ready(), 12, 0x08, 0x06),
    "IPv6": changed(ready(), 12, 0x86, 0xDD),
    "IPv4 options": changed(ready(), 14, 0x46),
    "version 5": changed(ready(), 14, 0x55),
    "cut off in IPv4": ready()[:33],
    "cut off in UDP": ready()[:41],
    "only a header": ready()[:14],
    "a VLAN": tagged(ready(), 7),
}
FRAGMENTS = [changed(ready(), 20, 0x00, 0x01), changed(ready(), 20, 0x20, 0x00)]
"""Fragments that the kernel keeps for the rest of their datagram, as DPDK's packet sockets ask it to."""
CORRUPT = {
    "IPv4's checksum": changed(ready(), 24, 0xFF),
    "UDP's checksum": ready(checksum=0x1234),
    "UDP's length": changed(ready(checksum=1), 38, 0xFF),
}


@contextmanager
def waiting_host(programs: Path, *arguments: str, suffix: str = "") -> Iterator[tuple[AgentProcess, socket.socket]]:
    """An agent that has a coflow for rank 1, and a packet socket that plays that."""
    with ExitStack() as stack:
        near, far = stack.enter_context(ends("veth"))
        agent = stack.enter_context(
            AgentProcess(
                [near + suffix], program=programs / "offramp-nic-agent", compression="none", arguments=arguments
            )
        )
        heard = stack.enter_context(packet_socket(far))
        heard.bind((far, 3))
        port = stack.enter_context(CoflowPort(f"nic:{agent.path}#0", 0, HOSTS, PRIORITIES, memory=1 << 20))
        port.exchange(1, {1: bytes(SIZE)}, {}, FACTORS)
        promiscuous = subprocess.run(
            ["ip", "-j", "-d", "link", "show", near], check=True, capture_output=True, text=True
        ).stdout
        assert json.loads(promiscuous)[0]["promiscuity"] == 0
        yield agent, heard


def counts(agent: AgentProcess) -> dict[str, object]:
    with closing(AgentConnection(agent.path)) as connection:
        return connection.stats()["ports"][0]


def wait_for(agent: AgentProcess, name: str, least: int) -> dict[str, object]:
    """Counts of the port, once one of them has come so far."""
    until = time.monotonic() + 30
    while (now := counts(agent))[name] < least and time.monotonic() < until:
        time.sleep(0.01)
    return now


@pytest.mark.netns
@pytest.mark.parametrize("queues", [1, 3])
def test_frames_that_match_no_rule_never_arrive(programs: Path, queues: int) -> None:
    """Each would set the message off if it got through: nothing leaves before the frame that is right comes."""
    namespaces.require()

    def work() -> None:
        with waiting_host(programs, "--queues", str(queues)) as (agent, heard):
            bad = [*UNMATCHED.values(), *CORRUPT.values()]
            for frame in [*FRAGMENTS, *bad]:
                heard.send(frame)
            now = wait_for(agent, "received", len(bad))
            assert now["received"] == len(bad)
            assert now["unmatched"] == len(UNMATCHED)
            assert now["corrupt"] == len(CORRUPT)
            assert (now["sent"], now["steering"]) == (0, "software")
            heard.send(ready())
            assert wait_for(agent, "sent", 4)["sent"] >= 4
            assert counts(agent)["unmatched"] == len(UNMATCHED)

    in_namespace(work)


@pytest.mark.netns
def test_a_port_in_a_vlan(programs: Path) -> None:
    """Frames without the tag, or with another, do not get through; what leaves has it."""
    namespaces.require()

    def work() -> None:
        with waiting_host(programs, suffix="@7") as (agent, heard):
            heard.settimeout(30)
            heard.setsockopt(263, 8, 1)  # SOL_PACKET, PACKET_AUXDATA: where the kernel puts the tag
            for frame in (ready(), tagged(ready(), 8)):
                heard.send(frame)
            assert wait_for(agent, "unmatched", 2)["sent"] == 0
            heard.send(tagged(ready(), 7))
            _, extra, _, _ = heard.recvmsg(2000, 200)
            status, *_, tci, _ = struct.unpack("=3I4H", extra[0][2])
            assert status & 0x10  # TP_STATUS_VLAN_VALID
            assert tci & 0xFFF == 7

    in_namespace(work)


@pytest.mark.netns
def test_hosts_that_share_a_port(programs: Path) -> None:
    """Four on two ports, of three queues each: the kernel spreads frames, and the rules find their host."""
    namespaces.require()
    rng = np.random.default_rng(3)
    contents = [[rng.bytes(60_000) for _ in HOSTS] for _ in HOSTS]

    def run(rank: int, port: CoflowPort) -> None:
        peers = [peer for peer in range(4) if peer % 2 != rank % 2]
        out = {peer: contents[rank][peer] for peer in peers}
        for message in range(1, 4):
            exchange = port.exchange(message, out, dict.fromkeys(peers, 60_000), FACTORS)
            assert port.wait(exchange) == {peer: contents[peer][rank] for peer in peers}

    def work() -> None:
        with ExitStack() as stack:
            agents = [
                stack.enter_context(
                    AgentProcess(
                        [end],
                        program=programs / "offramp-nic-agent",
                        cores=2,
                        compression="none",
                        arguments=["--queues", "3"],
                    )
                )
                for end in stack.enter_context(ends("veth"))
            ]
            ports = [
                stack.enter_context(
                    CoflowPort(f"nic:{agents[rank % 2].path}#0", rank, HOSTS, PRIORITIES, memory=4 << 20)
                )
                for rank in range(4)
            ]
            with pytest.raises(OfframpError, match="another worker gets the frames of this one's address"):
                CoflowPort(f"nic:{agents[0].path}#0", 0, HOSTS, PRIORITIES, memory=1 << 20)
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(run, range(4), ports))
            for agent in agents:
                now = counts(agent)
                assert now["handed"] > 0
                assert (now["corrupt"], len(now["queues"])) == (0, 3)

    in_namespace(work)


def memif(folder: Path) -> tuple[str, str]:
    path = f"memif:{folder}/memif.sock"
    return path, f"{path},client"


def vhost(folder: Path) -> tuple[str, str]:
    return f"vhost:{folder}/vhost.sock", f"virtio:{folder}/vhost.sock,client"


LINKS: dict[str, Callable[[Path], tuple[str, str]]] = {"memif": memif, "vhost": vhost}


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("queues", "cores"), [(1, 1), (4, 2)])
def test_workers_that_share_a_port(programs: Path, tmp_path: Path, link: str, queues: int, cores: int) -> None:
    """SwitchGNN over memory of two processes; the other end answers each worker with what it sent."""
    server, client = LINKS[link](tmp_path)
    program = programs / "offramp-nic-agent"
    many = ["--queues", str(queues)]
    far = AgentProcess([server], program=program, arguments=["--reflect", *many], cores=cores, compression="none")
    near = AgentProcess([client], program=program, arguments=many, cores=cores, compression="none")
    job = random_job(10, vertices=60, edges=240, workers=queues + 1, limit=60, features=(40,))

    def run(worker: NicWorker) -> None:
        worker.start()
        rng = np.random.default_rng(worker.index)
        values = rng.integers(-(2**20), 2**20, (len(worker.boundary(0)), 40)).astype(np.int32)
        for _ in range(3):
            assert np.array_equal(worker.exchange(0, values), values)

    with ExitStack() as stack:
        stack.enter_context(far)
        stack.enter_context(near)
        workers = [
            stack.enter_context(closing(NicWorker(i, job.plans, f"nic:{near.path}#0", 60, recovery=Recovery(1, 2))))
            for i in range(queues)
        ]
        with pytest.raises(
            OfframpError, match="another worker has port" if queues == 1 else "others have all 4 queues"
        ):
            NicWorker(queues, job.plans, f"nic:{near.path}#0")
        with ThreadPoolExecutor(queues) as pool:
            list(pool.map(run, workers))
        now = counts(near)
        assert all(queue["taken"] and queue["sent"] > 0 for queue in now["queues"])
        assert len(now["queues"]) == queues


@pytest.mark.parametrize(
    ("port", "problem"),
    [
        ("nothing0", "no such interface"),
        ("xdp:nothing0", "no such interface"),
        ("lo@4095", "a VLAN has a number from 1 to 4094"),
        ("lo@0", "a VLAN has a number from 1 to 4094"),
        ("net_ring0", "17 queues, it has at most 16"),
        ("net_nothing0", "librte-net-nothing23"),
    ],
)
def test_ports_that_cannot_be(programs: Path, port: str, problem: str) -> None:
    command = [programs / "offramp-nic-agent", "--check", "--compression", "none", "--queues", "17", "--port", port]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("offramp-nic-agent: port ")
    assert problem in done.stderr.splitlines()[-1]


@pytest.mark.netns
def test_coflows_over_af_xdp(programs: Path) -> None:
    """One end by AF_XDP, the other by packet sockets."""
    namespaces.require()

    def work() -> None:
        with ExitStack() as stack:
            near, far = stack.enter_context(ends("veth"))
            try:
                agents = [
                    stack.enter_context(
                        AgentProcess([port], program=programs / "offramp-nic-agent", compression="none")
                    )
                    for port in (f"xdp:{near}", far)
                ]
            except OfframpError as error:
                pytest.skip(f"this kernel has no AF_XDP: {error}")
            ports = [
                stack.enter_context(CoflowPort(f"nic:{agent.path}#0", rank, HOSTS, PRIORITIES, memory=1 << 20))
                for rank, agent in enumerate(agents)
            ]
            contents = [bytes([rank + 1]) * 50_000 for rank in range(2)]
            exchanges = [
                port.exchange(1, {1 - rank: contents[rank]}, {1 - rank: 50_000}, FACTORS)
                for rank, port in enumerate(ports)
            ]
            for rank, (port, exchange) in enumerate(zip(ports, exchanges, strict=True)):
                assert port.wait(exchange) == {1 - rank: contents[1 - rank]}

    in_namespace(work)


@pytest.mark.netns
def test_checksums_by_the_device(programs: Path) -> None:
    """net_tap makes and checks them; rules that the driver takes and the kernel refuses are done in software.

    The interface's end is a packet socket that works both checksums out again.
    """
    namespaces.require()

    def work() -> None:
        with ExitStack() as stack:
            try:
                agent = stack.enter_context(
                    AgentProcess(["net_tap0,iface=tap0"], program=programs / "offramp-nic-agent", compression="none")
                )
            except OfframpError as error:
                pytest.skip(f"no TAP interfaces: {error}")
            subprocess.run(["ip", "link", "set", "tap0", "addrgenmode", "none", "up"], check=True)
            heard = stack.enter_context(packet_socket("tap0"))
            heard.bind(("tap0", 3))
            heard.settimeout(30)
            port = stack.enter_context(CoflowPort(f"nic:{agent.path}#0", 0, HOSTS, PRIORITIES, memory=1 << 20))
            port.exchange(1, {1: bytes(range(250)) * 20}, {}, FACTORS)
            for frame in CORRUPT.values():
                heard.send(frame)
            assert wait_for(agent, "corrupt", len(CORRUPT))["sent"] == 0
            heard.send(ready())
            while (frame := heard.recv(2000))[26:30] != socket.inet_aton(HOSTS[0].ip):
                pass
            assert internet_sum(frame[14:34]) == 0xFFFF
            length = int.from_bytes(frame[38:40], "big")
            udp = frame[34 : 34 + length]
            assert udp[6:8] != b"\0\0"
            assert internet_sum(frame[26:34] + struct.pack(">HH", 17, length) + udp) == 0xFFFF
            assert counts(agent)["steering"] == "software"

    in_namespace(work)


def internet_sum(content: bytes) -> int:
    """RFC 1071."""
    padded = content + b"\0" * (len(content) % 2)
    total = sum(struct.unpack(f">{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total
