# SPDX-License-Identifier: Apache-2.0
"""Two hosts, each in a namespace of its own, find each other by ARP and talk TCP through Hermod's program."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
import subprocess
import threading
from pathlib import Path

import pytest

import namespaces
from offramp import p4_source
from offramp.hermod.deploy import P4Target, load_plan, switch_plan
from offramp.hermod.switch import HermodControl
from offramp_base import Session
from offramp_p4 import EmbeddedSwitch
from offramp_p4.tm import TmConfig

pytestmark = [pytest.mark.p4, pytest.mark.netns]

SIZE = 300_000
_SIOCETHTOOL, _SET = 0x8946, {"tx checksums": 0x17, "scatter-gather": 0x19, "TSO": 0x1F, "GSO": 0x24}


def without_offloads(interface: str) -> None:
    """Frames as they would be on a wire: packet sockets see what the kernel has left to the hardware undone."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        for command in _SET.values():
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            fcntl.ioctl(handle, _SIOCETHTOOL, struct.pack("16sP", interface.encode(), ctypes.addressof(value)))


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6], ids=["ipv4", "ipv6"])
def test_tcp(tmp_path: Path, family: socket.AddressFamily) -> None:
    namespaces.require()
    ipv6 = family == socket.AF_INET6
    hosts = ["fd00::1", "fd00::2"] if ipv6 else ["10.9.0.1", "10.9.0.2"]
    tm = TmConfig.uniform(rate_bps=10**9)
    with namespaces.Namespace() as switch_side, namespaces.Namespace() as a, namespaces.Namespace() as b:
        for number, (host, address) in enumerate(zip((a, b), hosts, strict=True), 1):
            switch_side.veth(f"sw{number}", f"to{number}")
            switch_side.run("ip", "link", "set", f"to{number}", "netns", host.name, "name", "eth0")
            if ipv6:
                host.run("sysctl", "-qw", "net.ipv6.conf.eth0.disable_ipv6=0", "net.ipv6.conf.eth0.accept_dad=0")
            host.run("ip", "address", "add", f"{address}/{64 if ipv6 else 24}", "dev", "eth0")
            host.run("ip", "link", "set", "eth0", "up")
            host.run("sysctl", "-qw", "net.ipv4.tcp_reflect_tos=1")
            host.call(lambda: without_offloads("eth0"))
        switch = EmbeddedSwitch(
            p4_source("hermod/v1model.p4"),
            [1, 2],
            workdir=tmp_path,
            interfaces=["sw1", "sw2"],
            launcher=switch_side.command,
            tm=tm,
        )
        with switch, Session(switch.address) as session:
            P4Target(session, switch_plan(load_plan("mixtral-8x7b"), (1, 2))).apply()
            talk(a, b, family, hosts[1])
            sent = HermodControl(session).sent((1, 2))
            neighbours = subprocess.run([*a.command, "ip", "neigh"], capture_output=True, text=True, check=True).stdout
    assert hosts[1] in neighbours
    assert sent[2, 6][1] > SIZE  # DSCP 63: data one way
    assert sent[1, 6][0] > 0  # and its acknowledgements back
    if not ipv6:
        assert sent[2, 7][0] > 0  # ARP
    assert all(packets == 0 for (_, queue), (packets, _) in sent.items() if queue not in {6, 7, 0})


def talk(a: namespaces.Namespace, b: namespaces.Namespace, family: socket.AddressFamily, address: str) -> None:
    """``a`` sends to ``b`` with DSCP 63."""
    level, option = (
        (socket.IPPROTO_IPV6, socket.IPV6_TCLASS) if family == socket.AF_INET6 else (socket.IPPROTO_IP, socket.IP_TOS)
    )
    server = b.call(lambda: socket.create_server((address, 0), family=family))
    client = a.call(lambda: socket.socket(family, socket.SOCK_STREAM))
    with server, client:
        server.settimeout(60)
        client.settimeout(60)
        client.setsockopt(level, option, 63 << 2)
        client.connect(server.getsockname()[:2])
        peer, _ = server.accept()
        with peer:
            peer.settimeout(60)
            sender = threading.Thread(target=lambda: (client.sendall(bytes(SIZE)), client.shutdown(socket.SHUT_WR)))
            sender.start()
            got = 0
            while part := peer.recv(1 << 16):
                got += len(part)
            sender.join()
    assert got == SIZE
