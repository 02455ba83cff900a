# SPDX-License-Identifier: Apache-2.0
"""A debugger beside a switch that runs: packets of its ports are held, and go on whatever becomes of the client."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dap_client import WAIT_S, DapClient, Refused, over_socket
from debugged import PROGRAM, line
from offramp_base.transport.unix import UnixIO
from offramp_base.wire.batch import PacketBatch
from offramp_p4_tools.debug.debugger import Debugger
from offramp_p4_tools.debug.server import Attacher, DebugServer

pytestmark = pytest.mark.p4
ENDED = 128 + signal.SIGTERM
UNBUFFERED = {**os.environ, "PYTHONUNBUFFERED": "1"}
DROPPED = bytes.fromhex("000000000001AABBCCDDEEFF0800")


@dataclass
class Running:
    """A switch as a process; its program drops everything but counts it."""

    process: subprocess.Popen[str]
    debugger: str
    host: UnixIO
    log: Path

    def send(self, *frames: bytes) -> None:
        for frame in frames:
            self.host.send(PacketBatch.of([(0, frame)]))

    def lines(self) -> list[str]:
        return [each for each in self.log.read_text().splitlines() if "debugger:" in each]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    program, log = tmp_path / "echo.p4", tmp_path / "log"
    program.write_text(PROGRAM.read_text().replace("default_action = drop();", "default_action = forward(1);"))
    words = [sys.executable, "-m", "offramp", "switch", "run", str(program), "-i", f"1@unix:{tmp_path}/port"]
    words += ["--grpc-server-addr", f"unix:{tmp_path}/p4runtime", "--debug", "127.0.0.1:0"]
    with (
        log.open("w") as errors,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True, env=UNBUFFERED) as process,
    ):
        assert process.stdout is not None
        try:
            address = ""
            for text in process.stdout:
                if match := re.match(r"debugger +(\S+)", text):
                    address = match[1]
                if text.startswith("port 1"):
                    break
            assert address, log.read_text()
            host = UnixIO(f"{tmp_path}/port")
            yield Running(process, address, host, log)
            host.close()
            process.send_signal(signal.SIGTERM)
            assert process.wait(WAIT_S) == ENDED, log.read_text()
        finally:
            process.kill()


def received(running: Running, count: int) -> list[int]:
    """The last byte of the frames that come back, in order."""
    numbers: list[int] = []
    while len(numbers) < count:
        batch = running.host.receive(WAIT_S)
        assert len(batch), running.log.read_text()
        numbers += [frame[14] for frame in batch.frames()]
    return numbers


def numbered(count: int) -> list[bytes]:
    return [DROPPED + bytes([n]) for n in range(count)]


def attached(client: DapClient, running: Running) -> Path:
    program = running.log.with_name("echo.p4")
    client.start("attach", lines={program: [{"line": line("meta.seen = now")}]})
    return program


@pytest.mark.full
def test_packets_of_ports_are_held_one_after_the_other(running: Running) -> None:
    running.send(*numbered(1))
    assert received(running, 1) == [1]
    with over_socket(running.debugger) as client:
        attached(client, running)
        running.send(*numbered(3))
        for n in range(2, 5):
            assert client.stop() == ("breakpoint", "control I", line("meta.seen = now"))
            assert client.evaluate("now") == str(n)
            client.request("setExpression", expression="meta.seen", value="0", frameId=1)
            assert client.request("setExpression", expression="now", value=str(n + 100), frameId=1)
            client.request("continue", threadId=1)
        assert received(running, 3) == [102, 103, 104]
        with over_socket(running.debugger) as other:
            other.request("initialize", adapterID="x")
            with pytest.raises(Refused, match="another client"):
                other.request("attach")
            for command in ("continue", "setBreakpoints", "pause", "stackTrace", "setExceptionBreakpoints"):
                with pytest.raises(Refused, match=r"nothing is launched or attached to|no packet is held"):
                    other.request(command)
        client.request("disconnect")
    running.send(*numbered(2))
    assert received(running, 2) == [5, 6]
    with over_socket(running.debugger) as client, pytest.raises(Refused, match="runs already"):
        client.request("launch", program=str(PROGRAM))
    assert running.lines() == []


@pytest.mark.full
def test_a_client_that_vanishes_lets_the_packet_go(running: Running) -> None:
    for turn in range(2):
        with over_socket(running.debugger) as client:
            attached(client, running)
            running.send(*numbered(3))
            client.stop()
        assert received(running, 3) == [3 * turn + 1, 3 * turn + 2, 3 * turn + 3]
        end = time.monotonic() + WAIT_S
        while len(running.lines()) <= turn and time.monotonic() < end:  # the packet does not wait for the log
            time.sleep(0.01)
    assert [each.partition("debugger: ")[2] for each in running.lines()] == [
        "the client has gone; the packet that it held goes on"
    ] * 2


@pytest.mark.full
def test_the_switch_ends_though_a_packet_is_held(running: Running) -> None:
    with over_socket(running.debugger) as client:
        attached(client, running)
        running.send(*numbered(1))
        client.stop()
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(WAIT_S) == ENDED
        client.event("closed")


HOSTILE = {
    "length": (b"Content-Length: 99999999999\r\n\r\n", "a message of 99999999999 bytes: expected at most 1048576"),
    "digits": (b"Content-Length: 1e3\r\n\r\n", "a Content-Length that is not a number"),
    "negative": (b"Content-Length: -1\r\n\r\n", "a Content-Length that is not a number"),
    "none": (b"X: y\r\n\r\n", "a message without Content-Length"),
    "garbage": (bytes(range(128, 256)) * 4, "a line of a header of more than 256 bytes, or cut off"),
    "lines": (b"A: b\r\n" * 20, "a header of more than 8 lines"),
    "http": (b"GET / HTTP/1.1\r\n\r\n", "line 1 of a header is not NAME: VALUE"),
    "json": (b"Content-Length: 4\r\n\r\n{{{{", "message: expected a JSON object"),
    "list": (b"Content-Length: 2\r\n\r\n[]", "message: expected a JSON object"),
    "bomb": (b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000, "message: expected a JSON object"),
}


@pytest.mark.full
def test_hostile_clients_cost_a_line_each_at_first_and_the_switch_goes_on(running: Running) -> None:
    host, _, port = running.debugger.rpartition(":")
    for data, _ in HOSTILE.values():
        with socket.create_connection((host, int(port)), timeout=WAIT_S) as sock:
            sock.sendall(data)
            assert sock.recv(1) == b""
        running.send(*numbered(1))
        assert len(received(running, 1)) == 1
    texts = [text for _, text in HOSTILE.values()]
    earlier = [texts[:k].count(text) for k, text in enumerate(texts)]
    said = [f"{text} (2 so far)" if n else text for text, n in zip(texts, earlier, strict=True) if n < 2]  # not thrice
    assert [each.partition("a client sent ")[2] for each in running.lines()] == said


@pytest.mark.full
def test_many_connections_are_refused_and_an_address_of_others_too(running: Running, tmp_path: Path) -> None:
    host, _, port = running.debugger.rpartition(":")
    connections = [socket.create_connection((host, int(port)), timeout=WAIT_S) for _ in range(9)]
    try:
        assert connections[0].recv(1) == b""  # the oldest of those that said nothing
        assert running.lines()[-1].endswith("a connection refused: more than 8 at once")
    finally:
        for each in connections:
            each.close()
    words = [sys.executable, "-m", "offramp", "switch", "debug", "--listen", "0.0.0.0:0"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert done.returncode == 2
    assert "other machines reach this address" in done.stderr
    assert "Traceback" not in done.stderr


def test_other_users_of_the_machine_are_refused_on_tcp_and_on_unix_sockets(tmp_path: Path) -> None:
    """Root is needed to be somebody else; the tests run as root."""
    tmp_path.chmod(0o711)
    for folder in (tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o711)
    for address in ("127.0.0.1:0", "[::1]:0", f"unix:{tmp_path}/debugger"):
        server = DebugServer(address, lambda: Attacher(Debugger()))
        try:
            assert greeted(server, os.geteuid()) == "initialize"
            if os.geteuid() == 0:
                assert greeted(server, 65534) == ""
        finally:
            server.close()


STRANGER = """
import json, os, socket, sys
family, where, user = int(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3])
if os.geteuid() != user:
    os.setuid(user)
sock = socket.socket(family)
try:
    sock.connect(where if isinstance(where, str) else tuple(where))
    content = b'{"seq": 1, "type": "request", "command": "initialize"}'
    sock.sendall(b"Content-Length: %d\\r\\n\\r\\n%b" % (len(content), content))
    head = sock.makefile("rb").readline()
    print("initialize" if head else "")
except OSError:
    print("")
"""


def greeted(server: DebugServer, user: int) -> str:
    """Answers of the debugger to a process of a user."""
    where = json.dumps(server.address.where)
    words = [sys.executable, "-c", STRANGER, str(int(server.address.family)), where, str(user)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=WAIT_S)
    return done.stdout.strip()
