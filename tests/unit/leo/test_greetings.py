# SPDX-License-Identifier: Apache-2.0
"""Greetings of strangers to a responder: each is refused with one line and counted, and nothing else changes."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import struct
import time
from pathlib import Path

import numpy as np
import pytest

from leo_hostile import DEVICES, FUNCTIONS, ROWS, STRIDE, responder
from leo_lab import batch, lab, program, serve_while
from offramp.device import Status
from offramp.leo.native.dataflow import Trip
from offramp.leo.native.ring import ring_size
from offramp.leo.runtime import responder as module
from offramp.leo.runtime.process import ResponderPlan, ResponderProcess
from offramp.leo.runtime.requester import Requester, RequesterSettings
from offramp.leo.transports.connect import RequesterListener
from offramp.leo.transports.greeting import VERSION, parse_hello
from offramp.leo.transports.link import PROTOCOL, LinkDown
from offramp.leo.transports.shared import memory_bytes
from offramp_base import listening
from offramp_base.errors import OfframpError
from offramp_base.listening import Access, Token
from offramp_base.listening.handshake import ANSWER_BYTES, CHALLENGE, VERDICT_BYTES
from offramp_base.sealed_memory import SEALS, SharedMemory

RING = ring_size(2 * STRIDE, ROWS)
GOOD = {
    "leo": VERSION,
    "transport": "tcp",
    "owner": 5,
    "rows": ROWS,
    "stride": STRIDE,
    "ring_bytes": RING,
    "functions": list(FUNCTIONS),
    "devices": list(DEVICES),
    "pairs": [["cpu", "echo"]],
}
WRONG = [
    ("ring_bytes", None, "field ring_bytes: expected a whole number"),
    ("ring_bytes", "x", "field ring_bytes: expected a whole number"),
    ("ring_bytes", 3, "field ring_bytes: expected a whole number"),
    ("ring_bytes", 4097, "field ring_bytes: expected a power of two"),
    ("ring_bytes", 1 << 44, "field ring_bytes: expected a whole number"),
    ("ring_bytes", 4096.0, "field ring_bytes: expected a whole number"),
    ("ring_bytes", True, "field ring_bytes: expected a whole number"),
    ("ring_bytes", 4096, ""),
    ("stride", 1 << 40, "field stride: expected a whole number"),
    ("stride", 0, "field stride: expected a whole number"),
    ("stride", 1 << 20, "rings of"),
    ("rows", 0, "field rows"),
    ("rows", 1 << 16, "the responder's journals are for fewer"),
    ("rows", 1 << 17, "field rows"),
    ("owner", 0, "field owner"),
    ("owner", -1, "field owner"),
    ("owner", 1 << 63, "field owner"),
    ("functions", "echo", "field functions: expected a list"),
    ("functions", ["f"] * 2, "field functions: two of one name"),
    ("functions", [str(i) for i in range(1000)], "field functions: expected a list of at most"),
    ("functions", ["a" * 1000], "field functions"),
    ("functions", [[["echo"]]], "field functions"),
    ("devices", [None], "field devices"),
    ("pairs", [["cpu"]], "field pairs: expected pairs of a device and a function"),
    ("pairs", [["cpu", "sing"]], "field pairs: expected devices and functions of the lists"),
    ("pairs", {"cpu": "echo"}, "field pairs"),
    ("transport", "pigeon", "field transport: expected one of nic, shm, tcp, ucx"),
    ("transport", "shm", "expected one descriptor with the greeting"),
    ("transport", "ucx", "field ucx: expected with transport ucx"),
    ("ucx", {"worker": "00", "rkey": "00", "base": 0}, "field ucx: expected with transport ucx"),
    ("segment", "/etc/passwd", "unknown field 'segment'"),
    ("leo", 1, "requester speaks version 1: expected 2"),
    ("leo", True, "requester speaks version ?: expected 2"),
    ("leo", "2", "requester speaks version ?: expected 2"),
]


def greet(server, content, descriptors=()):
    return serve_while(
        server,
        lambda: listening.connect(
            server.listener.address, None, PROTOCOL, content, timeout_s=5, descriptors=descriptors
        ),
    )


@pytest.mark.parametrize(("field", "value", "line"), WRONG)
def test_a_greeting_that_cannot_be(field, value, line):
    content = {k: v for k, v in (GOOD | {field: value}).items() if v is not None}
    with responder() as server:
        if not line:
            greet(server, content)[0].close()
            return
        with pytest.raises(OfframpError) as caught:
            greet(server, content)
        assert line in str(caught.value)
        assert "\n" not in str(caught.value)
        assert sum(server.refused.values()) == 1
        assert server.connected == 0
        greet(server, GOOD)[0].close()


RAW = {
    "nested": b"[" * 60_000,
    "no text": b"\xff" * 100,
    "several": b"{}" * 3,
    "not a number": b'{"leo": NaN}',
    "no object": b"0",
    "zeros": bytes(9),
}


@pytest.mark.parametrize("raw", RAW.values(), ids=RAW)
def test_bytes_that_are_no_greeting(raw):
    with responder() as server:
        with pytest.raises((OfframpError, OSError)):
            serve_while(server, lambda: _raw(server.listener.address, raw))
        assert server.connected == 0
        greet(server, GOOD)[0].close()


def _raw(address, raw):
    """Prove nothing to a listener without a token, then say something."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(5)
        sock.connect(address.removeprefix("unix:"))
        sock.recv(CHALLENGE.size)
        sock.sendall(bytes(ANSWER_BYTES))
        sock.recv(VERDICT_BYTES)
        sock.sendall(struct.pack("!I", len(raw)) + raw)
        answer = sock.recv(1000)
        if b"error" in answer:
            raise OfframpError(answer.decode())
        assert not answer
        raise ConnectionError


def test_a_path_is_never_opened(tmp_path):
    """A file that a greeting names stays as it was, and a descriptor of one is refused."""
    victim = tmp_path / "victim"
    victim.write_bytes(bytes(memory_bytes(RING)))
    with responder() as server:
        with pytest.raises(OfframpError, match="unknown field 'segment'"):
            greet(server, GOOD | {"transport": "shm", "segment": str(victim)})
        fd = os.open(victim, os.O_RDWR)
        with pytest.raises(OfframpError, match="the descriptor is not anonymous memory"):
            greet(server, GOOD | {"transport": "shm"}, [fd])
        os.close(fd)
    assert victim.read_bytes() == bytes(memory_bytes(RING))


@pytest.mark.parametrize(
    ("size", "seals", "line"),
    [
        (memory_bytes(RING), 0, "seals 0x0, expected"),
        (memory_bytes(RING), SEALS | 0x8, "seals 0xf, expected"),
        (memory_bytes(RING) - 4096, SEALS, "bytes, expected"),
        (memory_bytes(RING) + 4096, SEALS, "bytes, expected"),
        (0, SEALS, "0 bytes, expected"),
    ],
)
def test_memory_of_another_size_or_that_can_shrink(size, seals, line):
    fd = os.memfd_create("x", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    if seals:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    with responder() as server:
        with pytest.raises(OfframpError, match=line):
            greet(server, GOOD | {"transport": "shm"}, [fd])
        assert server.connected == 0
    os.close(fd)


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder"])
def test_descriptors_of_other_things(kind):
    fds = {
        "pipe": lambda: os.pipe()[0],
        "socket": lambda: socket.socket().detach(),
        "device": lambda: os.open("/dev/zero", os.O_RDWR),
        "folder": lambda: os.open("/", os.O_RDONLY),
    }
    fd = fds[kind]()
    with responder() as server, pytest.raises(OfframpError, match="the descriptor is not anonymous memory"):
        greet(server, GOOD | {"transport": "shm"}, [fd])
    os.close(fd)


def test_memory_of_all_connections_is_bounded(monkeypatch):
    hello = parse_hello(GOOD)
    monkeypatch.setattr(module, "CONNECTION_BYTES", int(1.5 * hello.memory_bytes))
    with responder() as server:
        sock, _ = greet(server, GOOD)
        with pytest.raises(OfframpError, match=f"requester of {hello.memory_bytes} bytes: .* are left"):
            greet(server, GOOD | {"owner": 6})
        sock.close()


def test_silent_peers_hold_nobody_up():
    """Connections that say nothing, or half of a greeting, while another one is served and a third one connects."""
    with lab(program([[(Trip("echo"),)]])) as laboratory:
        path = laboratory.responder.listener.address.removeprefix("unix:")
        silent = []
        for said in (b"", b"x" * 10, bytes(64), bytes(64) + b"\0\0"):
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(path)
            sock.sendall(said)
            silent.append(sock)
        begun = time.monotonic()
        for i in range(200):
            laboratory.requester.admit(batch([b"x"]), np.array([i]))
            laboratory.step()
        while len(laboratory.ended) < 200:
            laboratory.step()

        def again():
            return Requester(laboratory.requester.program, [f"unix:{path}"], settings=RequesterSettings(rows=8))

        serve_while(laboratory.responder, again).close()
        assert time.monotonic() - begun < 4
        assert {e[1] for e in laboratory.ended} == {Status.OK}
        for sock in silent:
            sock.close()


def test_shared_memory_goes_over_a_unix_socket_only():
    with pytest.raises(OfframpError, match=r"transport shm at 127.0.0.1:1: shared memory needs a Unix socket"):
        Requester(program([[(Trip("echo"),)]]), ["127.0.0.1:1"])


def test_who_may_reach_a_responder(tmp_path):
    """By default a Unix socket of mode 0600 in a folder of mode 0700; beyond this machine nothing without a token."""
    listener = RequesterListener()
    try:
        path = Path(listener.address.removeprefix("unix:"))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    finally:
        listener.close()
    assert not path.parent.exists()
    with pytest.raises(OfframpError, match="it needs a token"):
        RequesterListener("0.0.0.0:0")
    RequesterListener("0.0.0.0:0", Access(token=Token.random())).close()


@pytest.mark.full
def test_a_token_is_proved_by_both_sides():
    """Over TCP: without the token, or with another one, nobody gets in; the process's own requester does."""
    plan = ResponderPlan("offramp.leo.runtime.service:prepare", listen="127.0.0.1:0")
    process = ResponderProcess(plan)
    try:
        asked = program([[(Trip("echo"),)]])
        for token in (None, Token.random()):
            with pytest.raises((OfframpError, LinkDown), match="token"):
                Requester(asked, [process.address], settings=RequesterSettings(transport="tcp", token=token))
        for responder_, token in ((process, None), (process.address, process.token)):
            requester = Requester(asked, [responder_], settings=RequesterSettings(transport="tcp", token=token))
            requester.close()
        with pytest.raises(OfframpError, match="shared memory needs a Unix socket"):
            Requester(asked, [process])
    finally:
        process.close()


@pytest.mark.full
def test_a_process_shares_memory_by_descriptor_and_shows_its_token_to_nobody():
    process = ResponderProcess(ResponderPlan("offramp.leo.runtime.service:prepare"))
    try:
        for name in ("cmdline", "environ"):
            content = Path(f"/proc/{process.pid}/{name}").read_bytes()
            assert process._secret.encode() not in content
        assert process._secret not in repr(process.token)
    finally:
        process.close()


def test_sealed_memory_is_what_it_says():
    with pytest.raises(OfframpError, match="shared memory of"):
        SharedMemory(1 << 62)
    memory = SharedMemory(5000)
    other = SharedMemory.attach(os.dup(memory.fd), 5000)
    memory.words[3] = 9
    assert other.words[3] == 9
    with pytest.raises(OSError, match="not permitted"):
        os.ftruncate(memory.fd, 1)
    memory.close()
    memory.close()
    other.close()


def test_an_address_that_accepts_and_says_nothing_is_named_early(monkeypatch: pytest.MonkeyPatch) -> None:
    from offramp.leo.transports import link

    assert link._SILENT_S == 3.0
    monkeypatch.setattr(link, "_SILENT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(LinkDown, match=r"accepts connections, but has said nothing for 0\.2 s"):
            link.RequesterGreeting(listening.parse_address(address), None, {}).dial()
        assert time.monotonic() - began < 0.9 * link._TIMEOUT_S
