# SPDX-License-Identifier: Apache-2.0
"""The board's agent: whom it serves, and what it does with lengths that others announce. The engines are arrays."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from offramp_pynq import agent as board
from offramp_pynq import listening

from offramp.leo.devices import fpga_link
from offramp_base.errors import OfframpError
from offramp_base.listening import Token, connect
from siege import assert_undisturbed, besiege

SECONDS = 30.0
SECRET = b"of this board, and of no other"
ROOT = Path(__file__).parents[3]


class Memory(np.ndarray):
    def flush(self) -> None:
        pass

    invalidate = flush


class Copies:
    def allocate_memories(self, size: int) -> list[Any]:
        if size > 1 << 20:
            raise MemoryError
        return [np.zeros(size, np.uint8).view(Memory) for _ in range(3)]

    def abort(self) -> None:
        pass


def agent() -> board.Agent:
    engines = SimpleNamespace(kvs=None, ebs=None, sums=None, copies=Copies(), quantiser=None)
    return board.Agent(engines, lambda: 0)


@pytest.fixture(params=["tcp", "unix"])
def served(request: pytest.FixtureRequest, tmp_path: Path):
    """An agent that serves in a thread, and where."""
    where = "127.0.0.1:0" if request.param == "tcp" else f"unix:{tmp_path / 'agent'}"
    listener = listening.Listener(where, SECRET)
    threading.Thread(target=board.serve_hosts, args=(agent(), listener), daemon=True).start()
    host = listener.address
    return f"{host[0]}:{host[1]}" if request.param == "tcp" else where, listener


def answers(line: socket.socket) -> tuple[int, int, bytes]:
    def take(length: int) -> bytes:
        got = b""
        while len(got) < length:
            part = line.recv(length - len(got))
            assert part
            got += part
        return got

    line.settimeout(SECONDS)
    _, status, number, _, length = board.ANSWER.unpack(take(board.ANSWER.size))
    return status, number, take(length)


def ask(line: socket.socket, operation: int, message: bytes, number: int = 7) -> tuple[int, int, bytes]:
    line.sendall(board.REQUEST.pack(operation, number, len(message)) + message)
    return answers(line)


def gone() -> None:
    """Wait until the agent has seen that its host went."""
    end = time.monotonic() + SECONDS
    while any("_serve_host" in t.name for t in threading.enumerate()) and time.monotonic() < end:
        time.sleep(0.01)


def test_both_sides_have_the_same_numbers() -> None:
    for name in ("MOST", "TABLE", "QUANTISE", "READ"):
        assert getattr(board, name) == getattr(fpga_link, name)
    assert board.REQUEST.format == fpga_link.REQUEST.format
    assert board.ANSWER.format == fpga_link.ANSWER.format
    assert fpga_link.PROTOCOL.encode() == listening.PROTOCOL


def test_a_host_that_proves_the_token_is_served_and_then_the_next(served) -> None:
    where, _ = served
    for _ in range(3):
        line, _ = connect(where, Token(SECRET), fpga_link.PROTOCOL, {}, redial=True)
        with line:
            with pytest.raises(OfframpError, match="the board serves another host"):
                connect(where, Token(SECRET), fpga_link.PROTOCOL, {})
            assert ask(line, board.TABLE, board.SIZES.pack(board.MEMORIES, 64, 0, 0)) == (board.OK, 7, b"")
            assert ask(line, board.WRITE, board.PLACE.pack(board.MEMORIES, 62) + b"abcd") == (board.OK, 7, b"")
            read = board.PLACE.pack(board.MEMORIES, 61) + board.LENGTH.pack(6)
            assert ask(line, board.READ, read) == (board.OK, 7, b"\0abcd\0")
        gone()


@pytest.mark.parametrize(
    ("token", "protocol", "greeting", "line"),
    [
        (None, fpga_link.PROTOCOL, {}, "it asks for a token; none was given"),
        (Token(b"of another board altogether"), fpga_link.PROTOCOL, {}, "does not accept the token that was given"),
        (Token(SECRET), "leo", {}, "does not accept the token that was given"),
        (Token(SECRET), fpga_link.PROTOCOL, {"x": 1}, "greeting: expected {}"),
        (Token(SECRET), fpga_link.PROTOCOL, {"x": "y" * 5000}, "Connection reset|closed the connection"),
    ],
)
def test_strangers_are_turned_away(served, token, protocol: str, greeting: dict, line: str) -> None:
    where, listener = served
    before = listener.refused
    with pytest.raises((OfframpError, ConnectionError), match=line):
        connect(where, token, protocol, greeting)
    end = time.monotonic() + SECONDS
    while listener.refused == before and time.monotonic() < end:
        time.sleep(0.01)
    assert listener.refused == before + 1


def test_a_board_that_does_not_prove_the_token_is_not_used() -> None:
    listener = listening.Listener("127.0.0.1:0", b"of another board altogether")
    threading.Thread(target=board.serve_hosts, args=(agent(), listener), daemon=True).start()
    with pytest.raises((OfframpError, ConnectionError)):
        connect(f"127.0.0.1:{listener.address[1]}", Token(SECRET), fpga_link.PROTOCOL, {})


def test_silent_strangers_hold_up_nobody(served) -> None:
    where, listener = served
    family = socket.AF_UNIX if where.startswith("unix:") else socket.AF_INET
    silent = [socket.socket(family) for _ in range(100)]
    for sock in silent:
        sock.connect(where.removeprefix("unix:") if family == socket.AF_UNIX else listener.address)
    line, _ = connect(where, Token(SECRET), fpga_link.PROTOCOL, {}, redial=True)
    with line:
        assert ask(line, board.ABORT, b"") == (board.OK, 7, b"")
    assert listener.refused >= 100 - listening.PENDING
    for sock in silent:
        sock.close()


def test_silent_strangers_are_dismissed(monkeypatch) -> None:
    monkeypatch.setattr(listening, "GREETING_S", 0.05)
    listener = listening.Listener("127.0.0.1:0", SECRET)
    with socket.create_connection(listener.address, SECONDS) as sock:
        end = time.monotonic() + SECONDS
        while not listener.refused and time.monotonic() < end:
            assert listener.wait(0.01) is None
        assert len(sock.recv(100)) == 37
        assert sock.recv(100) == b""
    listener.close()


@pytest.mark.parametrize("length", [board.MOST + 1, 0xFFFFFFFF])
def test_a_request_that_is_too_long_ends_its_host_alone(served, length: int, capsys) -> None:
    where, _ = served
    line, _ = connect(where, Token(SECRET), fpga_link.PROTOCOL, {}, redial=True)
    with line:
        line.sendall(board.REQUEST.pack(board.WRITE, 1, length))
        line.settimeout(SECONDS)
        assert line.recv(1) == b""
    message = f"host: the host announces a request of {length} bytes, expected at most {board.MOST}\n"
    end = time.monotonic() + SECONDS
    said = ""
    while message not in said and time.monotonic() < end:
        said += capsys.readouterr().err
        time.sleep(0.01)
    assert said == message
    gone()
    line, _ = connect(where, Token(SECRET), fpga_link.PROTOCOL, {}, redial=True)
    with line:
        assert ask(line, board.ABORT, b"") == (board.OK, 7, b"")


@pytest.mark.parametrize(
    ("operation", "message", "status"),
    [
        (board.TABLE, board.SIZES.pack(board.MEMORIES, 1 << 31, 0, 0), board.OUT_OF_BOUNDS),
        (board.TABLE, board.SIZES.pack(9, 1, 1, 1), board.UNKNOWN),
        (board.READ, board.PLACE.pack(board.MEMORIES, 0) + board.LENGTH.pack(1 << 31), board.OUT_OF_BOUNDS),
        (board.READ, board.PLACE.pack(board.MEMORIES, (1 << 64) - 1) + board.LENGTH.pack(1), board.OUT_OF_BOUNDS),
        (board.WRITE, board.PLACE.pack(board.MEMORIES, (1 << 64) - 1) + b"x", board.OUT_OF_BOUNDS),
        (board.READ, b"", board.BAD_LENGTH),
        (77, b"", board.BAD_LENGTH),
    ],
)
def test_requests_that_make_no_sense_are_answered(operation: int, message: bytes, status: int) -> None:
    assert agent().answer([(operation, 1, message)]) == [(operation, status, 1, 0, b"")]


@pytest.mark.parametrize("raw", [(1 << 26) + 1, 0xFFFFFFFF])
def test_a_card_that_announces_too_much_is_left(raw: int, tmp_path: Path, caplog) -> None:
    for answer in (fpga_link.ANSWER.pack(1, 0, 1, 0, raw), fpga_link.ANSWER.pack(1, 200, 1, 0, 0)):
        listener = listening.Listener("127.0.0.1:0", None)
        lost, heard = threading.Event(), []

        def serve(listener=listener, answer=answer) -> None:
            while (line := listener.wait()) is None:
                pass
            line.setblocking(True)
            line.sendall(answer)
            line.recv(1)

        threading.Thread(target=serve, daemon=True).start()
        at = f"127.0.0.1:{listener.address[1]}"
        link = fpga_link.CardLink(at, fpga_link.simulated(()), lambda *a, heard=heard: heard.append(a), lost.set)
        assert lost.wait(SECONDS)
        link.close()
        assert not heard
        assert caplog.messages[-1].startswith("device fpga: an answer of ")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "OFFRAMP_TOKEN_FILE"}
    environment["PYTHONPATH"] = str(ROOT / "fpga/pynq")
    command = [sys.executable, "-m", "offramp_pynq.agent", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)


@pytest.mark.full
def test_what_others_reach_needs_a_token(tmp_path: Path) -> None:
    open_file = tmp_path / "open.token"
    open_file.write_bytes(SECRET)
    open_file.chmod(0o644)
    for arguments, line in (
        (("--listen", "0.0.0.0:0"), "--listen 0.0.0.0:0: other machines reach this address; it needs --token-file"),
        (("--listen", "nowhere"), "--listen nowhere: expected HOST:PORT or unix:PATH"),
        (("--listen", "127.0.0.1:0", "--token-file", str(open_file)), "expected a file of yours"),
        (("--listen", "127.0.0.1:0", "--token-file", str(tmp_path / "none")), "No such file"),
    ):
        done = run(*arguments)
        assert done.returncode == 2
        assert line in done.stderr.splitlines()[-1]


def test_its_unix_socket_is_for_its_user_alone(tmp_path: Path) -> None:
    listener = listening.Listener(f"unix:{tmp_path / 'agent'}", None)
    assert stat.S_IMODE((tmp_path / "agent").stat().st_mode) == 0o600
    listener.close()
    assert not (tmp_path / "agent").exists()


@contextlib.contextmanager
def job() -> Iterator[tuple[str, Callable[[int], None]]]:
    """The address of a board in a process of its own, and a step of its host."""
    listener = listening.Listener("127.0.0.1:0", SECRET)
    process = multiprocessing.get_context("fork").Process(target=board.serve_hosts, args=(agent(), listener))
    process.start()
    where = f"127.0.0.1:{listener.address[1]}"
    line, _ = connect(where, Token(SECRET), fpga_link.PROTOCOL, {}, redial=True)

    def step(number: int) -> None:
        content = number.to_bytes(8, "little") * 64
        read = board.PLACE.pack(board.MEMORIES, number) + board.LENGTH.pack(len(content))
        assert ask(line, board.WRITE, board.PLACE.pack(board.MEMORIES, number) + content) == (board.OK, 7, b"")
        assert ask(line, board.READ, read) == (board.OK, 7, content)

    try:
        with line:
            assert ask(line, board.TABLE, board.SIZES.pack(board.MEMORIES, 1 << 20, 0, 0)) == (board.OK, 7, b"")
            yield where, step
    finally:
        process.kill()
        process.join()


@pytest.mark.full
def test_a_job_is_right_while_strangers_greet() -> None:
    with job() as (where, step):
        besiege(where, step, 600, 0, 1)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_thousand_strangers_do_not_slow_a_job() -> None:
    with job() as (where, step):
        assert_undisturbed(where, step)
