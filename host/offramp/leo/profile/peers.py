# SPDX-License-Identifier: Apache-2.0
"""Links between two processes: TCP over loopback, and shared memory that both poll. Measured as Python sees them.

Nobody else can be the other side: it proves a token that it was started with, and inherits the memory's descriptor.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import socket
import time
from collections.abc import Callable
from multiprocessing import reduction
from typing import Any, Final, Self

from offramp.leo.config.models import LinkProfile
from offramp_base import listening
from offramp_base.ending.children import ended_as, ends_with_parent
from offramp_base.errors import OfframpError
from offramp_base.listening import Access, Token
from offramp_base.sealed_memory import SharedMemory

_SMALL: Final = 64
_LARGE: Final = 1 << 20
_START_S: Final = 60
_PATIENCE: Final = 2000
_LOOK: Final = 50_000
"""Polls of a counter between two checks that the other process is alive."""
_PROTOCOL: Final = "leo profile"


def measure_tcp(rounds: int = 300, messages: int = 3000, megabytes: int = 16) -> LinkProfile:
    """Measure a connection over 127.0.0.1: small messages back and forth, many small ones, large ones.

    Raises:
        OfframpError: the other process does not start.
    """
    token = Token.random()
    with contextlib.closing(listening.Listener("127.0.0.1:0", Access(token=token), _PROTOCOL)) as server:
        work = (server.address, token, rounds, messages, megabytes)
        with _Peer(_tcp_peer, *work), _accepted(server) as here:
            return _both_ways(
                rounds,
                messages,
                megabytes,
                lambda size: here.sendall(bytes(size)),
                lambda size: _receive(here, bytearray(size)),
            )


def measure_shared(rounds: int = 300, messages: int = 3000, megabytes: int = 16) -> LinkProfile:
    """Measure a slot in shared memory with a counter for each side, which the other side polls.

    Raises:
        OfframpError: the other process does not start, or dies.
    """
    memory = SharedMemory(_LARGE + 2 * _SMALL, "offramp-profile")
    work = (_Descriptor(memory.fd), memory.size, rounds, messages, megabytes)
    with contextlib.closing(memory), _Peer(_shared_peer, *work) as peer:
        side = _Side(memory, 0, peer.gone)
        profile = _both_ways(rounds, messages, megabytes, side.send, side.receive)
        side.release()
        return profile


def _both_ways(
    rounds: int, messages: int, megabytes: int, send: Callable[[int], None], receive: Callable[[int], None]
) -> LinkProfile:
    """Near side of all three measurements; the far side answers the first message by message."""
    receive(_SMALL)  # the peer is there
    trips = []
    for _ in range(rounds):
        begun = time.perf_counter()
        send(_SMALL)
        receive(_SMALL)
        trips.append(time.perf_counter() - begun)
    begun = time.perf_counter()
    for _ in range(messages):
        send(_SMALL)
    receive(_SMALL)
    small = time.perf_counter() - begun
    begun = time.perf_counter()
    for _ in range(megabytes):
        send(_LARGE)
    receive(_SMALL)
    large = time.perf_counter() - begun
    latency = sorted(trips)[len(trips) // 2] / 2
    return LinkProfile(bw_gbps=megabytes * _LARGE * 8 / large / 1e9, mps=messages / small, latency_ns=latency * 1e9)


def _answer(
    rounds: int, messages: int, megabytes: int, send: Callable[[int], None], receive: Callable[[int], None]
) -> None:
    """Far side of the measurements."""
    send(_SMALL)
    for _ in range(rounds):
        receive(_SMALL)
        send(_SMALL)
    for count, size in ((messages, _SMALL), (megabytes, _LARGE)):
        for _ in range(count):
            receive(size)
        send(_SMALL)


def _tcp_peer(address: str, token: Token, rounds: int, messages: int, megabytes: int) -> None:
    ends_with_parent()
    with listening.connect(address, token, _PROTOCOL, {})[0] as far:
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        buffer = bytearray(_LARGE)
        _answer(
            rounds,
            messages,
            megabytes,
            lambda size: far.sendall(bytes(size)),
            lambda size: _receive(far, memoryview(buffer)[:size]),
        )


def _shared_peer(inherited: _Descriptor, size: int, rounds: int, messages: int, megabytes: int) -> None:
    ends_with_parent()  # whoever polls memory does not hear that the other side has gone
    with contextlib.closing(SharedMemory.attach(inherited.fd, size)) as memory:
        side = _Side(memory, 1)
        _answer(rounds, messages, megabytes, side.send, side.receive)
        side.release()


class _Descriptor:
    """A file descriptor as an argument for a new process, which gets its own copy."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __reduce__(self) -> tuple[Callable[[Any], _Descriptor], tuple[Any]]:
        return _inherited, (reduction.DupFd(self.fd),)


def _inherited(handle: Any) -> _Descriptor:
    return _Descriptor(handle.detach())


class _Side:
    """A slot that holds one message, with counts of what each side has written and read."""

    def __init__(self, memory: SharedMemory, number: int, gone: Callable[[], str] = str) -> None:
        self._gone = gone
        whole = memory.view[:]
        words = whole[: 2 * _SMALL].cast("Q")
        self._words, self._slot, self._whole = words, whole[2 * _SMALL :], whole
        self._mine, self._others = 2 * number, 2 - 2 * number
        self._sent = self._heard = 0

    def send(self, size: int) -> None:
        """Wait until this side's last message is read, then write one."""
        self._wait(self._others + 1, self._sent)
        self._slot[:size] = bytes(size)
        self._sent += 1
        self._words[self._mine] = self._sent

    def receive(self, size: int) -> None:
        """Wait for a message, and read it."""
        self._heard += 1
        self._wait(self._others, self._heard)
        bytes(self._slot[:size])
        self._words[self._mine + 1] = self._heard

    def release(self) -> None:
        """Release the views, so that the memory can be released."""
        for view in (self._words, self._slot, self._whole):
            view.release()

    def _wait(self, word: int, value: int) -> None:
        words, tries = self._words, 0
        while words[word] < value:
            tries += 1
            if tries > _PATIENCE:
                time.sleep(0)
            if not tries % _LOOK and (how := self._gone()) and words[word] < value:  # it may have ended well
                raise OfframpError(f"profile: {how}")


class _Peer:
    """Another process that runs as long as the block."""

    def __init__(self, work: Callable[..., None], *args: Any) -> None:
        self._process = multiprocessing.get_context("spawn").Process(target=work, args=args, daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        return self

    def gone(self) -> str:
        """A description of how the process ended; empty while it runs."""
        return "" if self._process.is_alive() else ended_as("the other process", self._process.exitcode)

    def __exit__(self, *_: object) -> None:
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _accepted(server: listening.Listener) -> socket.socket:
    deadline = time.monotonic() + _START_S
    while not (greetings := server.poll(1.0)):
        if time.monotonic() > deadline:
            raise OfframpError("profile: the other process does not start")
    here = greetings[0].accept()
    here.setblocking(True)
    here.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return here


def _receive(from_: socket.socket, into: bytearray | memoryview) -> None:
    view = memoryview(into)
    while view:
        count = from_.recv_into(view)
        if not count:
            raise OfframpError("profile: the other process has gone")
        view = view[count:]
