# SPDX-License-Identifier: Apache-2.0
"""Ports on DPDK's devices: two switches joined by memif, in processes of their own, and what can go wrong between them.

Blind to cards, whose drivers are not here.
"""

from __future__ import annotations

import os
import signal
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import namespaces
from dpdk_switch import DpdkSwitch, require
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session
from offramp_base.transport import open_io
from offramp_base.transport.base import FrameIO
from offramp_base.transport.unix import UnixIO
from offramp_base.wire import pcap
from offramp_base.wire.batch import PacketBatch

WIRE = Path(__file__).with_name("wire.p4")
TO_CONTROLLER, BACK = 0x88B5, 0x88B6
CPU_PORT = 64
PATIENCE_S = 20.0

pytestmark = [pytest.mark.p4, pytest.mark.full]


def frame(number: int, ether_type: int = 0x0800, size: int = 60) -> bytes:
    return (bytes(12) + ether_type.to_bytes(2, "big") + number.to_bytes(4, "big")).ljust(size, b"\x55")


def batch(*frames: bytes) -> PacketBatch:
    return PacketBatch.of((0, each) for each in frames)


def arrive(io: FrameIO, count: int) -> list[bytes]:
    """So many frames that come."""
    got: list[bytes] = []
    end = time.monotonic() + PATIENCE_S
    while len(got) < count and time.monotonic() < end:
        got += io.receive(0.2).frames()
    return got


def joined(near: FrameIO, far: FrameIO) -> None:
    """Wait until frames pass from one end to the other, and none is on the way."""
    end = time.monotonic() + PATIENCE_S
    while not len(far.receive(0.1)):
        assert time.monotonic() < end, "no frame passes"
        near.send(batch(frame(0)))
    while len(far.receive(0.1)):
        pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require("memif")
    return tmp_path_factory.mktemp("dpdk")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[DpdkSwitch]:
    ports = {0: f"unix:{folder}/a", 1: f"memif:{folder}/m,rsize=8"}
    with DpdkSwitch(WIRE, ports, f"{folder}/a.grpc", cpu_port=CPU_PORT) as switch:
        yield switch


def client(folder: Path) -> DpdkSwitch:
    return DpdkSwitch(WIRE, {2: f"memif:{folder}/m,client,rsize=8", 3: f"unix:{folder}/b"}, f"{folder}/b.grpc")


def test_frames_pass_both_ways_and_are_counted(folder: Path, server: DpdkSwitch) -> None:
    assert stat.S_IMODE((folder / "m").stat().st_mode) == 0o600
    with client(folder), closing(UnixIO(f"{folder}/a")) as near, closing(UnixIO(f"{folder}/b")) as far:
        joined(near, far)
        sent = [frame(n, size=60 + n % 1400) for n in range(200)]
        near.send(batch(*sent))
        assert arrive(far, len(sent)) == sent
        with Session(server.address) as session:
            entry = session.table_entry("ways", {"sm.ingress_port": 1}, "send", {"port": 0})
            session.insert([entry])
            far.send(batch(*sent))
            assert arrive(near, len(sent)) == sent
            wanted = session.table_entry("ways", {})
            wanted.table_entry.counter_data.SetInParent()
            (read,) = (each.table_entry.counter_data for each in session.read([wanted]))
            assert (read.packet_count, read.byte_count) == (len(sent), sum(map(len, sent)))
            session.delete([entry])
            far.send(batch(frame(7, TO_CONTROLLER)))  # from memif to the controller, by way of Python
            packet = session.packet_in(PATIENCE_S)
            assert packet is not None
            assert packet[0] == frame(7, TO_CONTROLLER)


def test_the_other_end_vanishes_and_comes_back(folder: Path, server: DpdkSwitch) -> None:
    with closing(UnixIO(f"{folder}/a")) as near:
        for _ in range(2):
            with client(folder) as other, closing(UnixIO(f"{folder}/b")) as far:
                joined(near, far)
                other.process.kill()
                other.process.wait()
            near.send(batch(*map(frame, range(50))))  # nobody is there: dropped
            near.send(batch(frame(3, BACK)))
            assert arrive(near, 1) == [frame(3, BACK)], "the switch goes on"
    assert server.process.poll() is None


def test_a_full_ring_drops_and_the_switch_goes_on(folder: Path, server: DpdkSwitch) -> None:
    with client(folder) as other, closing(UnixIO(f"{folder}/a")) as near, closing(UnixIO(f"{folder}/b")) as far:
        joined(near, far)
        other.process.send_signal(signal.SIGSTOP)
        try:
            for start in range(0, 4096, 256):  # the ring has 256
                near.send(batch(*(frame(n) for n in range(start, start + 256))))
            near.send(batch(frame(3, BACK)))
            assert arrive(near, 1) == [frame(3, BACK)]
        finally:
            other.process.send_signal(signal.SIGCONT)
        got = arrive(far, 100)
        numbers = [int.from_bytes(each[14:18], "big") for each in got + arrive(far, 1)]
        assert numbers == sorted(numbers)
        assert len(numbers) < 4096


def test_garbage_on_the_socket_is_cut_off(folder: Path, server: DpdkSwitch) -> None:
    for garbage in [b"", b"\0", os.urandom(128), b"\xff" * 4096] * 3:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
            stranger.connect(f"{folder}/m")
            stranger.send(garbage)
    with client(folder), closing(UnixIO(f"{folder}/a")) as near, closing(UnixIO(f"{folder}/b")) as far:
        joined(near, far)
    assert server.process.poll() is None


def test_a_killed_switch_leaves_nothing_in_the_way(folder: Path) -> None:
    def left() -> set[str]:
        places = [Path("/dev/shm"), Path("/dev/hugepages"), Path("/var/run/dpdk")]
        return {str(path) for place in places if place.is_dir() for path in place.iterdir()}

    before = left()
    ports = {0: f"memif:{folder}/k"}
    with DpdkSwitch(WIRE, ports, f"{folder}/k.grpc") as switch:
        with pytest.raises(OfframpError, match="another switch listens there"), DpdkSwitch(WIRE, ports, f"{folder}/l"):
            pass
        switch.process.kill()
        switch.process.wait()
    assert left() <= before
    with DpdkSwitch(WIRE, ports, f"{folder}/k.grpc"):
        assert (folder / "k").exists()
    assert not (folder / "k").exists()


def test_a_driver_that_is_not_there(folder: Path) -> None:
    with pytest.raises(OfframpError, match="librte-net-nothing23") as refused:
        DpdkSwitch(WIRE, {0: "dpdk:net_nothing0"}, f"{folder}/n.grpc").__enter__()
    assert "\n" not in str(refused.value)


@pytest.mark.netns
@pytest.mark.parametrize("driver", ["af_packet", "af_xdp"])
def test_interfaces_by_drivers_of_dpdk(tmp_path: Path, driver: str) -> None:
    require(driver)
    namespaces.require()
    with namespaces.Namespace() as namespace:
        for host, side in (("h0", "s0"), ("h1", "s1")):
            namespace.veth(host, side)
        ports = {n: f"dpdk:net_{driver}{n},iface=s{n}" for n in range(2)}
        running = DpdkSwitch(WIRE, ports, f"{tmp_path}/x.grpc", launcher=namespace.command)
        with running:
            near, far = (namespace.call(lambda n=n: open_io(n)) for n in ("h0", "h1"))
            joined(near, far)
            sent = [frame(n) for n in range(64)]
            near.send(batch(*sent))
            assert [each[:60] for each in arrive(far, len(sent))] == sent


def test_captures(tmp_path: Path) -> None:
    require("pcap")
    sent = [frame(n, size=60 + n) for n in range(300)]
    pcap.write(tmp_path / "in", [(0, each) for each in sent])
    ports = {0: f"dpdk:net_pcap0,rx_pcap={tmp_path}/in", 1: f"dpdk:net_pcap1,tx_pcap={tmp_path}/out"}
    with DpdkSwitch(WIRE, ports, f"{tmp_path}/p.grpc", cores=2, spread="flow") as switch, Session(switch.address):
        end = time.monotonic() + PATIENCE_S
        while len(pcap.read(tmp_path / "out")) < len(sent) // 2 and time.monotonic() < end:
            time.sleep(0.05)
    assert sorted(each for _, each in pcap.read(tmp_path / "out")) == sorted(sent)
