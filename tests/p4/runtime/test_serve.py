# SPDX-License-Identifier: Apache-2.0
"""The switch as a process: ports that vanish and return, signals, bad settings."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import namespaces
from frames import ethernet, mac
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session
from offramp_base.transport import open_io
from offramp_base.transport.unix import UnixIO
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import serve
from offramp_p4.embedded import EmbeddedSwitch
from offramp_p4.ports import unix
from offramp_p4.settings import parse_port

PROGRAM = Path(__file__).parents[2] / "conformance" / "conformance.p4"


def forward(session, port):
    session.insert([session.table_entry("mac", {"hdr.ethernet.dst": mac(1)}, "forward", {"port": port})])


@pytest.mark.full
@pytest.mark.netns
def test_interface_that_vanishes_and_returns(tmp_path):
    namespaces.require()
    with namespaces.Namespace() as namespace:
        namespace.veth("h1", "s1")
        namespace.veth("h2", "s2")
        running = EmbeddedSwitch(
            PROGRAM, [1, 2], workdir=tmp_path / "s", interfaces=["s1", "s2"], launcher=namespace.command
        )
        with running, Session(running.address) as session:
            forward(session, 2)
            h1, h2 = (namespace.call(lambda n=n: open_io(n)) for n in ("h1", "h2"))
            h1.send(PacketBatch.of([(0, ethernet())]))
            assert len(h2.receive(5)) == 1
            h2.close()
            namespace.run("ip", "link", "del", "h2")
            h1.send(PacketBatch.of([(0, ethernet())] * 10))
            time.sleep(0.3)
            namespace.veth("h2", "s2")
            h2 = namespace.call(lambda: open_io("h2"))
            deadline = time.monotonic() + 10
            arrived = 0
            while not arrived and time.monotonic() < deadline:
                h1.send(PacketBatch.of([(0, ethernet())]))
                arrived = len(h2.receive(0.2))
            assert arrived
            log = running.log.read_text()
            assert log.count("interface s2: Network is down; waiting for it to return") == 1
            assert log.count("interface s2 is back") == 1
            h1.close()
            h2.close()


RUN = "import typer; from offramp_cli.switch.run import run; app = typer.Typer(); app.command()(run); app()"


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_prints_what_it_serves_and_stops_on_signals(tmp_path, number):
    path = tmp_path / "p1"
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(PROGRAM), "-i", f"1@unix:{path}", "--grpc-server-addr", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    head = [process.stdout.readline() for _ in range(4)]
    address = re.fullmatch(r"P4Runtime  (127\.0\.0\.1:\d+)  device 0\n", head[2])[1]
    assert head[1] == "engine     native (executes this program)\n"
    assert head[3].split()[:2] == ["port", "1"]
    with Session(address) as session:
        forward(session, 1)
        link = open_io(f"unix:{path}")
        link.send(PacketBatch.of([(0, ethernet())]))
        assert len(link.receive(5)) == 1
    process.send_signal(number)
    tail, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "received" in tail
    assert not path.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("veth1", "expected NUMBER@LINK, such as 1@veth1 or 1@unix:/tmp/port1"),
        ("x@veth1", "expected NUMBER@LINK, such as 1@veth1 or 1@unix:/tmp/port1"),
        ("1@", "expected NUMBER@LINK, such as 1@veth1 or 1@unix:/tmp/port1"),
        ("511@veth1", "expected a port of 0 to 510"),
    ],
)
def test_golden_errors_of_ports(text, message):
    with pytest.raises(ValueError, match=message):
        parse_port(text)


def build(**settings):
    settings = {"program": str(PROGRAM), "ports": {}, "address": "127.0.0.1:0", **settings}
    running = serve.build(serve.Settings(**settings))
    running.stop()
    running.forward()


@pytest.mark.full
def test_bad_settings_are_refused(tmp_path):
    with pytest.raises(OfframpError, match="no interface 'nosuchif0'"):
        build(ports={1: "nosuchif0"})
    with pytest.raises(OfframpError, match="port 4 is the CPU port and cannot be attached to anything"):
        build(ports={4: f"unix:{tmp_path}/p"}, cpu_port=4)
    plain = tmp_path / "file"
    plain.touch()
    with pytest.raises(OfframpError, match="the file exists and is not a socket"):
        build(ports={1: f"unix:{plain}"})
    with pytest.raises(OfframpError, match="No such file or directory"):
        build(ports={1: f"unix:{tmp_path}/none/p"})


@pytest.mark.full
def test_address_in_use_is_told_and_ports_are_released(tmp_path):
    running = serve.build(serve.Settings(program=None, ports={}, address="127.0.0.1:0"))
    try:
        with pytest.raises(OfframpError, match=r"gRPC address 127.0.0.1:\d+: cannot be bound; is it in use\?"):
            build(ports={1: f"unix:{tmp_path}/p"}, address=running.address)
        assert not (tmp_path / "p").exists()
    finally:
        running.stop()
        running.forward()


def test_socket_of_a_dead_switch_is_replaced_but_not_that_of_a_living_one(tmp_path):
    first = unix.UnixPort(tmp_path / "p")
    with pytest.raises(OfframpError, match="another switch listens there"):
        unix.UnixPort(tmp_path / "p")
    first._listener.close()  # as after a crash: the file stays
    unix.UnixPort(tmp_path / "p").close()


def test_host_that_does_not_read_holds_back_then_loses(tmp_path, monkeypatch):
    port = unix.UnixPort(tmp_path / "p")
    host = UnixIO(tmp_path / "p")
    batch = PacketBatch.of([(0, bytes(1000))] * 1000)
    port.receive()
    while not port.congested:
        port.send(batch)
    assert port.stats.dropped == 0
    monkeypatch.setattr(unix, "STALL_S", 0.0)
    assert not port.congested
    port.send(batch)
    assert port.stats.dropped == 1000
    monkeypatch.undo()
    received = 0
    while port._kept:
        port.flush()
        received += len(host.receive(1))
    while more := len(host.receive(0.05)):
        received += more
    assert port.stats.sent == received > 0
    host.close()
    port.close()


@pytest.mark.full
def test_two_workers_that_flood_each_other_lose_nothing(tmp_path):
    count = 20_000
    with EmbeddedSwitch(PROGRAM, [1, 2], workdir=tmp_path / "s") as running, Session(running.address) as session:
        session.insert(session.table_entry("mac", {"hdr.ethernet.dst": mac(p)}, "forward", {"port": p}) for p in (1, 2))
        links = [open_io(spec) for spec in running.port_specs]
        got = [0, 0]

        def work(me):
            batch = PacketBatch.of([(0, ethernet(dst=2 - me) + bytes(150))] * 500)
            for _ in range(count // 500):
                links[me].send(batch)
            while got[me] < count:
                got[me] += len(links[me].receive(30))

        threads = [threading.Thread(target=work, args=(i,)) for i in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert got == [count, count]
        for link in links:
            link.close()
