# SPDX-License-Identifier: Apache-2.0
"""Readers of a store over paths of LEO, and what they must never see."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from offramp.device import Status
from offramp.leo.applications.application import Application
from offramp.leo.applications.remote import open_responder
from offramp.leo.applications.store import application as store_application
from offramp.leo.runtime.context import Context
from offramp.leo.store.client import StoreClient
from offramp_base.listening import Token
from store_lab import a_store, a_token

KEYS = 40


def key_of(number: int) -> bytes:
    return number.to_bytes(8, "little")


def value_of(version: int) -> bytes:
    """A value that says its version, and is long enough to be torn."""
    return version.to_bytes(8, "little") * 8


class Reader:
    """A requester over some paths; a context manager."""

    def __init__(self, application: Application, address: str, paths: Sequence[str]) -> None:
        self._context = Context()
        settings = application.settings
        settings = type(settings)(**(vars(settings) | {"transport": "tcp", "token": Token.from_environment()}))
        self._context.init(application.program(paths, {}), [address], settings=settings)
        self.paths: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._context.close()

    def read(self, keys: Sequence[int]) -> list[bytes | None]:
        """Their values, in one batch."""
        return [
            message if status is Status.OK else None for status, message in self._ask("GET", dict.fromkeys(keys, b""))
        ]

    def write(self, values: dict[int, bytes]) -> None:
        """Give keys values."""
        assert all(status is Status.OK for status, _ in self._ask("SET", values))

    def _ask(self, kind: str, values: dict[int, bytes]) -> list[tuple[Status, bytes]]:
        sent = [self._context.send(key_of(key) + value, kind, key) for key, value in values.items()]
        answers = {}
        while len(answers) < len(sent):
            reply = self._context.recv(20.0)
            assert reply is not None, f"{len(sent) - len(answers)} requests have no answer"
            answers[reply.number] = reply.status, reply.message
            self.paths[reply.path] += 1
        return [answers[number] for number in sent]


@dataclass
class Found:
    """Observations of a check."""

    reads: int = 0
    writes: int = 0
    by_copies: int = 0
    paths: Counter[str] = field(default_factory=Counter)


def check_against_writers(reader: Reader, address: str, seconds: float, seed: int = 1) -> Found:
    """A writer of each key by redis' protocol, and reads here and there: nobody is told what is older than is known."""
    check, stop, rng = Found(), threading.Event(), random.Random(seed)
    begun, acknowledged = [0] * KEYS, [0] * KEYS

    def write() -> None:
        mine = random.Random(seed + 1)
        with StoreClient(address, Token.from_environment()) as client:
            while not stop.is_set():
                key = mine.randrange(KEYS)
                begun[key] += 1
                client.set({key_of(key): value_of(begun[key])})
                acknowledged[key] = begun[key]
                check.writes += 1
                time.sleep(mine.choice([0, 0, 1e-3, 5e-3]))

    with StoreClient(address, Token.from_environment()) as other:
        other.set({key_of(key): value_of(0) for key in range(KEYS)})
        before = _hits(address)
        writer = threading.Thread(target=write)
        writer.start()
        directly = 0
        try:
            known = [0] * KEYS
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                keys = [rng.randrange(KEYS) for _ in range(rng.choice([1, 8, 32]))]
                keys = list(dict.fromkeys(keys))
                least = [max(known[key], acknowledged[key]) for key in keys]
                if rng.random() < 0.2:
                    values = other.get([key_of(key) for key in keys])
                    directly += len(keys)
                else:
                    values = reader.read(keys)
                    check.reads += len(keys)
                for key, value, floor in zip(keys, values, least, strict=True):
                    version = int.from_bytes(value[:8], "little")
                    assert value == value_of(version), "a value is torn"
                    assert floor <= version <= begun[key], (key, floor, version, begun[key])
                    known[key] = version
        finally:
            stop.set()
            writer.join()
        check.by_copies = check.reads + directly - (_hits(address) - before)
    check.paths = reader.paths
    return check


def check_device(device: str, seconds: float) -> Found:
    """The same for a store of its own, read by way of one device."""
    with a_token(), a_store(listen="127.0.0.1:0") as store:
        address = store.addresses["listen"]
        application = store_application({"cpu": f"store:{address}", "device": device})
        process = open_responder(application, "127.0.0.1:0", requesters=2, restarts=0, insecure=False)
        try:
            with Reader(application, process.address, ("device",)) as reader:
                return check_against_writers(reader, address, seconds)
        finally:
            process.close()


def _hits(address: str) -> int:
    """GETs of keys that the store itself has answered."""
    from offramp.leo.store.client import StoreConnection, encode_info

    connection = StoreConnection(address, Token.from_environment())
    connection.submit(encode_info(), 1)
    while not (answers := connection.poll()):
        connection.wait(100)
    connection.close()
    return int(next(line for line in answers[0][2].split(b"\r\n") if line.startswith(b"keyspace_hits")).split(b":")[1])
