# SPDX-License-Identifier: Apache-2.0
"""The agent as a device of LEO: queues, order, tables, an agent that dies; and clients that lie."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from pathlib import Path

import numpy as np
import pytest

from offramp.device import Status
from offramp.leo.devices.nic import NicDevice
from offramp.leo.functions import compress, kvs, reduce
from offramp.nic import wire
from offramp.nic.connection import AgentConnection
from offramp.nic.doctor import checks
from offramp.nic.memory import Arena
from offramp.nic.process import AgentProcess
from offramp.nic.rings import ClientRings, Submission
from offramp_base.errors import OfframpError
from offramp_base.sealed_memory import SharedMemory

pytestmark = pytest.mark.nic
SLOW = np.random.default_rng(0).integers(0, 8, 6 << 20, dtype=np.uint8).tobytes()
"""To compress: some 100 ms of work."""


def drain(device: NicDevice, count: int) -> list:
    done, deadline = [], time.monotonic() + 20
    while len(done) < count and time.monotonic() < deadline:
        device.wait(1)
        done += device.poll()
    return done


def test_a_full_queue_says_so_and_loses_nothing(agent: AgentProcess) -> None:
    device = NicDevice(agent.path, depth=8, kvs_buckets=4)
    taken, refused = 0, 0
    for number in range(200):
        while not device.submit(kvs.NAME, number, struct.pack("<Q", number)):
            refused += 1
            device.wait(1)
            taken += sum(done.status is Status.OK for done in device.poll())
    taken += len(drain(device, 200 - taken))
    assert taken == 200
    assert refused > 0
    device.close()


def test_answers_come_in_order_with_their_numbers(agent: AgentProcess) -> None:
    device = NicDevice(agent.path, depth=64)
    rng = np.random.default_rng(0)
    messages = [
        reduce.request(reduce.ElementType.INT32, rng.integers(-9, 9, (3, n)).astype(np.int32)) for n in range(64)
    ]
    for number, message in enumerate(messages):
        assert device.submit(reduce.NAME, 2**63 + number, message)
    done = drain(device, 64)
    assert [d.request for d in done] == [2**63 + n for n in range(64)]
    assert [d.message for d in done] == [reduce.answer(m) for m in messages]
    device.close()


def test_tables_survive_an_agent_that_is_killed(programs: Path) -> None:
    with AgentProcess(program=programs / "offramp-nic-agent") as agent:
        device = NicDevice(agent.path, kvs_buckets=64)
        index = kvs.KeyIndex(device.memory(kvs.NAME), 64)
        for key in range(100):
            index.insert(key, key + 1)
        for number in range(4):
            assert device.submit(compress.COMPRESS, number, SLOW)
        agent.kill()
        killed = time.monotonic()
        done = []
        while not any(d.status is Status.LOST for d in done) and time.monotonic() < killed + 5:
            device.wait(0.05) if device._client and not device._client.gone else None
            done += device.poll()
            if len(done) == 4:
                break
        assert time.monotonic() - killed < 1
        assert [d.request for d in done] == [0, 1, 2, 3]
        assert {d.status for d in done} <= {Status.OK, Status.LOST}
        assert device.poll() == []
        with pytest.raises(OfframpError, match="is gone"):
            device.submit(kvs.NAME, 9, bytes(8))
        with pytest.raises(OfframpError, match="is `offramp nic run` running"):
            device.reset()
        agent.start()
        device.reset()
        for key in range(0, 100, 9):
            assert device.submit(kvs.NAME, key, struct.pack("<Q", key))
        assert [d.message for d in drain(device, 12)] == [struct.pack("<Q", key + 1) for key in range(0, 100, 9)]
        device.close()


def test_reset_aborts(agent: AgentProcess) -> None:
    device = NicDevice(agent.path)
    for number in range(4):
        assert device.submit(compress.COMPRESS, number, SLOW)
    device.reset()
    done = device.poll()
    assert [d.request for d in done] == [0, 1, 2, 3]
    assert done[-1].status is Status.ABORTED
    assert device.submit(compress.COMPRESS, 9, SLOW)
    assert drain(device, 1)[0].status is Status.OK
    device.close()
    device.close()


def test_no_agent(tmp_path: Path) -> None:
    with pytest.raises(OfframpError, match=r"agent .*: No such file or directory; is `offramp nic run` running\?"):
        NicDevice(tmp_path / "none")


def raw(agent: AgentProcess) -> socket.socket:
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connected.connect(str(agent.path))
    connected.settimeout(5)
    return connected


def heard(connected: socket.socket) -> bytes:
    """All until the agent hangs up."""
    text = b""
    while part := connected.recv(65536):
        text += part
    connected.close()
    return text


HELLO = wire.HEADER.pack(wire.MAGIC, wire.ControlMessageType.HELLO, 4) + wire.HELLO.pack(wire.VERSION)


@pytest.mark.parametrize(
    ("sent", "complaint"),
    [
        (b"GET / HTTP/1.0\r\n\r\n", b"not a message of this protocol"),
        (wire.HEADER.pack(wire.MAGIC, 1, wire.MOST_BODY + 1), b"not a message of this protocol"),
        (wire.HEADER.pack(wire.MAGIC, 1, 3) + b"abc", b"hello: a body of 3 bytes"),
        (wire.HEADER.pack(wire.MAGIC, 1, 4) + struct.pack("<I", 9), b"hello: version 9, this agent speaks 1"),
        (wire.HEADER.pack(wire.MAGIC, 6, 0), b"expected hello first"),
        (HELLO + wire.HEADER.pack(wire.MAGIC, 77, 0), b"message of unknown kind 77"),
        (HELLO + wire.HEADER.pack(wire.MAGIC, 2, 8) + bytes(8), b"message 2 with 0 file descriptors"),
        (HELLO + wire.HEADER.pack(wire.MAGIC, 3, 16) + struct.pack("<IIQ", 0, 4, 0), b"rings outside of the memory"),
        (HELLO + wire.HEADER.pack(wire.MAGIC, 3, 16) + struct.pack("<IIQ", 0, 3, 0), b"expected a power of two"),
    ],
)
def test_messages_that_are_none_are_refused(agent: AgentProcess, sent: bytes, complaint: bytes) -> None:
    connected = raw(agent)
    connected.sendall(sent)
    assert complaint in heard(connected)
    AgentConnection(agent.path).close()  # and others are served


def test_silent_clients_keep_nobody_out(programs: Path) -> None:
    """More than there is room for: the first of those that have not said hello goes."""
    with AgentProcess(program=programs / "offramp-nic-agent") as agent:
        silent = [raw(agent) for _ in range(300)]
        AgentConnection(agent.path).close()
        assert b"too many clients without hello" in heard(silent[0])
        for each in silent[1:]:
            each.close()


def test_a_client_that_says_no_hello_in_time_is_cut_off(programs: Path) -> None:
    with AgentProcess(program=programs / "offramp-nic-agent") as agent:
        silent, half = raw(agent), raw(agent)
        half.sendall(HELLO[:5])
        with contextlib.closing(AgentConnection(agent.path)) as greeted:
            for each in (silent, half):
                each.settimeout(30)
                assert b"no hello in time" in heard(each)
            greeted.ask(wire.ControlMessageType.STATS)


def test_clients_that_greet_and_stay_do_not_go(programs: Path) -> None:
    with AgentProcess(program=programs / "offramp-nic-agent") as agent:
        clients = [AgentConnection(agent.path) for _ in range(256)]
        assert heard(raw(agent)) == b""
        clients.pop().close()
        time.sleep(0.2)
        clients.append(AgentConnection(agent.path))
        for each in clients:
            each.ask(wire.ControlMessageType.STATS)
            each.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_another_user_is_turned_away(programs: Path) -> None:
    with AgentProcess(program=programs / "offramp-nic-agent") as agent:
        path = Path(agent.path)
        assert path.stat().st_mode & 0o777 == 0o600
        path.chmod(0o666)  # as a faulty installation would
        path.parent.chmod(0o711)
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                os.chdir(path.parent)  # others may not pass the folders above
                os.setuid(65534)
                with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
                    other.connect(path.name)
                    os._exit(0 if other.recv(1) == b"" else 2)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        AgentConnection(agent.path).close()


def test_foreign_memory_is_refused(agent: AgentProcess, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(8192))
    plain = os.memfd_create("unsealed")
    os.ftruncate(plain, 8192)
    opened = os.open(file, os.O_RDWR)
    try:
        for fd in (opened, plain):
            with pytest.raises(OfframpError, match="expected a memfd sealed against shrinking"):
                AgentConnection(agent.path).ask(wire.ControlMessageType.MAP, wire.MAP.pack(8192), fd)
    finally:
        os.close(plain)
        os.close(opened)
    shared = SharedMemory(8192)
    with pytest.raises(OfframpError, match="a memfd of 8192 bytes, the message says 8193"):
        AgentConnection(agent.path).ask(wire.ControlMessageType.MAP, wire.MAP.pack(8193), shared.fd)
    shared.close()


def lying(agent: AgentProcess) -> tuple[AgentConnection, ClientRings, SharedMemory]:
    shared = SharedMemory(65536)
    connection = AgentConnection(agent.path)
    region = connection.share(shared)
    _, bell = connection.queue(region, 0, 16)
    rings = ClientRings(shared, 0, 16)
    rings.connect(bell)
    return connection, rings, shared


def cut_off(connection: AgentConnection, complaint: str) -> None:
    text, deadline = "", time.monotonic() + 5
    while not text and time.monotonic() < deadline:
        try:
            connection.ask(wire.ControlMessageType.STATS)
        except OfframpError as error:
            text = str(error)
        time.sleep(0.01)
    assert complaint in text
    connection.close()


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (Submission(1, 0, 0, 65536 - 8, 16, 0, 8192, 64), "memory that is not shared"),
        (Submission(1, 0, 0, 2**64 - 8, 16, 0, 8192, 64), "memory that is not shared"),
        (Submission(1, 0, 0, 8192, 2**64 - 1, 0, 16384, 64), "memory that is not shared"),
        (Submission(1, 0, 1, 8192, 8, 0, 16384, 64), "memory that is not shared"),
        (Submission(1, 0, 0, 8193, 8, 0, 16384, 64), "memory that is not shared"),
        (Submission(1, 2, 0, 8192, 64, 0, 8200, 64), "message and answer overlap"),
    ],
)
def test_requests_that_lie_are_cut_off(agent: AgentProcess, entry: Submission, complaint: str) -> None:
    connection, rings, shared = lying(agent)
    rings.submit(entry)
    cut_off(connection, complaint)
    assert rings.completions() == []
    rings.close()
    shared.close()


def test_a_counter_that_lies_is_cut_off(agent: AgentProcess) -> None:
    connection, rings, shared = lying(agent)
    shared.view[:8] = struct.pack("<Q", 17)
    rings.ring()
    cut_off(connection, "more submissions than it holds")
    rings.close()
    shared.close()


def test_clients_leave_nothing_behind(agent: AgentProcess) -> None:
    for _ in range(20):
        NicDevice(agent.path, kvs_buckets=4).close()
    watcher = AgentConnection(agent.path)
    deadline = time.monotonic() + 5
    while watcher.stats()["queues"] and time.monotonic() < deadline:
        time.sleep(0.02)
    assert watcher.stats()["queues"] == 0
    watcher.close()


def test_the_socket_is_for_its_owner(agent: AgentProcess) -> None:
    assert agent.path.stat().st_mode & 0o777 == 0o600


def test_bad_arguments_are_one_line(programs: Path) -> None:
    program = programs / "offramp-nic-agent"
    for arguments, complaint in (
        (["--port", "nosuch0"], "port nosuch0: no such interface"),
        (["--port", "memif:/tmp/m,bsize=256"], "expected a bsize of at least 2048, so that frames fit a buffer"),
        (["--port", "net_memif0,role=server,bsize=x"], "expected a bsize of at least 2048"),
        (["--fly"], "argument --fly: not understood"),
        (["--cores", "0"], "argument 0: not understood"),
        (["--socket", "/proc/none/x"], "--socket /proc/none/x: No such file or directory"),
    ):
        with pytest.raises(OfframpError, match=complaint), AgentProcess(program=program, arguments=arguments):
            pass


def test_arena() -> None:
    arena = Arena(64, 64 + 640)
    pieces = [arena.take(n) for n in (1, 64, 65, 0)]
    assert pieces == [64, 128, 192, 320]
    assert arena.take(400) is None
    for at, n in ((128, 64), (64, 1), (320, 0), (192, 65)):
        arena.give(at, n)
    assert arena.take(640) == 64


def test_doctor_finds_what_the_agent_runs_with(agent: AgentProcess) -> None:
    by_name = {check.name: check.ok for check in checks()}
    for package in ("cmake", "libdpdk-dev", "libhwy-dev", "librte-compress-zlib23"):
        assert by_name[package]
