# SPDX-License-Identifier: Apache-2.0
"""A store behind an embedded switch, with hot keys in the switch and without, in one run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np

from offramp.leo.applications.workload import Zipf
from offramp.leo.devices.switch import GET, PUT, SwitchDevice, SwitchDeviceOptions
from offramp.leo.kvcache.control import CacheControl
from offramp.leo.kvcache.front import KEY_BYTES, Front
from offramp.leo.kvcache.service import FrontService
from offramp.leo.kvcache.wire import MOST_SLOTS, REMEMBERED, USUAL_SLOTS, VALUE_BYTES
from offramp.leo.store.client import StoreClient
from offramp.leo.store.server import StoreServer
from offramp.leo.store.settings import StoreSettings
from offramp_base.ending.children import ends_with_parent
from offramp_base.errors import OfframpError
from offramp_base.listening import Token
from offramp_base.p4rt.session import Session
from offramp_base.settings.field import Field
from offramp_p4.embedded import EmbeddedSwitch
from offramp_sim.peers import StepWorker, answers, ask, peers

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

STORE_MAC: Final = bytes.fromhex("0a0000000001")
CLIENT_MAC: Final = bytes.fromhex("0a0000000002")
_STORE_PORT: Final = 0
_CLIENT_PORT: Final = 1
_STUCK_S: Final = 30.0
_START_S: Final = 300.0
_WAIT_S: Final = 1e-3
MOST_WINDOW: Final = REMEMBERED - 1
Advance = Callable[[str, int, int], None]


@dataclass(frozen=True)
class CacheLoadSettings:
    """A load, and how much of it the switch may hold."""

    requests: Annotated[int, Field("Requests of each round", least=1, most=10_000_000)] = 5000
    rounds: Annotated[int, Field("Rounds with the cache and without, alternating", least=1, most=1000)] = 3
    keys: Annotated[int, Field("Keys in the store", least=1, most=1_000_000)] = 10_000
    hot: Annotated[int, Field("Most keys that the switch holds", least=1, most=MOST_SLOTS)] = USUAL_SLOTS
    exponent: Annotated[float, Field("Exponent of the keys' Zipf distribution", least=0, most=3)] = 0.99
    writes: Annotated[float, Field("Share of writes", least=0, most=1)] = 0.05
    window: Annotated[int, Field("Requests in flight", least=1, most=MOST_WINDOW)] = 16
    seed: Annotated[int, Field("Random seed for keys and requests", least=0)] = 1


@dataclass
class Turn:
    """Accumulated rounds with the cache, or without it.

    Attributes:
        requests: number of requests.
        seconds: that they took.
        latencies_us: latencies of each.
        by_switch: GETs that the switch answered.
        gets: number of gets.
        wrong: answers for another key, of an outdated version, or with a second value for a version.
    """

    requests: int = 0
    seconds: float = 0.0
    latencies_us: list[float] = field(default_factory=list)
    by_switch: int = 0
    gets: int = 0
    wrong: int = 0

    @property
    def hits(self) -> float:
        """Share of GETs that the switch answered."""
        return self.by_switch / self.gets if self.gets else 0.0

    def median_us(self) -> float:
        """Median latency in microseconds."""
        return float(np.median(self.latencies_us))


class Books:
    """Clients' knowledge of each key: a version must not be older than the newest known when its request was sent."""

    def __init__(self) -> None:
        self._newest: dict[int, int] = {}
        self._values: dict[tuple[int, int], bytes] = {}

    def known(self, key: int) -> int:
        """The newest version that any client has seen."""
        return self._newest.get(key, 1)

    def wrong(self, key: int, version: int, value: bytes, known: int) -> bool:
        """Whether an answer is impossible; it is recorded."""
        self._newest[key] = max(self.known(key), version)
        same = self._values.setdefault((key, version), value) == value
        return not same or version < known or value[:8] != key.to_bytes(8, "little")


def run_cache(settings: CacheLoadSettings, advance: Advance | None = None) -> dict[str, Turn]:
    """Run the load with hot keys in the switch and without, alternating, through the same switch and store.

    Raises:
        OfframpError: the switch does not start, or requests are not answered.
    """
    with ExitStack() as stack:
        values = {key: _value(key, 0) for key in range(settings.keys)}
        device, service = stack.enter_context(served(values, settings.hot))
        load = _Load(settings, device)
        load.round(Turn())  # who is asked for most is not known before
        turns = {"without": Turn(), "with": Turn()}
        for number in range(2 * settings.rounds):
            name = ("with", "without")[number % 2]
            service.hold(settings.hot if name == "with" else 0)
            load.round(turns[name])
            if advance is not None:
                advance("rounds", number + 1, 2 * settings.rounds)
        return turns


class FrontProcess:
    """A store and its front in a process of their own, as in ``offramp leo serve``."""

    def __init__(self, worker: StepWorker) -> None:
        self._worker = worker
        answers([worker], "the store", _START_S)

    def hold(self, most: int) -> int:
        """Make the switch hold the most requested keys, at most ``most``; returns how many it holds.

        Raises:
            OfframpError: the front has ended.
        """
        return int(ask([self._worker], most, "the store", _START_S)[0])


@contextmanager
def served(values: Mapping[int, bytes], slots: int = USUAL_SLOTS) -> Iterator[tuple[SwitchDevice, FrontProcess]]:
    """Start a store with these values behind an embedded switch; yields a client's device and the front.

    Args:
        values: the value of each key.
        slots: most keys that the switch can hold.

    Raises:
        OfframpError: the switch or the store does not start.
    """
    with ExitStack() as stack:
        switch = stack.enter_context(EmbeddedSwitch(None, 2))
        link = switch.port_specs[_STORE_PORT]
        workers = stack.enter_context(peers(_front, [(dict(values), slots, switch.address, link)]))
        front = FrontProcess(workers[0])
        device = SwitchDevice(
            SwitchDeviceOptions(
                switch.port_specs[_CLIENT_PORT], STORE_MAC.hex(), CLIENT_MAC.hex(), depth=MOST_WINDOW, retry_ms=500
            )
        )
        stack.callback(device.close)
        yield device, front


def _front(pipe: Connection, values: Mapping[int, bytes], slots: int, switch: str, link: str) -> None:
    """Serve a store behind a switch; each number that arrives is how many keys the switch is to hold."""
    ends_with_parent()
    try:
        with ExitStack() as stack:
            token = Token.random()  # only who proves one may guard keys
            store = stack.enter_context(StoreServer(StoreSettings(listen="127.0.0.1:0"), token))
            threading.Thread(target=store.welcome, daemon=True).start()
            with StoreClient(address := store.addresses["listen"], token) as client:
                client.set({key.to_bytes(KEY_BYTES, "little"): value for key, value in values.items()})
            session = stack.enter_context(Session(switch, timeout_s=60.0))
            control = CacheControl.begin(session, _STORE_PORT, slots)
            control.forward({STORE_MAC: _STORE_PORT, CLIENT_MAC: _CLIENT_PORT})
            service = stack.enter_context(FrontService(lambda: Front(address, STORE_MAC, control, token), link))
            pipe.send(0)
            while True:
                service.hold(pipe.recv())
                pipe.send(len(control.held))
    except Exception as error:  # the parent must learn of any failure
        pipe.send(str(error) or type(error).__name__)


def _value(key: int, number: int) -> bytes:
    return (key.to_bytes(8, "little") + number.to_bytes(8, "little")).ljust(VALUE_BYTES, b"\x5a")


class _Load:
    """A closed loop over one device; keys follow Zipf's law, in shuffled order."""

    def __init__(self, settings: CacheLoadSettings, device: SwitchDevice) -> None:
        self._settings, self._device, self._books = settings, device, Books()
        self._rng = np.random.default_rng(settings.seed)
        self._mixed = self._rng.permutation(settings.keys)
        self._zipf = Zipf(settings.keys, settings.exponent)
        self._number = 0

    def round(self, turn: Turn) -> None:
        """Send this many requests; results are added to ``turn``."""
        count = self._settings.requests
        keys = self._mixed[self._zipf.draw(self._rng, count)].tolist()
        writes = (self._rng.random(count) < self._settings.writes).tolist()
        under_way: dict[int, tuple[int, bytes, int, int]] = {}
        before, sent, done, begun = self._device.by_switch, 0, 0, time.monotonic()
        last_reply = time.monotonic_ns()
        submit, poll, versions = self._device.submit, self._device.poll, self._device.versions
        while done < count:
            now = time.monotonic_ns()
            while sent < count and len(under_way) < self._settings.window:
                key, self._number = keys[sent], self._number + 1
                value = _value(key, self._number) if writes[sent] else b""
                if not submit(PUT if value else GET, self._number, key.to_bytes(8, "little") + value):
                    break
                under_way[self._number] = key, value, self._books.known(key), now
                sent += 1
            completions = poll(_WAIT_S)
            now = time.monotonic_ns()
            for each in completions:
                key, value, known, at = under_way.pop(each.request)
                version = versions.pop(each.request)
                known += bool(value)  # a write is newer than what was known
                turn.wrong += self._books.wrong(key, version, value or each.message, known)
                turn.latencies_us.append((now - at) / 1e3)
            if completions:
                done, last_reply = done + len(completions), now
            elif now - last_reply > _STUCK_S * 1e9:
                raise OfframpError(f"cache: {len(under_way)} requests are not answered")
        turn.requests += count
        turn.seconds += time.monotonic() - begun
        turn.gets += count - sum(writes)
        turn.by_switch += self._device.by_switch - before
