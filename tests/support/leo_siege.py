# SPDX-License-Identifier: Apache-2.0
"""Hostile greetings against a responder while a job runs on it, by turns with the job in peace.

``python tests/support/leo_siege.py`` is the real size: 10,000 greetings in 30 windows of each kind.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from offramp.leo.applications import kvs
from offramp.leo.applications.load import open_loop
from offramp.leo.applications.times import ApplicationTimes
from offramp.leo.runtime.process import ResponderProcess
from offramp.leo.runtime.requester import Requester, RequesterSettings
from offramp_base.listening import Token, parse_address
from offramp_base.listening.handshake import CHALLENGE, VERDICT_BYTES, ClientHandshake, frame

HELD = 48
"""Connections that stay open."""
THREADS = 16
ATTACK = "--attack"
"""Option of the process that makes the greetings."""
KINDS = ("silent", "garbage", "half", "no proof", "long", "nested", "no JSON", "impossible", "gone")


@dataclass
class Siege:
    """Outcome of both kinds of windows.

    Attributes:
        quiet_us, loud_us: 99th percentiles of the windows without and with hostile greetings.
        greetings: that were made.
        done, wrong: answers, and those that were wrong.
    """

    quiet_us: list[float] = field(default_factory=list)
    loud_us: list[float] = field(default_factory=list)
    greetings: int = 0
    done: int = 0
    wrong: int = 0

    @property
    def ratio(self) -> float:
        """Median 99th percentile under the flood over that without it."""
        return float(np.median(self.loud_us) / np.median(self.quiet_us))


def besiege(
    windows: int,
    greetings: int,
    rate: float = 2000,
    seconds: float = 1.0,
    pace: float = 500.0,
    transport: str = "shm",
) -> Siege:
    """Windows without and with hostile greetings, in turns, until there were so many.

    Args:
        windows: least number of windows of each kind.
        greetings: to make in all.
        rate: requests per second of the job.
        seconds: length of a window.
        pace: greetings per second.
        transport: transport of the job: ``shm``, over a Unix socket, or ``tcp``.
    """
    siege = Siege()
    listen = "127.0.0.1:0" if transport == "tcp" else ""
    process = ResponderProcess(replace(kvs.plan({}, keys=10_000), listen=listen))
    try:
        program = kvs.program(["cpu"], ApplicationTimes(lambda *_: 500.0))
        requester = Requester(program, [process], settings=RequesterSettings(stride=128, transport=transport))
        workload = kvs.Ycsb("C", keys=10_000)
        with attacker(process, pace) as attack:
            open_loop(requester, workload, seconds, rate)
            while len(siege.quiet_us) < windows or siege.greetings < greetings:
                for loud in (False, True):
                    attack.begin() if loud else None
                    outcome = open_loop(requester, workload, seconds, rate, seed=len(siege.quiet_us))
                    siege.greetings += attack.end() if loud else 0
                    (siege.loud_us if loud else siege.quiet_us).append(outcome.latency_us(99))
                    siege.done += outcome.done
                    siege.wrong += outcome.wrong
        assert process.restarts == 0
        requester.close()
    finally:
        process.close()
    return siege


class Attack:
    """The process that makes greetings, from outside."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout

    def begin(self) -> None:
        """Let it begin."""
        self._in.write(b"begin\n")
        self._in.flush()

    def end(self) -> int:
        """Let it end; how many greetings it has made since it began."""
        self._in.write(b"end\n")
        self._in.flush()
        return int(self._out.readline())


@contextmanager
def attacker(process: ResponderProcess, pace: float) -> Iterator[Attack]:
    """A process with the responder's token, which it uses for part of its greetings."""
    command = ["nice", "-n", "10", sys.executable, __file__, ATTACK]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    said = {"address": process.address, "token": process._secret, "pace": pace}
    child.stdin.write(json.dumps(said).encode() + b"\n")
    child.stdin.flush()
    try:
        yield Attack(child)
    finally:
        child.kill()
        child.wait()
        child.stdin.close()
        assert child.stdout is not None
        child.stdout.close()


def greet(address: str, token: Token, rng: random.Random, kind: str) -> socket.socket | None:
    """One hostile greeting; its connection where it is to stay open."""
    where = parse_address(address)
    sock = socket.socket(where.family)
    sock.settimeout(0.2)
    with contextlib.suppress(OSError):
        sock.connect(where.where)
        if kind == "silent":
            return sock
        if kind == "gone":
            sock.close()
            return None
        if kind in ("garbage", "half", "no proof"):
            sock.sendall(rng.randbytes({"garbage": rng.randrange(1, 4000), "half": 20, "no proof": 64}[kind]))
            return sock
        handshake = ClientHandshake(token, "leo", _read(sock, CHALLENGE.size))
        sock.sendall(handshake.answer)
        _read(sock, VERDICT_BYTES)
        sock.sendall(_content(rng, kind))
        return sock
    sock.close()
    return None


def _content(rng: random.Random, kind: str) -> bytes:
    if kind == "long":
        return struct.pack("!I", rng.choice([0, 1 << 17, (1 << 32) - 1]))
    if kind == "nested":
        raw = b"[" * 30_000
        return struct.pack("!I", len(raw)) + raw
    if kind == "no JSON":
        raw = rng.randbytes(rng.randrange(1, 300))
        return struct.pack("!I", len(raw)) + raw
    field_ = rng.choice(["leo", "transport", "owner", "rows", "stride", "ring_bytes", "functions", "pairs", "segment"])
    return frame({"leo": 2, field_: rng.choice([None, -1, 1 << 44, "x", [[[]]], {"a": 1}])})


def _read(sock: socket.socket, count: int) -> bytes:
    content = b""
    while len(content) < count:
        part = sock.recv(count - len(content))
        if not part:
            raise ConnectionError
        content += part
    return content


class _Besieger:
    """Threads that greet, each after the other, as fast as they are heard and no faster than the pace."""

    def __init__(self, address: str, token: Token, pace: float) -> None:
        self.address, self.token, self.pace = address, token, pace
        self.going = threading.Event()
        self.count, self.begun = 0, 0.0
        self._lock = threading.Lock()
        for seed in range(THREADS):
            threading.Thread(target=self._run, args=(seed,), daemon=True).start()

    def _run(self, seed: int) -> None:
        rng = random.Random(seed)
        held: deque[socket.socket] = deque()
        while self.going.wait():
            with self._lock:
                number = self.count
                self.count += 1
            time.sleep(max(0.0, self.begun + number / self.pace - time.monotonic()))
            sock = greet(self.address, self.token, rng, KINDS[number % len(KINDS)])
            if sock is not None:
                held.append(sock)
            while len(held) > HELD // THREADS:
                held.popleft().close()


def _attack() -> None:
    """Make greetings between the lines "begin" and "end" on standard input, whose first line says where."""
    said = json.loads(sys.stdin.readline())
    besieger = _Besieger(said["address"], Token(said["token"].encode()), said["pace"])
    while sys.stdin.readline().strip() == "begin":
        besieger.count, besieger.begun = 0, time.monotonic()
        besieger.going.set()
        assert sys.stdin.readline().strip() == "end"
        besieger.going.clear()
        sys.stdout.write(f"{besieger.count}\n")
        sys.stdout.flush()


def _main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--windows", type=int, default=30, help="least windows of each kind (default %(default)s)")
    given.add_argument("--greetings", type=int, default=10_000, help="hostile greetings in all (default %(default)s)")
    given.add_argument("--rate", type=float, default=2000, help="the job's requests per second (default %(default)s)")
    given.add_argument("--seconds", type=float, default=1.0, help="length of a window (default %(default)s)")
    given.add_argument("--pace", type=float, default=500, help="greetings per second (default %(default)s)")
    given.add_argument("--transport", default="shm", choices=["shm", "tcp"], help="of the job (default %(default)s)")
    given.add_argument(ATTACK, action="store_true", help=argparse.SUPPRESS)
    options = given.parse_args()
    if options.attack:
        _attack()
        return
    siege = besiege(options.windows, options.greetings, options.rate, options.seconds, options.pace, options.transport)
    sys.stdout.write(
        f"{siege.greetings} greetings in {len(siege.loud_us)} windows, {siege.done} answers, {siege.wrong} wrong: "
        f"median 99th percentile {np.median(siege.loud_us):.0f} us, {np.median(siege.quiet_us):.0f} without: "
        f"{siege.ratio:.2f}\n"
    )
    sys.exit(bool(siege.wrong))


if __name__ == "__main__":
    _main()
